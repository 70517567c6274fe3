"""Documents into the database: each whole in a transaction of its own, or not at all."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from . import summary
from .bulk import find_run, put_document
from .checks import problems
from .columns import unflat
from .document import Document, decode
from .errors import DataProblem
from .models import WorkloadRecord
from .record import Workload

MOST_SAID = 5  # reasons that one document is refused for


class Fate(StrEnum):
    """What became of a document."""

    ADDED = "added"
    KNOWN = "known"  # it was there already
    REFUSED = "refused"


class Handled(Struct, frozen=True):
    """One document: where it came from, and what became of it."""

    name: str
    fate: Fate
    reason: str | None = None


Source = Iterable[tuple[str, bytes | DataProblem]]


def ingest(
    engine: sa.Engine, documents: Source, told: Callable[[Handled], None] = lambda _: None, *, refresh: bool = True
) -> dict[Fate, int]:
    """How many documents were added, known already and refused; ``told`` hears of each one.

    ``documents`` are the name and the bytes of each, or the problem that kept it from being read. At the end, summary
    and cells are brought up to date, unless somebody else will (``refresh``).
    """
    counts = dict.fromkeys(Fate, 0)
    with engine.execution_options(metalmark_write=True).connect() as connection:
        _make_room(connection)
        taker = _Taker(connection)
        for name, data in documents:
            handled = taker.handled(name, data)
            counts[handled.fate] += 1
            told(handled)
    if refresh:
        summary.refresh(engine)
    return counts


def _make_room(connection: sa.Connection) -> None:
    """Let SQLite keep more pages in memory, and write its log back less often, while many documents come in."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA cache_size=-65536")  # KiB
        driver.execute("PRAGMA wal_autocheckpoint=8000")  # pages: 32 MB


class _Taker:
    """Puts one document after the other into a database, whose workloads it knows."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._workloads = self._read()

    def handled(self, name: str, data: bytes | DataProblem) -> Handled:
        """What became of a document."""
        try:
            return Handled(name, self._put(self._checked(data)))
        except DataProblem as problem:
            return Handled(name, Fate.REFUSED, str(problem))

    def _checked(self, data: bytes | DataProblem) -> Document:
        if isinstance(data, DataProblem):
            raise data
        document = decode(data)
        if found := problems(document, self._workloads):
            more = f"; and {len(found) - MOST_SAID} more" if len(found) > MOST_SAID else ""
            raise DataProblem("; ".join(found[:MOST_SAID]) + more)
        return document

    def _put(self, document: Document) -> Fate:
        told = {
            (one.id, one.version): _filled(self._workloads.get((one.id, one.version)), one)
            for one in document.workloads
        }
        news = {key: one for key, one in told.items() if one != self._workloads.get(key)}
        try:
            with self._connection.begin():
                if find_run(self._connection, document.digest) is not None:
                    return Fate.KNOWN
                put_document(self._connection, document, news.values())
        except (sa.exc.DataError, sa.exc.IntegrityError, OverflowError, UnicodeError) as error:
            with self._connection.begin():
                if find_run(self._connection, document.digest) is not None:  # another process was quicker
                    return Fate.KNOWN
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise DataProblem(f"the database does not take it: {cause}") from error
        self._workloads |= news
        return Fate.ADDED

    def _read(self) -> dict[tuple[str, int], Workload]:
        with self._connection.begin():
            rows = self._connection.execute(sa.select(WorkloadRecord.__table__)).mappings().all()
        return {(row["id"], row["version"]): unflat(Workload, row) for row in rows}


def _filled(known: Workload | None, new: Workload) -> Workload:
    """What is known of a workload, with what only the new facts tell."""
    if known is None:
        return new
    missing = {name: getattr(new, name) for name in known.__struct_fields__ if getattr(known, name) in (None, "")}
    return msgspec.structs.replace(known, **missing)
