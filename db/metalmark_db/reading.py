"""CSV files of the repository, read and checked line by line."""

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .errors import DataProblem

Columns = Mapping[str, Callable[[str], Any]]


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        DataProblem: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataProblem(f"{path} cannot be read ({error.strerror}). Restore the file from the repository.") from error


def lines(path: Path, columns: Columns) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and values of each line of a CSV file with these columns, each value as its column's function reads it.

    Raises:
        DataProblem: names the file, the line, the column and what stands there.
    """
    for line, row in _rows(path, columns):
        converted = {}
        for name, read in columns.items():
            try:
                converted[name] = read(row[name])
            except (ValueError, KeyError) as error:
                raise DataProblem(f"{path}, line {line}, column {name}: {row[name]!r} is not allowed there.") from error
        yield line, converted


def _rows(path: Path, columns: Columns) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        reader = csv.DictReader(read_bytes(path).decode("utf-8").splitlines(keepends=True), strict=True)
        missing = set(columns) - set(reader.fieldnames or ())
        if missing:
            raise DataProblem(f"{path} lacks the columns {', '.join(sorted(missing))}. Line 1 names the columns.")
        for row in reader:
            if None in row or None in row.values():
                raise DataProblem(f"{path}, line {reader.line_num}: not as many fields as in line 1.")
            yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataProblem(f"{path} is not a readable CSV file in UTF-8: {error}.") from error


def text(field: str) -> str:
    """A text that is not empty."""
    if not field:
        raise ValueError(field)
    return field


def maybe(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads an empty field as None, and others as ``read`` does."""
    return lambda field: read(field) if field else None


def number(field: str) -> float:
    """A number from 0, not endless."""
    value = float(field)
    if not 0 <= value < float("inf"):
        raise ValueError(field)
    return value


def one_of(allowed: set[str]) -> Callable[[str], str]:
    """Reads one of these words."""

    def read(field: str) -> str:
        if field not in allowed:
            raise ValueError(field)
        return field

    return read
