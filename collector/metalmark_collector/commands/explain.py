"""``metalmark explain``: what an error text means and what helps."""

import json
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from metalmark_db.errors import UsageProblem

from ..explain import Explanation
from ..explain import explain as understand


def explain(
    file: Annotated[Path, Argument(help="What the program printed, standard error above all.")],
    exit: Annotated[int | None, Option(help="Exit status: negative or 128 + n for a signal.")] = None,  # noqa: A002
    timed_out: Annotated[bool, Option("--timed-out", help="A time limit ended the program.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON: kind, op, dtype, advice, requested_bytes.")] = False,
) -> None:
    """Say what kind of failure a text shows, which operation it is about, and what helps."""
    found = understand(_read(file), exit, timed_out)
    if as_json:
        told = {name: getattr(found, name) for name in ("kind", "op", "dtype", "advice")}
        print(json.dumps({**told, "requested_bytes": found.bytes_requested}))  # noqa: T201
    else:
        Console().print(_table(found))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageProblem(
            f"{file} cannot be read ({error.strerror}). Give the path of a text file that holds the program's output."
        ) from error


def _table(found: Explanation) -> Table:
    rows = {
        "kind": found.kind.value,
        "operation": found.op,
        "number format": found.dtype,
        "bytes asked for": None if found.bytes_requested is None else f"{found.bytes_requested:,}",
        "what helps": found.advice,
    }
    table = Table(show_header=False, box=None, pad_edge=False)
    for label, value in rows.items():
        if value is not None:
            table.add_row(Text(label), Text(value))
    return table
