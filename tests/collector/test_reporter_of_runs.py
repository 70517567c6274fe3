"""A run carries the reporter of its computer, unless it was told not to; a bug report never does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from metalmark_collector import resume
from metalmark_collector.doctor import Sight, examine
from metalmark_collector.doctor.bundle import make_new, write
from metalmark_collector.fingerprint import local_probe, read_machine
from metalmark_collector.look import Seen, look
from metalmark_collector.plan import Planned
from metalmark_db import reporter, store
from metalmark_db.engine import open_database
from metalmark_db.record import Conditions, Machine, RunHead, Software
from metalmark_db.words import Effort, Outcome, Precision, Reason

PROGRAM = "from metalmark_db.cli import main; main()"
QUICKEST = ("run", "--device", "cpu", "--workload", "copy-bandwidth", "--db", "m.sqlite")
SHOWN = "0123456789abcdef"


@pytest.fixture(scope="module")
def seen() -> Seen:
    """This machine."""
    return look(local_probe())


def call(folder: Path, *words: str) -> Any:
    """The program in a folder that is its user's home, too."""
    environment = os.environ | {"XDG_DATA_HOME": str(folder / "data"), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_run_carries_the_reporter_of_its_computer_unless_it_was_told_not_to(tmp_path: Path) -> None:
    assert call(tmp_path, *QUICKEST, "--estimate").returncode == 0
    values = list((tmp_path / "data").rglob("reporter"))
    assert values == []  # an estimate is no run
    assert call(tmp_path, *QUICKEST).returncode == 0
    assert call(tmp_path, *QUICKEST, "--no-reporter").returncode == 0
    engine = open_database(str(tmp_path / "m.sqlite"))
    kept = reporter.known(read_machine(local_probe()), tmp_path / "data" / "metalmark")
    assert kept is not None
    assert [store.load_head(engine, run_id).reporter for run_id in (1, 2)] == [kept, None]
    value = (tmp_path / "data" / "metalmark" / "reporter").read_bytes().strip()
    assert value not in b"".join(path.read_bytes() for path in tmp_path.glob("m.sqlite*"))


def test_a_run_that_is_continued_keeps_its_reporter(tmp_path: Path, seen: Seen) -> None:
    engine = open_database(str(tmp_path / "m.sqlite"))
    planned = Planned(workload="copy-bandwidth", device="cpu", precision=Precision.FP32)
    _begin(engine, seen, planned)
    assert resume.find(engine, seen).head.reporter == SHOWN
    refused = call(tmp_path, "run", "--resume", "--no-reporter", "--db", "m.sqlite")
    assert refused.returncode == 2
    assert "leave out --no-reporter" in refused.stderr


def _begin(engine: sa.Engine, seen: Seen, planned: Planned) -> None:
    head = RunHead(
        started_at="2026-11-30T12:00:00+00:00",
        effort=Effort.QUICK,
        seed=11,
        reporter=SHOWN,
        machine=seen.machine,
        software=seen.software,
        conditions_before=seen.conditions,
    )
    store.begin_run(engine, head, [planned.facts], [planned.ended(Outcome.NOT_RUN, Reason.INTERRUPTED)])


def test_the_doctor_shows_the_reporter_and_a_bundle_does_not(tmp_path: Path) -> None:
    nothing = Sight(machine=Machine(), software=Software(), conditions=Conditions(), reporter=SHOWN)
    told = {finding.check: finding for finding in examine(nothing)}
    assert SHOWN in told["reporter"].what
    make_new(tmp_path / "bundle")
    write(tmp_path / "bundle", _Silent(), nothing)
    text = "".join(path.read_text() for path in (tmp_path / "bundle").iterdir())
    assert SHOWN not in text
    assert '"check": "reporter"' in text


class _Silent:
    """A machine that tells nothing."""

    def text(self, source: str) -> str | None:  # noqa: ARG002 - the signature of a probe
        """Nothing."""
        return None
