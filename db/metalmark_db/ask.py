"""Read-only SQL on the database, for the command ``query``."""

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from . import ask_sqlite
from .errors import QueryProblem, UsageProblem

LIMIT_S = 60.0
_MOST_BYTES = 2 * 2**30  # of an answer, as Python holds it: a million rows of ten columns take a third of it
_WHAT_THERE_IS = (
    "The views and tables to start with: results (one row a measured case), everything (with figures of others), "
    'summary, machines, runs, chips. All of them in SQLite: metalmark query "select name from sqlite_master"'
)

_Row = tuple[Any, ...]


class Answer(Struct, frozen=True):
    """What a query gave: the names of the columns, and the rows."""

    columns: tuple[str, ...]
    rows: tuple[_Row, ...]


def ask(engine: sa.Engine, sql: str, limit_s: float = LIMIT_S, *, as_superuser: bool = False) -> Answer:
    """The answer to one SQL statement, which can read everything and change nothing.

    Raises:
        QueryProblem: the statement is not valid, is not one statement, would change something, takes longer than
            ``limit_s`` or gives more than memory should hold; or PostgreSQL would be asked as somebody who may read
            the server's files.
    """
    if not limit_s > 0:
        raise UsageProblem(f"A query needs time: --timeout takes a number of seconds above 0, not {limit_s:g}.")
    driver: Any = engine.dialect.loaded_dbapi
    began = time.monotonic()
    try:
        with _asked(engine, sql, limit_s, as_superuser) as (columns, rows):
            if not columns:
                raise QueryProblem(
                    "`metalmark query` reads and never changes anything, and this statement gives no rows. Ask with "
                    "SELECT, for instance: select * from results"
                )
            return Answer(columns, tuple(_measured(rows)))
    except (sa.exc.DBAPIError, driver.Error, driver.Warning, MemoryError, UnicodeError) as error:
        if time.monotonic() - began >= limit_s:
            raise QueryProblem(
                f"The query was stopped after {limit_s:g} seconds. Ask the tables summary and cells, which are quick, "
                "narrow it down, or give it longer with --timeout SECONDS."
            ) from error
        raise QueryProblem(_explained(str(getattr(error, "orig", None) or error) or type(error).__name__)) from error


def _asked(
    engine: sa.Engine, sql: str, limit_s: float, as_superuser: bool
) -> AbstractContextManager[tuple[tuple[str, ...], Iterator[_Row]]]:
    if engine.dialect.name == "sqlite":
        return ask_sqlite.asked(engine, sql, limit_s)
    from . import ask_postgres  # noqa: PLC0415 - its driver is an extra

    return ask_postgres.asked(engine, sql, limit_s, as_superuser=as_superuser)


def _measured(rows: Iterator[_Row]) -> Iterator[_Row]:
    """The rows, as long as all of them fit into the memory that an answer may take."""
    held = 0
    for row in rows:
        held += sys.getsizeof(row) + sum(map(sys.getsizeof, row))
        if held > _MOST_BYTES:
            raise QueryProblem(
                f"The answer has more than {_MOST_BYTES // 2**20} MB. Name fewer columns, ask for fewer rows with "
                "WHERE or LIMIT, or write whole tables with: metalmark export"
            )
        yield row


def _explained(cause: str) -> str:
    if "not authorized" in cause or "read-only" in cause or "readonly" in cause:
        return f"`metalmark query` reads and never changes anything; the database refused the statement: {cause}."
    if "one statement at a time" in cause or "multiple commands" in cause:
        return "Ask one statement at a time; leave out everything after the first semicolon."
    if "too big" in cause:
        return f"A value in the answer would have more than {ask_sqlite.MOST_BYTES // 2**20} MB: {cause}."
    if "no such table" in cause or "does not exist" in cause:
        return f"{cause}. {_WHAT_THERE_IS}"
    return f"The database did not take the query: {cause}."
