"""The command ``query``."""

from typing import Annotated

import typer

from .. import ask, output
from ..engine import opened

DB = typer.Option(
    "--db", help="Database: a path or an SQLAlchemy URL. Default: METALMARK_DB, else the user's data folder."
)


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT; the views results and published have one flat row each.")],
    db: Annotated[str | None, DB] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds that the query may take.", min=0.001)] = ask.LIMIT_S,
    as_superuser: Annotated[
        bool, typer.Option("--as-superuser", help="Ask PostgreSQL as a role that can do anything to its server.")
    ] = False,
) -> None:
    """Ask the database in SQL, read-only.

    Views to start with: results (measured), everything (measured and published), speedups, coverage.
    Medians over many runs stand in the tables summary and cells, which answer at once.

    Example: metalmark query "select workload, device, median_s from results where outcome = 'ok'"
    """
    with opened(db, create=False) as engine:
        answer = ask.ask(engine, sql, timeout, as_superuser=as_superuser)
    output.show_answer(answer, output.choose(as_csv=as_csv, as_json=as_json))
