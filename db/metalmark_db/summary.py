"""The tables ``summary`` and ``cells``: filled by one function on both engines, for what has changed.

Their definition for people are the views ``summary_view`` and ``cells_view``, which a test holds them against. A unit
of work is one workload on one chip: all its rows are made anew together, in a transaction of their own. What has
changed stands in ``touched`` until it is done, so that a program that dies leaves it to the next one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

import sqlalchemy as sa

from . import views
from .aggregates import CELL_KEY, SUMMARY_KEY, VALUES
from .locks import Work, alone
from .models import AliasRecord, Base, CaseRecord, LoadedRecord, RankRecord, TouchedRecord
from .packing import insert_many

STALE = (
    "The database may only be read and holds runs that its summary does not count yet. Somebody who may write to it "
    "brings it up to date with: metalmark standing"
)
MANY = 200  # units after which the tables may have another shape

Unit = tuple[str, str]  # chip and workload
Progress = Callable[[int, int], None]  # units done, units in all

_READ = (*CELL_KEY, "coalesce(reporter, configuration)", "started_at", "median_s", "low_s", "high_s")
_COLUMNS = ", ".join((*_READ, '"interval"', "speedup"))
_RANKED = CELL_KEY.index("ranked")


def refresh(engine: sa.Engine, progress: Progress = lambda _done, _all: None) -> int:
    """Bring both tables up to date; how many workloads on chips that took."""
    with engine.connect() as connection:
        edition = _edition(connection)
        anew = connection.scalar(sa.select(LoadedRecord.digest).where(LoadedRecord.name == "summary")) != edition
        touched = list(connection.execute(sa.select(TouchedRecord.id, TouchedRecord.run_id)))
        if not touched and not anew:
            return 0
        aliases = {row.spelling: row.chip for row in connection.execute(sa.select(AliasRecord.__table__))}
        ranks = {count: (low, high) for count, low, high in connection.execute(sa.select(RankRecord.__table__))}
        units = _units(connection, aliases, None if anew else {run for _, run in touched})
    for number, unit in enumerate(units, start=1):
        with engine.execution_options(metalmark_write=True).begin() as connection:
            _make(connection, unit, aliases, ranks)
        progress(number, len(units))
    with engine.execution_options(metalmark_write=True).begin() as connection:
        for some in _parts([one for one, _ in touched]):
            connection.execute(sa.delete(TouchedRecord).where(TouchedRecord.id.in_(some)))
        if anew:
            connection.execute(sa.delete(LoadedRecord).where(LoadedRecord.name == "summary"))
            connection.execute(sa.insert(LoadedRecord), {"name": "summary", "digest": edition})
        if len(units) > MANY:
            _count(connection)
    return len(units)


def _count(connection: sa.Connection) -> None:
    """Let the engine look at the tables, so that it answers people's questions by the right index."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA analysis_limit=1000")
    for table in ("summary", "cells"):
        connection.exec_driver_sql(f"ANALYZE {table}")


def brought_up_to_date(engine: sa.Engine) -> bool:
    """Whether both tables are up to date now; a database that may only be read keeps what it has."""
    try:
        refresh(engine)
    except sa.exc.DBAPIError as error:
        if any(words in str(error.orig) for words in ("readonly", "read-only", "permission denied")):
            return False
        raise
    return True


def _edition(connection: sa.Connection) -> str:
    """What the tables depend on besides the runs: the wording of the views, and the spellings of chips."""
    published = connection.scalar(sa.select(LoadedRecord.digest).where(LoadedRecord.name == "published"))
    return f"{views.edition()} {published}"


