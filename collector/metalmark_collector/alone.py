"""Whether another run of this person measures on this machine at the same time: two spoil each other's times."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

_NAME = "measuring.lock"


@contextlib.contextmanager
def alone(folder: Path | None = None) -> Iterator[bool]:
    """Claims the machine as long as the block runs; gives False where another process has claimed it.

    The claim ends with the process, however that happens. Where the folder cannot be written nobody
    can claim anything, and every process is alone.
    """
    descriptor = _open(folder or platformdirs.user_data_path("metalmark"))
    if descriptor is None:
        yield True
        return
    try:
        yield _claimed(descriptor)
    finally:
        os.close(descriptor)


def _open(folder: Path) -> int | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None


def _claimed(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
