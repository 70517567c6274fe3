"""The reporter tells computers of one configuration apart, and nothing else."""

import concurrent.futures
import hashlib
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import platformdirs
import pytest

from metalmark_db import reporter
from metalmark_db.commands.forget_reporter import forget_reporter
from metalmark_db.errors import DataProblem
from metalmark_db.identity import machine_id
from metalmark_db.record import Machine

M4 = Machine(
    chip="Apple M4",
    tier_counts=(4, 6),
    gpu_name="Apple M4",
    gpu_cores=10,
    gpu_count=1,
    memory_bytes=16 * 2**30,
    virtual=False,
)
GUEST = msgspec.structs.replace(M4, virtual=True)


def value(folder: Path) -> str:
    return (folder / "reporter").read_text().strip()


def test_the_first_run_makes_it_and_later_ones_find_it(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "metalmark"
    first = reporter.own(M4, folder)
    assert first is not None
    assert re.fullmatch("[0-9a-f]{16}", first)
    assert reporter.own(M4, folder) == first == reporter.known(M4, folder)
    assert [path.name for path in folder.iterdir()] == ["reporter"]


def test_looking_at_it_makes_none(tmp_path: Path) -> None:
    assert reporter.known(M4, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_may_read_the_value(tmp_path: Path) -> None:
    reporter.own(M4, tmp_path)
    assert stat.S_IMODE((tmp_path / "reporter").stat().st_mode) == 0o600
    assert re.fullmatch("[0-9a-f]{32}", value(tmp_path))


def test_what_is_shown_is_a_part_of_a_hash_over_value_and_configuration(tmp_path: Path) -> None:
    shown, bare = reporter.own(M4, tmp_path), reporter.own(GUEST, tmp_path)
    secret, configuration = value(tmp_path), machine_id(M4)
    assert configuration is not None
    assert shown == hashlib.sha256((secret + configuration).encode()).hexdigest()[:16]
    assert bare == hashlib.sha256(secret.encode()).hexdigest()[:16]
    assert shown not in secret


def test_two_computers_of_one_configuration_differ(tmp_path: Path) -> None:
    assert reporter.own(M4, tmp_path / "a") != reporter.own(M4, tmp_path / "b")


def test_forgetting_replaces_it_for_good(tmp_path: Path) -> None:
    before = reporter.own(M4, tmp_path)
    reporter.forget(tmp_path)
    after = reporter.own(M4, tmp_path)
    assert after not in (None, before)
    assert [path.name for path in tmp_path.iterdir()] == ["reporter"]


def test_the_command_forgets_the_one_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platformdirs, "user_data_path", lambda _: tmp_path)
    before = reporter.own(M4)
    forget_reporter()
    assert reporter.known(M4) not in (None, before)
    assert "new reporter" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "hello\n", "0" * 31, "Z" * 32, "0" * 200])
def test_a_damaged_value_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "reporter").write_text(content)
    assert reporter.known(M4, tmp_path) is None
    assert reporter.own(M4, tmp_path) is not None
    assert re.fullmatch("[0-9a-f]{32}", value(tmp_path))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("0" * 32)
    (tmp_path / "reporter").symlink_to(elsewhere)
    assert reporter.own(M4, tmp_path) == reporter.own(M4, tmp_path)
    assert elsewhere.read_text() == "0" * 32
    assert not (tmp_path / "reporter").is_symlink()


def test_where_nothing_can_be_kept_there_is_no_reporter_and_forgetting_says_so(tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.touch()
    assert reporter.own(M4, occupied) is None
    with pytest.raises(DataProblem, match="--no-reporter"):
        reporter.forget(occupied)


def test_two_first_runs_at_once_end_with_one_reporter(tmp_path: Path) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: reporter.own(M4, tmp_path), range(16)))
    assert found == {reporter.known(M4, tmp_path)}
    assert [path.name for path in tmp_path.iterdir()] == ["reporter"]


def test_two_processes_that_find_a_damaged_value_agree_on_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "reporter").write_bytes(b"\xff" * 5000)
    code = (
        "from pathlib import Path; from metalmark_db import reporter, record; "
        f"print(reporter.own(record.Machine(virtual=True), Path({str(tmp_path)!r})))"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate(timeout=60)[0].strip() for process in started)
    assert first == second == reporter.own(GUEST, tmp_path)


def test_a_folder_or_a_pipe_in_its_place_is_no_value_and_stops_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "reporter")
    assert reporter.known(M4, pipe) is None
    assert reporter.own(M4, pipe) is not None
    (tmp_path / "reporter").mkdir()
    assert reporter.own(M4, tmp_path) is None
    assert [path.name for path in tmp_path.iterdir() if path != pipe] == ["reporter"]
    with pytest.raises(DataProblem, match="cannot be replaced"):
        reporter.forget(tmp_path)
