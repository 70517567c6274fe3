"""``metalmark build``: the site from the database."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from metalmark_db.engine import opened
from metalmark_db.output import command

from ..parts import require_parts


def build(
    out: Annotated[Path, typer.Option(help="Folder for pages, html and mkdocs.yml.")] = Path("build"),
    db: Annotated[
        str | None,
        typer.Option(help="Database: a path or an SQLAlchemy URL. Default: METALMARK_DB, else the user's data folder."),
    ] = None,
) -> None:
    """Build the site from the database."""
    require_parts()
    from ..builder import build as build_from  # noqa: PLC0415 - needs the packages asked for above

    with opened(db) as engine:
        report = build_from(engine, out, lambda line: print(f"{line} ...", file=sys.stderr))  # noqa: T201
    typer.echo(
        f"{report.pages} pages with {report.drawings} drawings, from {report.runs} measured "
        f"run{'' if report.runs == 1 else 's'} and "
        f"{report.published:,} published figures, are in {report.out / 'html'}. "
        f"See them: {command('serve', takes_db=False)}"
    )
