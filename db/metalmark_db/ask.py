"""Read-only SQL on the database, for the command ``query``."""

import contextlib
import signal
import sqlite3
import threading
import time
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
_MOST_BYTES = 64 * 2**20  # of one value in SQLite: a query may not fill the memory with a text of its own
LIMIT_S = 60.0
_WHAT_THERE_IS = (
    "The views and tables to start with: results (one row a measured case), everything (with figures of others), "
    'summary, machines, runs, chips. All of them in SQLite: metalmark query "select name from sqlite_master"'
)


class Answer(Struct, frozen=True):
    """What a query gave: the names of the columns, and the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def ask(engine: sa.Engine, sql: str, limit_s: float = LIMIT_S, *, as_superuser: bool = False) -> Answer:
    """The answer to one SQL statement, which can read everything and change nothing.

    Raises:
        QueryProblem: the statement is not valid, is not one statement, would change something, or takes longer than
            ``limit_s``; or PostgreSQL would be asked as somebody who may read the server's files.
    """
    postgres = engine.dialect.name != "sqlite"
    began = time.monotonic()
    try:
        with engine.connect() as connection, contextlib.ExitStack() as limits:
            limits.enter_context(
                _postgres(connection, limit_s, as_superuser) if postgres else _sqlite(connection, began + limit_s)
            )
            # An empty tuple of parameters keeps drivers from reading % in the text as a placeholder of theirs
            # (SQLite) and makes PostgreSQL take one statement only.
            found = connection.exec_driver_sql(sql.replace("%", "%%") if postgres else sql, ())
            if not found.returns_rows:
                raise QueryProblem("The statement gives no rows. Ask with SELECT, for instance: select * from results")
            return Answer(tuple(found.keys()), tuple(tuple(row) for row in found))
    except (sa.exc.DBAPIError, sqlite3.Error, sqlite3.Warning, MemoryError) as error:
        if time.monotonic() - began >= limit_s:
            raise QueryProblem(
                f"The query was stopped after {limit_s:g} seconds. Ask the tables summary and cells, which are quick, "
                "narrow it down, or give it longer with --timeout SECONDS."
            ) from error
        raise QueryProblem(_explained(str(getattr(error, "orig", None) or error))) from error


@contextlib.contextmanager
def _postgres(connection: sa.Connection, limit_s: float, as_superuser: bool) -> Iterator[None]:
    """A transaction that reads only and ends in time; the first question settles that it stays so."""
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(limit_s * 1000))}")
    powers = connection.execute(_POWERS).scalars().all()
    if powers and not as_superuser:
        raise QueryProblem(
            f"PostgreSQL would be asked as a role with the powers of {', '.join(powers)}, which can read and write the "
            "server's files from within a query. Make a role that only reads: CREATE ROLE reader LOGIN PASSWORD '...'; "
            "GRANT pg_read_all_data TO reader; and name it in the address. --as-superuser asks all the same."
        )
    yield


# Roles that reach beyond the tables, as far as the current one is or belongs to them.
_POWERS = sa.text(
    "SELECT rolname FROM pg_roles WHERE (rolsuper AND rolname = current_user) OR (rolname IN ("
    "'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program') "
    "AND pg_has_role(current_user, oid, 'USAGE')) ORDER BY rolname"
)


@contextlib.contextmanager
def _sqlite(connection: sa.Connection, deadline: float) -> Iterator[None]:
    """A connection that reads only, twice over: by the engine's own switch, and by asking for every step."""
    driver: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    connection.exec_driver_sql("PRAGMA query_only=ON")
    driver.set_authorizer(_authorize)
    longest = driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_BYTES)
    interrupted: list[int] = []
    # Ctrl-C would wait for the end of a statement: SQLite asks between its steps whether to go on.
    earlier = signal.signal(signal.SIGINT, lambda number, _frame: interrupted.append(number)) if _in_main() else None
    driver.set_progress_handler(lambda: bool(interrupted) or time.monotonic() >= deadline, _STEPS)
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
        driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
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
    if "too big" in cause:
        return f"A value in the answer would have more than {_MOST_BYTES // 2**20} MB: {cause}."
    if "no such table" in cause or "does not exist" in cause:
        return f"{cause}. {_WHAT_THERE_IS}"
    return f"The database did not take the query: {cause}."
