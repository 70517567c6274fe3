"""The command ``ingest``."""

import sys
from typing import Annotated

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .. import handed, output, summary
from ..engine import opened
from ..errors import DataProblem
from ..ingest import Fate, Handled, ingest
from ..prepare import Source
from .query import DB

_PATHS = "Documents (.json, .json.gz), one a line (.jsonl), folders, archives (.zip, .tar.gz), or - for standard input."


def ingest_command(
    paths: Annotated[list[str], typer.Argument(help=_PATHS, show_default=False)],
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what became of each document, a JSON object a line.")
    ] = False,
) -> None:
    """Put documents of runs into the database.

    Each enters whole or not at all; one that is there already is left out.
    One that is refused is named with the reason, and the others go on.
    The exit code is 0 when none was refused, and 4 otherwise.

    Examples: metalmark ingest db/submissions; metalmark ingest run.json.gz
    """
    files = handed.listed(paths)
    with opened(db) as engine, _bar() as bar:
        task = bar.add_task("files", total=len(files))
        units = bar.add_task("summary", total=None, visible=False)

        def tell(handled: Handled) -> None:
            if as_json:
                print(msgspec.json.encode(handled).decode())  # noqa: T201 - this is the command's output
            elif handled.fate is Fate.REFUSED:
                output.say(f"Refused {handled.name}: {handled.reason}.", stderr=True)

        def source() -> Source:
            for file in files:
                yield from handed.documents(file)
                bar.advance(task)

        counts = ingest(engine, source(), tell, refresh=False)
        summary.refresh(engine, lambda done, every: bar.update(units, completed=done, total=every, visible=True))
    if not as_json:
        output.say(_sentence(counts))
    if not sum(counts.values()):
        raise DataProblem(f"There is no document in {', '.join(paths)}. Documents end in .json or .json.gz.")
    if counts[Fate.REFUSED]:
        raise typer.Exit(DataProblem.exit_code)


def _sentence(counts: dict[Fate, int]) -> str:
    parts = [f"{_runs(counts[Fate.ADDED])} added"]
    if counts[Fate.KNOWN]:
        parts.append(f"{counts[Fate.KNOWN]:,} known already")
    if counts[Fate.REFUSED]:
        parts.append(f"{counts[Fate.REFUSED]:,} refused")
    return ", ".join(parts) + "."


def _runs(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"


def _bar() -> Progress:
    """A bar on standard error, and nothing in a pipe."""
    console = output.console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())
