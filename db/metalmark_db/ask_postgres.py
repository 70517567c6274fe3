"""One question to PostgreSQL, as a role that only reads, in a transaction that writes nothing and ends in time."""

import contextlib
from collections.abc import Iterator
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import ExecStatus
from psycopg.types.string import TextLoader

from .errors import QueryProblem

_LONGEST_S = 2e6  # what fits into statement_timeout
# Roles that reach beyond the tables, as far as this one is, belongs to or could become one of them.
_POWERS = sa.text(
    "SELECT rolname FROM pg_roles WHERE (rolsuper OR rolname IN ("
    "'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')) "
    "AND (pg_has_role(current_user, oid, 'MEMBER') OR pg_has_role(session_user, oid, 'MEMBER')) "
    "ORDER BY NOT rolsuper, rolname LIMIT 1"
)
_PLAIN = frozenset({"int2", "int4", "int8", "oid", "float4", "float8", "bytea"})  # the same in Python as from SQLite


@contextlib.contextmanager
def asked(
    engine: sa.Engine, sql: str, limit_s: float, *, as_superuser: bool
) -> Iterator[tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]]:
    """The columns and rows of a statement that gives rows; any other one is refused before it runs."""
    with engine.connect() as connection:
        connection.detach()  # what a statement does to its session, such as a lock, ends with it
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, round(min(limit_s, _LONGEST_S) * 1000))}")
        # This is the transaction's first question, and after one PostgreSQL lets nobody make it write again.
        power = connection.scalar(_POWERS)
        if power and not as_superuser:
            raise QueryProblem(
                f"PostgreSQL would be asked as a role with the powers of {power}, which can read and write the "
                "server's files from within a query. Make a role that only reads: CREATE ROLE reader LOGIN PASSWORD "
                "'...'; GRANT pg_read_all_data TO reader; and name it in the address. --as-superuser asks all the same."
            )
        driver: psycopg.Connection[tuple[Any, ...]] = connection.connection.dbapi_connection  # type: ignore[assignment]
        text = sql.encode()
        columns = _columns(driver, text)
        if not columns:
            yield columns, iter(())
            return
        _prefer_plain_values(driver)
        # Row by row, so that the answer is not held by the driver as well; closed, so that the server ends its work.
        with contextlib.closing(driver.cursor().stream(text)) as rows:  # type: ignore[type-var]
            yield columns, rows


def _columns(driver: psycopg.Connection[Any], sql: bytes) -> tuple[str, ...]:
    """What the statement would give, told by the server without running it; more than one statement is an error."""
    prepared = driver.pgconn.prepare(b"", sql)
    described = driver.pgconn.describe_prepared(b"") if prepared.status == ExecStatus.COMMAND_OK else prepared
    if described.status != ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(described)
    return tuple((described.fname(place) or b"").decode() for place in range(described.nfields))


class _Number(Loader):
    """A numeric as SQLite has it: whole or floating."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class _Bool(Loader):
    """True and false as SQLite has them."""

    def load(self, data: Buffer) -> int:
        return int(bytes(data) == b"t")


def _prefer_plain_values(driver: psycopg.Connection[Any]) -> None:
    """Let values come as from SQLite, and what it does not know, such as dates, JSON and arrays, as text."""
    for kind in psycopg.adapters.types:
        if kind.name not in _PLAIN:
            driver.adapters.register_loader(kind.oid, TextLoader)
        if kind.array_oid:
            driver.adapters.register_loader(kind.array_oid, TextLoader)
    driver.adapters.register_loader("numeric", _Number)
    driver.adapters.register_loader("bool", _Bool)
