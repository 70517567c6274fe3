"""The command ``export``."""

import io
import sys
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from .. import export, output, summary
from ..engine import opened
from ..errors import UsageProblem
from ..export import Form
from .query import DB

_STDOUT = "-"
_SUFFIXES = {f".{form.value}": form for form in (Form.CSV, Form.JSONL, Form.PARQUET, Form.SQLITE)}
_PATH = "Where to: a file ending in .csv, .jsonl or .sqlite, a folder ending in .parquet, or - for standard output."


def export_command(
    path: Annotated[str, typer.Argument(help=_PATH, show_default=False)],
    table: Annotated[str, typer.Option(help="Table or view, for CSV, JSON lines and Parquet.")] = "results",
    form: Annotated[
        Form | None, typer.Option("--format", help="What to write, where the name does not tell it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    db: Annotated[str | None, DB] = None,
) -> None:
    """Write the database for other programs.

    CSV and JSON lines hold one table or view; Parquet too, with one folder a chip.
    An SQLite file holds everything but raw samples, with the same views.
    Documents are the runs themselves, with all samples, one a line: what ingest takes.
    The format datasette is the metadata for an SQLite file of the same name.

    Examples: metalmark export results.csv; metalmark export cells.parquet --table cells;
    metalmark export all.jsonl --format documents
    """
    chosen = form or _SUFFIXES.get(Path(path).suffix)
    if chosen is None:
        forms = ", ".join(Form)
        raise UsageProblem(f"What {path} shall hold is not clear: its name tells no format. Say --format: {forms}.")
    with opened(db, create=False) as engine, _progress() as bar:
        _spare(engine, path)
        if not summary.brought_up_to_date(engine):
            output.say(summary.STALE, stderr=True)
        task = bar.add_task("rows", total=None)

        def told(rows: int) -> None:
            bar.advance(task, rows)

        if path == _STDOUT:
            _to_stdout(engine, table, chosen, told)
            return
        with export.whole(Path(path), replace=force) as place:
            match chosen:
                case Form.CSV | Form.JSONL:
                    write = export.write_csv if chosen is Form.CSV else export.write_jsonl
                    with place.open("w", encoding="utf-8", newline="") as file:
                        write(engine, table, file, told)
                case Form.PARQUET:
                    export.write_parquet(engine, table, place, told)
                case Form.SQLITE:
                    export.write_sqlite(engine, place, told)
                case Form.DOCUMENTS:
                    with place.open("wb") as raw:
                        export.write_documents(engine, raw, told)
                case Form.DATASETTE:
                    with place.open("w", encoding="utf-8") as file:
                        export.write_datasette(engine, file, Path(path).name.partition(".")[0])
        done = int(bar.tasks[0].completed)
    output.say(f"{path}: {done:,} {'runs' if chosen is Form.DOCUMENTS else 'rows'}.")


def _spare(engine: sa.Engine, path: str) -> None:
    """A copy without raw samples must never take the place of the database that has them."""
    own = engine.url.database
    if engine.dialect.name == "sqlite" and own and Path(path).resolve() == Path(own).resolve():
        raise UsageProblem(f"{path} is the database itself. Choose another name for its copy.")


def _to_stdout(engine: sa.Engine, table: str, form: Form, told: export.Told) -> None:
    if form in (Form.PARQUET, Form.SQLITE, Form.DATASETTE):
        raise UsageProblem(f"{form.value} is no stream. Name a file or a folder.")
    if form is Form.DOCUMENTS:
        sys.stdout.flush()
        export.write_documents(engine, sys.stdout.buffer, told)
        sys.stdout.buffer.flush()
        return
    text = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="", write_through=False)
    (export.write_csv if form is Form.CSV else export.write_jsonl)(engine, table, text, told)
    text.flush()
    text.detach()


def _progress() -> Progress:
    """Rows so far on standard error, and nothing in a pipe."""
    columns = (TextColumn("{task.completed:,.0f} {task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=output.console(stderr=True), transient=True, disable=not sys.stderr.isatty())
