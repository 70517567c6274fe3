"""``metalmark doctor`` as a person calls it: real processes, with and without torch."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from metalmark_collector.doctor import CHECKS, State
from metalmark_collector.doctor.observe import observe
from metalmark_collector.fingerprint import fingerprint, local_probe, replay_probe

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "from metalmark_db.cli import main; main()"
MACHINE = (
    "chip",
    "tier_counts",
    "memory_total_bytes",
    "arch",
    "virtual",
    "os_version",
    "torch_version",
    "python_version",
)


def call(*words: str, python: tuple[str, ...] = (sys.executable,), code: str = PROGRAM) -> Any:
    """The program run with words."""
    return subprocess.run([*python, "-c", code, *words], capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def without_torch(tmp_path: Path) -> str:
    """The program in an environment that has everything but torch and what belongs to it."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.lower().startswith(("torch", "timm", "transformers", "functorch")):
            (packages / path.name).symlink_to(path)
    paths = [str(ROOT / part) for part in ("collector", "db", "site")] + [str(packages)]
    return f"import sys; sys.path[:0] = {paths!r}; {PROGRAM}"


def test_this_machine_is_examined_and_kept_in_a_bundle(tmp_path: Path) -> None:
    """The exit code is that of the worst finding, and the bundle replays to this machine."""
    ended = call("doctor", "--json", "--bundle", str(tmp_path / "bundle"))
    findings = json.loads(ended.stdout)
    states = [State(finding["state"]) for finding in findings]
    assert ended.returncode == max(list(State).index(state) for state in states)
    assert {finding["check"] for finding in findings} <= set(CHECKS)
    by = {finding["check"]: finding for finding in findings}
    assert (by["torch"]["state"], by["torch"]["remedy"]) == ("ok", None)
    assert "agrees with the CPU's double precision" in by["cpu"]["what"]
    assert "Look through the files" in ended.stderr
    replayed, live = fingerprint(replay_probe(tmp_path / "bundle")), fingerprint(local_probe())
    assert {key: replayed[key] for key in MACHINE} == {key: live[key] for key in MACHINE}
    kept = json.loads((tmp_path / "bundle/doctor.json").read_text())
    assert [finding["check"] for finding in kept] == [finding["check"] for finding in findings]


def test_without_torch_the_doctor_says_how_to_get_it(without_torch: str) -> None:
    ended = call("doctor", python=(sys.executable, "-S"), code=without_torch)
    assert ended.returncode == 2
    assert "problem torch: torch is not installed; measuring needs it. pip install 'metalmark[bench]'" in ended.stdout
    assert "not everything can be measured" in ended.stdout
    assert "cpu:" not in ended.stdout
    assert ended.stderr == ""


def test_in_a_pipe_each_finding_is_one_line(without_torch: str) -> None:
    lines = call("doctor", python=(sys.executable, "-S"), code=without_torch).stdout.splitlines()
    assert all(line.split()[0] in set(State) for line in lines[:-1])
    assert not any("\x1b" in line for line in lines)


def test_a_folder_with_something_in_it_is_refused_before_anything_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    ended = call("doctor", "--bundle", str(tmp_path))
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "not taken" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_person_who_waits_is_told_what_is_done_and_no_worker_is_left() -> None:
    told: list[str] = []
    sight = observe(local_probe(), told.append)
    assert told[0] == "reading the machine"
    assert told[1].startswith("starting a worker for cpu")
    assert sight.greetings[0].device == "cpu"
    ps = subprocess.run(["ps", "-eo", "ppid,args"], capture_output=True, text=True, check=True).stdout
    mine = [line for line in ps.splitlines() if line.split()[0] == str(os.getpid())]
    assert not [line for line in mine if "metalmark_collector.worker" in line]
