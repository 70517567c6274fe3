"""One question to an SQLite file that is opened for reading, with limits on time and memory."""

import contextlib
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .errors import QueryProblem

MOST_BYTES = 64 * 2**20  # of one value: a query may not fill the memory with a text of its own
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
# Pragmas that only tell what tables and columns there are.
_TELLING_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "foreign_key_list", "database_list"}
)
# Functions that give tables make themselves known at their first use, which looks to the authorizer like writing.
_TABLES_OF_FUNCTIONS = ("json_each", "json_tree", *(f"pragma_{name}" for name in sorted(_TELLING_PRAGMAS)))
_STEPS = 1_000  # of SQLite's machine: some of them write a megabyte
_NOWHERE = (None, "", ":memory:")


@contextlib.contextmanager
def asked(engine: sa.Engine, sql: str, limit_s: float) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]]:
    """The columns and rows of a statement, on a connection of its own that can write neither file nor memory."""
    if engine.url.database in _NOWHERE:
        raise QueryProblem("A database in memory is empty at every start. Name a file with --db or METALMARK_DB.")
    address = Path(str(engine.url.database)).resolve().as_uri()
    # Reading alone, twice over: the file is opened so, and the authorizer is asked for every step of a statement.
    reading = sqlite3.connect(f"{address}?mode=ro", uri=True, isolation_level=None)
    with contextlib.closing(reading) as connection, _ended_in_time(connection, time.monotonic() + limit_s):
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        for function in _TABLES_OF_FUNCTIONS:
            connection.execute(f"SELECT 1 FROM {function}").close()  # noqa: S608 - names of this module
        connection.set_authorizer(_authorize)
        cursor = connection.execute(sql)
        yield tuple(column[0] for column in cursor.description or ()), cursor


@contextlib.contextmanager
def _ended_in_time(connection: sqlite3.Connection, deadline: float) -> Iterator[None]:
    """Statements end at the deadline and at Ctrl-C: SQLite asks between its steps whether to go on."""
    interrupted: list[int] = []
    here = threading.current_thread() is threading.main_thread()  # others cannot handle signals
    earlier = signal.signal(signal.SIGINT, lambda number, _frame: interrupted.append(number)) if here else None
    connection.set_progress_handler(lambda: bool(interrupted) or time.monotonic() >= deadline, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        if earlier is not None:
            signal.signal(signal.SIGINT, earlier)
    if interrupted:  # after the last step
        raise KeyboardInterrupt


def _authorize(action: int, first: str | None, second: str | None, *_rest: Any) -> int:
    """ATTACH would create a file and a temporary table fill a disk, so reading alone is allowed."""
    if action in _ALLOWED and not (action == sqlite3.SQLITE_FUNCTION and second == "load_extension"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in _TELLING_PRAGMAS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
