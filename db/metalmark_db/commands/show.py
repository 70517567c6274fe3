"""The command ``show``."""

from typing import Annotated

import typer

from .. import report
from ..engine import opened
from .query import DB


def show(
    run: Annotated[int | None, typer.Argument(help="Number of the run; the newest when left out.")] = None,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a stored run: its machine, and every case with its outcome."""
    with opened(db, create=False) as engine:
        report.show_run(engine, run, as_json=as_json)
