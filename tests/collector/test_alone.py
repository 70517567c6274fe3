"""Two runs at once on one machine are noticed, whatever became of the first."""

import signal
import subprocess
import sys
from pathlib import Path

from metalmark_collector.alone import alone

HOLD = (
    "import sys, time; from pathlib import Path; from metalmark_collector.alone import alone\n"
    "with alone(Path(sys.argv[1])) as claimed: print(claimed, flush=True); time.sleep(60)"
)
PROGRAM = "from metalmark_db.cli import main; main({!r})"


def _holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_the_second_of_two_is_told_and_a_killed_first_holds_nothing(tmp_path: Path) -> None:
    first = _holder(tmp_path)
    with alone(tmp_path) as claimed:
        assert not claimed
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with alone(tmp_path) as claimed:
        assert claimed
    with alone(tmp_path) as claimed:
        assert claimed


def test_where_nothing_can_be_written_everyone_is_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with alone(tmp_path / "file") as claimed:
        assert claimed


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "measuring.lock").symlink_to(tmp_path / "target")
    with alone(tmp_path) as claimed:
        assert claimed
    assert not (tmp_path / "target").exists()


def test_a_run_that_still_measures_is_not_continued_by_a_second_process(tmp_path: Path) -> None:
    """Both would store the same cases, each with half of the machine."""
    data = tmp_path / "share"
    first = _holder(data / "metalmark")
    try:
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(["run", "--resume", "--db", str(tmp_path / "m.sqlite")])],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_DATA_HOME": str(data)},
        )
    finally:
        first.kill()
        first.communicate()
    assert told.returncode == 2
    assert "is measuring on this machine" in told.stderr
