"""Work that one program at a time does to a PostgreSQL database; SQLite has one writer anyway."""

from enum import IntEnum

import sqlalchemy as sa


class Work(IntEnum):
    """What is locked: the numbers are those of PostgreSQL's advisory locks, and any would do."""

    SCHEMA = 6_072_200
    SUMMARY = 6_072_201
    PUBLISHED = 6_072_202


def alone(connection: sa.Connection, work: Work) -> None:
    """Wait until no other transaction does this work; it is ours until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(int(work))))
