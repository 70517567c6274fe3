"""Read-only SQL on the database, for the command ``query``."""

import contextlib
import signal
import sqlite3
import threading
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from .errors import QueryProblem

_ALLOWED_IN_SQLITE = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
# Pragmas that only tell what tables and columns there are.
_TELLING_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "foreign_key_list", "database_list"}
)
_STEPS = 100_000  # of SQLite's machine: some milliseconds
_WHAT_THERE_IS = (
    "The views and tables to start with: results (one row a measured case), published (one row a figure of others), "
    'machines, runs, chips. All of them in SQLite: metalmark query "select name from sqlite_master"'
)


class Answer(Struct, frozen=True):
    """What a query gave: the names of the columns, and the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def ask(engine: sa.Engine, sql: str) -> Answer:
    """The answer to one SQL statement, which can read everything and change nothing.

    Raises:
        QueryProblem: the statement is not valid, is not one statement, or would change something.
    """
    try:
        with engine.connect() as connection, _read_only(connection):
            # An empty tuple of parameters keeps drivers from reading % in the text as a placeholder of theirs
            # (SQLite) and makes PostgreSQL take one statement only.
            found = connection.exec_driver_sql(sql if engine.dialect.name == "sqlite" else sql.replace("%", "%%"), ())
            if not found.returns_rows:
                raise QueryProblem("The statement gives no rows. Ask with SELECT, for instance: select * from results")
            return Answer(tuple(found.keys()), tuple(tuple(row) for row in found))
    except (sa.exc.DBAPIError, sqlite3.Error, sqlite3.Warning) as error:
        raise QueryProblem(_explained(str(getattr(error, "orig", None) or error))) from error


@contextlib.contextmanager
def _read_only(connection: sa.Connection) -> Iterator[None]:
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        yield
        return
    driver: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    connection.exec_driver_sql("PRAGMA query_only=ON")
    driver.set_authorizer(_authorize)
    interrupted: list[int] = []
    # Ctrl-C would wait for the end of a statement: SQLite asks between its steps whether to go on.
    earlier = signal.signal(signal.SIGINT, lambda number, _frame: interrupted.append(number)) if _in_main() else None
    driver.set_progress_handler(lambda: len(interrupted), _STEPS)
    try:
        yield
    except sa.exc.OperationalError as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        if earlier is not None:
            signal.signal(signal.SIGINT, earlier)
        driver.set_progress_handler(None, 0)
        driver.set_authorizer(None)
        driver.execute("PRAGMA query_only=OFF")


def _in_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def _authorize(action: int, first: str | None, second: str | None, *_rest: Any) -> int:
    """SQLite asks for every step of a statement; ATTACH would create a file, so reading alone is allowed."""
    if action in _ALLOWED_IN_SQLITE and not (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in _TELLING_PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _explained(cause: str) -> str:
    if "not authorized" in cause or "read-only" in cause or "readonly" in cause:
        return f"`metalmark query` reads and never changes anything; the database refused the statement: {cause}."
    if "one statement at a time" in cause or "multiple commands" in cause:
        return "Ask one statement at a time; leave out everything after the first semicolon."
    if "no such table" in cause or "does not exist" in cause:
        return f"{cause}. {_WHAT_THERE_IS}"
    return f"The database did not take the query: {cause}."
