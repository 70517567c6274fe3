"""The reporter: tells one computer from another of the same configuration without saying which.

A random value is made at the first run and stays in the user's data folder. A run carries only a
part of its hash, from which neither the value nor the computer can be told.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from .errors import DataProblem
from .identity import machine_id
from .record import Machine

_NAME = "reporter"
_BYTES = 16
_VALUE = re.compile(f"[0-9a-f]{{{2 * _BYTES}}}")
_SHOWN = 16  # hexadecimal digits


def own(machine: Machine, folder: Path | None = None) -> str | None:
    """The reporter of this computer, whose value is made if there is none yet; None where it cannot be kept.

    A value that could not be kept would be another one at the next run, and one computer would pass for two.
    """
    folder = folder or _folder()
    with contextlib.suppress(OSError), _alone(folder):
        if _read(folder) is None:
            _make(folder)
    return known(machine, folder)


def known(machine: Machine, folder: Path | None = None) -> str | None:
    """The reporter of this computer, or None before the first run: nothing is made."""
    value = _read(folder or _folder())
    return None if value is None else shown(value, machine)


def shown(value: str, machine: Machine) -> str:
    """What a run carries: the first 16 hexadecimal digits of SHA-256(value + machine id, where there is one)."""
    return hashlib.sha256((value + (machine_id(machine) or "")).encode("ascii")).hexdigest()[:_SHOWN]


def forget(folder: Path | None = None) -> None:
    """Put a new value in place of the old one, which nobody can find again.

    Raises:
        DataProblem: the folder cannot be written.
    """
    folder = folder or _folder()
    try:
        with _alone(folder):
            _make(folder)
    except OSError as error:
        raise DataProblem(
            f"{folder / _NAME} cannot be replaced ({error.strerror}); the reporter is still the old one. Delete the"
            " file, or leave the reporter out with: metalmark run --no-reporter"
        ) from error


def _folder() -> Path:
    return platformdirs.user_data_path("metalmark")


def _read(folder: Path) -> str | None:
    """The value; None where there is none, or something else lies in its place."""
    try:
        # A named pipe would let its reader wait for ever.
        descriptor = os.open(folder / _NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 100).decode("ascii", "replace").strip()
    except OSError:  # a folder
        return None
    finally:
        os.close(descriptor)
    return text if _VALUE.fullmatch(text) else None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The folder, made and claimed: of two processes that find no value the second one finds the first one's."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make(folder: Path) -> None:
    """A new value, whole or not at all, in place of what lies there."""
    fresh = folder / f".{_NAME}-{secrets.token_hex(8)}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / _NAME)
    finally:
        fresh.unlink(missing_ok=True)
