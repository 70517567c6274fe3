"""The command ``workloads``."""

from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer

from metalmark_db.commands.query import DB
from metalmark_db.engine import database_url, open_database
from metalmark_db.errors import DatabaseProblem

from .. import listing, plugins
from ..fingerprint import local_probe, read_machine


def workloads(
    pattern: Annotated[
        list[str] | None, typer.Argument(help="Only these, by name or by pattern ('resnet*'); all when left out.")
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="List the workloads of this Python file of yours; repeat for several."),
    ] = None,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """List what is measured: work, memory, source, the efforts it belongs to, and how long it takes here.

    Examples: metalmark workloads; metalmark workloads 'bert*' --json
    """
    own = plugins.add(plugin or ())
    listing.show_suite(_earlier_runs(db), read_machine(local_probe()), pattern or own, as_json=as_json)


def _earlier_runs(db: str | None) -> sa.Engine | None:
    """The database; None where none was named, and none has been made or can be read: a list needs none."""
    url = database_url(db)
    is_file = url.get_backend_name() == "sqlite" and url.database is not None
    if db is None and is_file and not Path(str(url.database)).expanduser().exists():
        return None
    try:
        return open_database(db, create=False)
    except DatabaseProblem:
        if db is not None:
            raise
        return None