def _units(connection: sa.Connection, aliases: dict[str, str], runs: set[int] | None) -> list[Unit]:
    """The chips and workloads of some runs; of all of them, and of what is in the tables, for None."""
    case = sa.select(CaseRecord.__table__.c.device_chip, CaseRecord.__table__.c.workload).distinct()
    parts = [case] if runs is None else [case.where(CaseRecord.run_id.in_(some)) for some in _parts(sorted(runs))]
    rows = [row for statement in parts for row in connection.execute(statement)]
    units = {(aliases.get(chip, chip), workload) for chip, workload in rows if chip is not None}
    if runs is None:  # a chip that was charted under another name must go
        for table in (_SUMMARY, _CELLS):
            units |= {
                (row.chip, row.workload)
                for row in connection.execute(sa.select(table.c.chip, table.c.workload).distinct())
            }
    return sorted(units)


def _make(connection: sa.Connection, unit: Unit, aliases: dict[str, str], ranks: dict[int, tuple[int, int]]) -> None:
    """Put the rows of one workload on one chip in place of those that are there."""
    chip, workload = unit
    alone(connection, Work.SUMMARY)  # two programs must not make the same rows at once
    spellings = [name for name in {chip, *aliases} if aliases.get(name, name) == chip]
    rows = _rows(connection, workload, spellings) if spellings else []
    for table, key, those in (
        (_CELLS, CELL_KEY, rows),
        (_SUMMARY, SUMMARY_KEY, [row for row in rows if row[_RANKED]]),
    ):
        connection.execute(sa.delete(table).where(table.c.chip == chip, table.c.workload == workload))
        insert_many(connection, table.name, (*key, *VALUES), list(aggregated(those, len(key), ranks)))


def _rows(connection: sa.Connection, workload: str, spellings: Sequence[str]) -> Sequence[sa.Row[Any]]:
    return connection.execute(_ROWS, {"workload": workload, "spellings": spellings}).all()


def aggregated(rows: Iterable[Sequence[Any]], key: int, ranks: dict[int, tuple[int, int]]) -> Iterable[tuple[Any, ...]]:
    """The rows of a table of aggregates: the first ``key`` columns of a group, and what its cases say together.

    ``rows`` are keyed by CELL_KEY, of which the keys of both tables are the beginning; then come the computer, the
    start of the run, the median, the ends of its interval, its kind and the speed-up.
    """
    groups: defaultdict[tuple[Any, ...], list[Sequence[Any]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[:key])].append(row[len(CELL_KEY) :])
    for name, cases in groups.items():
        yield *name, *_said(cases, ranks)


def _said(cases: Sequence[Sequence[Any]], ranks: dict[int, tuple[int, int]]) -> tuple[Any, ...]:
    """The values of a group, in the order of VALUES."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    gains: defaultdict[str, list[float]] = defaultdict(list)
    for who, _, time, _, _, _, gain in cases:
        if time is not None:
            times[who].append(time)
        if gain is not None:
            gains[who].append(gain)
    ordered = sorted(map(median, times.values()))
    if len(cases) == 1:
        _, newest, _, low, high, interval, _ = cases[0]
    else:
        newest = max(case[1] for case in cases)
        low, high, interval = _spread(ordered, [case[2] for case in cases if case[2] is not None], ranks)
    centre = median(ordered) if ordered else None
    speedup = median(map(median, gains.values())) if gains else None
    return len({case[0] for case in cases}), len(cases), centre, low, high, interval, speedup, newest


def _spread(
    ordered: Sequence[float], every: Sequence[float], ranks: dict[int, tuple[int, int]]
) -> tuple[float | None, float | None, str | None]:
    """What several runs come to: their median's interval from six computers on, else the fastest and the slowest."""
    if not every:
        return None, None, None
    if len(ordered) in ranks:
        low, high = ranks[len(ordered)]
        return ordered[low - 1], ordered[high - 1], "machines"
    return min(every), max(every), "range"


def _parts(values: Sequence[int], size: int = 1000) -> Iterable[Sequence[int]]:
    return (values[start : start + size] for start in range(0, len(values), size))


_ROWS = sa.text(
    f"SELECT {_COLUMNS} FROM results WHERE workload = :workload AND device_chip IN :spellings"  # noqa: S608 - our names
).bindparams(sa.bindparam("spellings", expanding=True))
_SUMMARY, _CELLS = Base.metadata.tables["summary"], Base.metadata.tables["cells"]
