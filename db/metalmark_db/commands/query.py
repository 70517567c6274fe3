"""The command ``query``."""

from typing import Annotated

import typer

from .. import ask, output
from ..engine import open_database

DB = typer.Option(
    "--db", help="Database: a path or an SQLAlchemy URL. Default: METALMARK_DB, else the user's data folder."
)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; the views results and published have one flat row each.")],
    db: Annotated[str | None, DB] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """Ask the database in SQL, read-only.

    Example: metalmark query "select workload, device, median_s from results where outcome = 'ok'"
    """
    answer = ask.ask(open_database(db, create=False), sql)
    output.show_answer(answer, output.choose(as_csv=as_csv, as_json=as_json))
