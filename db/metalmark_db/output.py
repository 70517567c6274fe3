"""Answers as a table, CSV or JSON on standard output."""

import csv
import io
import json
import math
import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from .ask import Answer
from .errors import UsageProblem
from .terminal import harmless

_GAP = 2  # between columns
_SQLITE = "sqlite:///"
_MOST_ROWS = 2000  # of a table: more would take many seconds to align, and nobody reads them on a screen

Form = Callable[[Answer], None]


def choose(*, as_csv: bool, as_json: bool) -> Form:
    """The way to print that was asked for; a table when none was."""
    if as_csv and as_json:
        raise UsageProblem("Ask for --csv or for --json, not for both.")
    return _print_csv if as_csv else _print_json if as_json else _print_table


def show_answer(answer: Answer, form: Form) -> None:
    """Print an answer in one of the forms."""
    form(answer)


def table(
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    shed: Sequence[str] = (),
) -> None:
    """Print a table whose cells are plain text, however hostile; columns of ``right`` are aligned right.

    On a narrow terminal the columns of ``shed`` are left out, in that order, until it fits.
    """
    screen = console()
    drawn = fitted(columns, rows, screen.width, right=right, shed=shed)
    drawn.title, drawn.title_justify = title, "left"
    screen.print(drawn, markup=False, emoji=False)


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    width: int,
    *,
    right: Sequence[str] = (),
    shed: Sequence[str] = (),
    cut: bool = False,
) -> Table:
    """The table that fits a width: some columns left out, and what is still too long folded, or cut."""
    # Text, not str: a cell is never read as markup.
    cells = [[cell if isinstance(cell, Text) else Text(harmless(cell)) for cell in row] for row in rows]
    kept = list(range(len(columns)))
    for name in shed:
        if breadth([columns[place] for place in kept], [[row[place] for place in kept] for row in cells]) <= width:
            break
        kept.remove(columns.index(name))
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for place in kept:
        name = harmless(columns[place])
        justify: JustifyMethod = "right" if columns[place] in right else "left"
        # A row that is cut must stay one line: only the first column gives way.
        drawn.add_column(name, justify=justify, overflow="ellipsis" if cut else "fold", no_wrap=cut and place > 0)
    for row in cells:
        drawn.add_row(*(row[place] for place in kept))
    return drawn


def breadth(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Characters that a table takes from left to right, with the gaps between its columns."""
    widths = (max(cell_len(str(cell)) for cell in column) for column in zip(columns, *rows, strict=True))
    return sum(width + _GAP for width in widths) - _GAP


def console(stderr: bool = False) -> Console:
    """A console that reads no markup in what it prints, and as wide as a pipe needs it."""
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
        stream.reconfigure(errors="replace")  # a terminal that knows no micro sign gets a question mark, no error
    width = None if stream.isatty() else 200
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def say(text: str | Text, *, stderr: bool = False) -> None:
    """Print a paragraph: its words wrapped on a terminal, one line in a pipe."""
    screen = console(stderr=stderr)
    screen.print(Text(harmless(text)) if isinstance(text, str) else text, soft_wrap=not screen.is_terminal)


def _print_table(answer: Answer) -> None:
    shown = answer.rows[:_MOST_ROWS]
    numbers = [
        name
        for place, name in enumerate(answer.columns)
        if shown and all(isinstance(row[place], (int, float, type(None))) for row in shown)
    ]
    table(None, answer.columns, shown, right=numbers)
    rest = "" if len(shown) == len(answer.rows) else f"; the first {len(shown)} are shown, --csv and --json print all"
    print(f"({len(answer.rows)} row{'' if len(answer.rows) == 1 else 's'}{rest})")  # noqa: T201


def _print_csv(answer: Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows([plain(cell) for cell in row] for row in answer.rows)


def _print_json(answer: Answer) -> None:
    names = _distinct(answer.columns)
    encoder = json.JSONEncoder(ensure_ascii=False, indent=1, default=str, allow_nan=False)
    sys.stdout.write("[")
    for number, row in enumerate(answer.rows):  # one at a time: the text of a million rows takes gigabytes
        text = encoder.encode({name: plain(cell) for name, cell in zip(names, row, strict=True)})
        sys.stdout.write((",\n " if number else "\n ") + text.replace("\n", "\n "))
    sys.stdout.write("\n]\n" if answer.rows else "]\n")


def plain(cell: Any) -> Any:
    """A value as JSON and CSV can carry it: bytes as hexadecimal digits, infinite numbers as text."""
    if isinstance(cell, bytes):
        return cell.hex()
    return str(cell) if isinstance(cell, float) and not math.isfinite(cell) else cell


def named(value: Any) -> Any:
    """A value of records, tuples and lists as JSON has it: every field by its name."""
    if isinstance(value, msgspec.Struct):
        return {name: named(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: named(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {name: named(one) for name, one in value.items()}
    return [named(one) for one in value] if isinstance(value, list | tuple) else value


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, the second of two equal ones with its number, so that none is lost."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return distinct


def command(*words: str, db: str | None = None, takes_db: bool = True) -> str:
    """A call of this program as the person can type it here: by its path where it is not on PATH, on this database.

    ``db`` is what --db named; METALMARK_DB counts too, since another shell may not have it.
    """
    program = "metalmark"
    if shutil.which(program) is None and Path(sys.argv[0]).name == program:
        program = shlex.quote(os.path.relpath(sys.argv[0]))
    named = (db or os.environ.get("METALMARK_DB")) if takes_db else None
    if named and named.startswith(_SQLITE):
        named = os.path.relpath(named.removeprefix(_SQLITE))
    return " ".join((program, *words, *(("--db", shlex.quote(named)) if named else ())))
