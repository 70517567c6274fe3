"""The machine kept awake: real helper processes, which end with the run however it ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from metalmark_collector import awake as module
from metalmark_collector.awake import awake

# As the real one: holds on until it is ended or the process given with -w is gone.
CAFFEINATE = """#!/bin/sh
echo "$$ $*" > "$RECORD.new" && mv "$RECORD.new" "$RECORD"
while kill -0 "$3" 2>/dev/null; do sleep 0.05; done
"""
# Grants the lock and runs the command inside, until that ends.
INHIBIT = """#!/bin/sh
echo "$$ $*" > "$RECORD.new" && mv "$RECORD.new" "$RECORD"
while [ "${1#--}" != "$1" ]; do shift; done
"$@"
"""
REFUSES = "#!/bin/sh\necho 'Failed to inhibit: Access denied' >&2\nexit 1\n"
HANGS = "#!/bin/sh\nsleep 60\n"
HOLDER = "import sys, time; from metalmark_collector.awake import awake\nwith awake(sys.argv[1]): time.sleep(60)\n"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a helper writes its process id and arguments; folder of the helpers found first on PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    return tmp_path / "record"


def install(record: Path, name: str, script: str) -> None:
    """Put a helper on PATH."""
    program = record.with_name(name)
    program.write_text(script)
    program.chmod(0o755)


def read(record: Path) -> tuple[psutil.Process, list[str]]:
    """The helper's process and what it was called with, once it has started."""
    end = time.monotonic() + 20
    while not record.exists() and time.monotonic() < end:
        time.sleep(0.02)
    pid, *arguments = record.read_text().split()
    return psutil.Process(int(pid)), arguments


def assert_gone(process: psutil.Process) -> None:
    """It ends within seconds."""
    _, alive = psutil.wait_procs([process], timeout=20)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_on_a_mac_caffeinate_runs_as_long_as_the_block(record: Path) -> None:
    install(record, "caffeinate", CAFFEINATE)
    with awake("Darwin") as held:
        assert held
        helper, arguments = read(record)
        assert arguments == ["-dimsu", "-w", str(os.getpid())]
        assert helper.is_running()
    assert_gone(helper)


def test_caffeinate_ends_when_the_block_fails(record: Path) -> None:
    install(record, "caffeinate", CAFFEINATE)
    with contextlib.suppress(KeyboardInterrupt), awake("Darwin"):
        helper, _ = read(record)
        raise KeyboardInterrupt
    assert_gone(helper)


@pytest.mark.parametrize(
    ("system", "name", "script"), [("Darwin", "caffeinate", CAFFEINATE), ("Linux", "systemd-inhibit", INHIBIT)]
)
def test_the_helper_ends_when_the_measuring_process_is_killed(
    record: Path, system: str, name: str, script: str
) -> None:
    install(record, name, script)
    with subprocess.Popen([sys.executable, "-c", HOLDER, system]) as holder:
        helper, _ = read(record)
        family = [helper, *helper.children(recursive=True)]
        holder.send_signal(signal.SIGKILL)
    for process in family:
        assert_gone(process)


def test_on_linux_the_lock_is_held_as_long_as_the_block(record: Path) -> None:
    install(record, "systemd-inhibit", INHIBIT)
    with awake("Linux") as held:
        assert held
        helper, arguments = read(record)
        assert arguments[0] == "--what=idle:sleep"
        family = [helper, *helper.children(recursive=True)]
        assert len(family) > 1
    for process in family:
        assert_gone(process)


@pytest.mark.parametrize("script", [REFUSES, HANGS])
def test_a_lock_that_is_refused_or_never_answered_stops_nothing(
    record: Path, script: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.3)
    install(record, "systemd-inhibit", script)
    before = psutil.Process().children()
    with awake("Linux") as held:
        assert not held
    assert psutil.Process().children() == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("system", ["Darwin", "Linux", "Windows"])
def test_without_a_helper_the_block_runs_all_the_same(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with awake(system) as held:
        assert not held


def test_whatever_this_machine_offers_is_used_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    with awake() as held:
        assert held in (True, False)
    assert capfd.readouterr() == ("", "")
