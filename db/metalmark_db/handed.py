"""Where documents come from: files, folders, archives, standard input; each read whole, and never more than one."""

import codecs
import contextlib
import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Protocol, cast

import msgspec

from .document import MOST_BYTES
from .errors import DataProblem

STDIN = "-"
SUFFIXES = (".json", ".json.gz")
LINES = (".jsonl", ".jsonl.gz")
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


Read = tuple[str, bytes | DataProblem]

_BROKEN = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
    *(NotImplementedError, RuntimeError, ValueError, MemoryError),
)


def listed(paths: Iterable[str]) -> list[str]:
    """The files that paths stand for: a folder stands for all documents and archives below it, in order."""
    found: list[str] = []
    for path in paths:
        if path != STDIN and Path(path).is_dir():
            inside = (os.path.join(here, name) for here, _, names in os.walk(path) for name in names)  # noqa: PTH118
            found += sorted(name for name in inside if name.endswith((*SUFFIXES, *LINES, *ARCHIVES)))
        else:
            found.append(path)
    return found


def documents(path: str) -> Iterator[Read]:
    """Name and bytes of each document in a file, or the reason why one cannot be read; ``-`` is standard input."""
    try:
        if path == STDIN:
            yield from _stream("standard input", sys.stdin.buffer)
        elif path.endswith(".zip"):
            yield from _zip(path)
        elif path.endswith(ARCHIVES):
            yield from _tar(path)
        else:
            with _opened(path) as file:
                yield from _lines(path, file) if path.endswith(LINES) else [(path, _whole(file))]
    except _BROKEN as error:
        yield path, _problem(error)


def _opened(path: str) -> IO[bytes]:
    if not Path(path).is_file():  # a named pipe would let its reader wait for ever
        raise FileNotFoundError(0, "there is no such file" if not Path(path).exists() else "it is no plain file")
    return cast(IO[bytes], gzip.open(path)) if path.endswith(".gz") else Path(path).open("rb")


def _whole(file: _Readable) -> bytes | DataProblem:
    """All bytes of one document; never more than a document may have, whatever a compressed file unfolds to."""
    data = file.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else DataProblem(f"it has more than {MOST_BYTES:,} bytes")


def _stream(name: str, file: IO[bytes]) -> Iterator[Read]:
    """Documents one a line, as ``export`` writes them, or a single one spread over lines."""
    first, skipped = file.readline(MOST_BYTES + 1).removeprefix(codecs.BOM_UTF8), 1
    while first and not first.strip():
        first, skipped = file.readline(MOST_BYTES + 1), skipped + 1
    second = b"" if _is_json(first) else file.readline(MOST_BYTES + 1)
    if not _is_json(first) and not second.lstrip().startswith(b"{"):
        yield name, _whole(_Joined(first + second, file))
        return
    yield f"{name}, line {skipped}", first
    if second:
        yield f"{name}, line {skipped + 1}", second
    yield from _lines(name, file, after=skipped + bool(second))


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def _lines(name: str, file: IO[bytes], after: int = 0) -> Iterator[Read]:
    number = after
    while line := file.readline(MOST_BYTES + 1):
        number += 1
        if len(line) > MOST_BYTES:
            yield f"{name}, line {number}", DataProblem(f"it has more than {MOST_BYTES:,} bytes")
            while line and not line.endswith(b"\n"):  # the rest of the same line
                line = file.readline(MOST_BYTES)
        elif line.strip():
            yield f"{name}, line {number}", line


class _Joined(io.RawIOBase):
    """What was read already, then the rest."""

    def __init__(self, first: bytes, rest: IO[bytes]) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes."""
        return self._first + self._rest.read(max(0, size - len(self._first)))


def _zip(path: str) -> Iterator[Read]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.filename.endswith((*SUFFIXES, *LINES)) and not entry.is_dir():
                name = f"{path}: {entry.filename}"
                try:
                    with archive.open(entry) as file:
                        yield from _unpacked(name, file)
                except _BROKEN as error:
                    yield name, _problem(error)


def _tar(path: str) -> Iterator[Read]:
    with tarfile.open(path, "r|*") as archive:  # a stream: members are read in their order, and none is kept
        for entry in archive:
            wanted = entry.isfile() and entry.name.endswith((*SUFFIXES, *LINES))
            file = archive.extractfile(entry) if wanted else None
            if file is not None:
                name = f"{path}: {entry.name}"
                try:
                    yield from _unpacked(name, file)
                except _BROKEN as error:
                    yield name, _problem(error)
            archive.members.clear()  # type: ignore[attr-defined]  # it would remember all of them


def _unpacked(name: str, file: IO[bytes]) -> Iterator[Read]:
    with gzip.open(file) if name.endswith(".gz") else contextlib.nullcontext(file) as inner:
        if name.removesuffix(".gz").endswith(LINES[0]):
            yield from _lines(name, cast(IO[bytes], inner))
        else:
            yield name, _whole(inner)


def _problem(error: Exception) -> DataProblem:
    cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
    return DataProblem(f"it cannot be read: {cause}")
