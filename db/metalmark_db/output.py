"""Answers as a table, CSV or JSON on standard output."""

import csv
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from .ask import Answer
from .errors import UsageProblem
from .terminal import harmless

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
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = ()
) -> None:
    """Print a table whose cells are plain text, however hostile; columns of ``right`` are aligned right."""
    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in columns:
        drawn.add_column(harmless(name), justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(harmless(cell) for cell in row))
    console().print(drawn, markup=False, emoji=False)


def console(stderr: bool = False) -> Console:
    """A console that reads no markup in what it prints, and as wide as a pipe needs it."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 200
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def _print_table(answer: Answer) -> None:
    numbers = [
        name
        for place, name in enumerate(answer.columns)
        if answer.rows and all(isinstance(row[place], (int, float, type(None))) for row in answer.rows)
    ]
    table(None, answer.columns, answer.rows, right=numbers)
    print(f"({len(answer.rows)} row{'' if len(answer.rows) == 1 else 's'})")  # noqa: T201


def _print_csv(answer: Answer) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(answer.rows)


def _print_json(answer: Answer) -> None:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    print(json.dumps(rows, ensure_ascii=False, indent=1, default=str))  # noqa: T201
