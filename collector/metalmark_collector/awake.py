"""The machine kept from falling asleep while it measures, by a helper that ends with this process."""

import contextlib
import os
import platform
import select
import signal
import subprocess
from collections.abc import Iterator

_PATIENCE_S = 3.0  # without a message bus systemd-inhibit may wait for ever
_HELD = b"held\n"


@contextlib.contextmanager
def awake(system: str | None = None) -> Iterator[bool]:
    """Holds off idle and system sleep as long as the block runs; gives whether it could.

    A machine that offers no such thing measures all the same: ``slept`` finds out if it slept.
    """
    helper = _start(system or platform.system())
    try:
        yield helper is not None
    finally:
        if helper is not None:
            _end(helper)


def _start(system: str) -> subprocess.Popen[bytes] | None:
    if system == "Darwin":
        # -w: it ends when this process ends, however that happens.
        return _launch("caffeinate", "-dimsu", "-w", str(os.getpid()))
    if system == "Linux":
        # The command inside reads a pipe whose other end closes with this process, and so ends with it. What
        # it prints first proves that the lock was granted: systemd-inhibit runs it only then.
        inhibit = ("systemd-inhibit", "--what=idle:sleep", "--who=metalmark", "--why=Measuring", "--mode=block")
        helper = _launch(*inhibit, "sh", "-c", "echo held; exec cat")
        if helper is None or _granted(helper):
            return helper
        _end(helper)
    return None


def _launch(*command: str) -> subprocess.Popen[bytes] | None:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C must not reach it before the run has ended, and without a terminal it can ask no password.
            start_new_session=True,
        )
    except OSError:
        return None


def _granted(helper: subprocess.Popen[bytes]) -> bool:
    assert helper.stdout is not None  # noqa: S101 - Popen was asked for a pipe
    poller = select.poll()
    poller.register(helper.stdout, select.POLLIN | select.POLLHUP)
    return bool(poller.poll(_PATIENCE_S * 1000)) and os.read(helper.stdout.fileno(), len(_HELD)) == _HELD


def _end(helper: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(helper.pid, signal.SIGKILL)  # with the command inside
    helper.communicate()  # the pipes closed, the helper waited for
