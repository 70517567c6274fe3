"""Documents into the database: each whole in a transaction of its own, or not at all."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import chain, islice
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from . import summary
from .ahead import ahead
from .bulk import find_run, put_run
from .checks import FACTS, contradictions
from .columns import unflat
from .errors import DataProblem
from .models import WorkloadRecord
from .prepare import Prepared, Source, made_ready
from .prepare import told as told_of
from .record import Workload

FEW = 50  # documents that are not worth a second process


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
        for name, run in _prepared(documents):
            handled = taker.handled(name, run)
            counts[handled.fate] += 1
            told(handled)
    if refresh:
        summary.refresh(engine)
    return counts


def _prepared(documents: Source) -> Iterator[tuple[str, Prepared | DataProblem]]:
    """Each document made ready, in order; from some number on by a process that works ahead of this one."""
    source = iter(documents)
    for name, data in islice(source, FEW):
        yield name, made_ready(data)
    if (first := next(source, None)) is not None:
        yield from ahead(chain([first], source))


def _make_room(connection: sa.Connection) -> None:
    """Let SQLite keep more pages in memory, and write its log back less often, while many documents come in."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA cache_size=-65536")  # KiB
        driver.execute("PRAGMA wal_autocheckpoint=32000")  # pages: 128 MB


class _Taker:
    """Puts one document after the other into a database, whose workloads it knows."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._workloads = self._read()

    def handled(self, name: str, run: Prepared | DataProblem) -> Handled:
        """What became of a document."""
        if isinstance(run, DataProblem):
            return Handled(name, Fate.REFUSED, str(run))
        if found := contradictions([key[:2] for key in run.keys], run.workloads, self._workloads):
            return Handled(name, Fate.REFUSED, told_of(found))
        try:
            return Handled(name, self._put(run))
        except DataProblem as problem:
            return Handled(name, Fate.REFUSED, str(problem))

    def _put(self, run: Prepared) -> Fate:
        facts = {(one.id, one.version): one for one in run.workloads}
        filled = {key: _filled(self._workloads.get(key), one) for key, one in facts.items()}
        news = {key: one for key, one in filled.items() if one != self._workloads.get(key)}
        try:
            with self._connection.begin():
                if find_run(self._connection, run.digest) is not None:
                    return Fate.KNOWN
                put_run(self._connection, run, news.values())
        except (sa.exc.DataError, sa.exc.IntegrityError, OverflowError, UnicodeError) as error:
            with self._connection.begin():
                if find_run(self._connection, run.digest) is not None:  # another process was quicker
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
    """What is known of a workload, with what only the new facts tell; what its figures rest on is never filled in."""
    if known is None:
        return new
    filled = [name for name in known.__struct_fields__ if name not in FACTS and getattr(known, name) in (None, "")]
    missing = {name: getattr(new, name) for name in filled}
    return msgspec.structs.replace(known, **missing)
