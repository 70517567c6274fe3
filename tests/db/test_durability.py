"""Programs that die in the middle: no committed case is lost, nothing half is left, and the next one goes on."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db import queries, store, summary
from metalmark_db.aggregates import SUMMARY_KEY
from metalmark_db.document import document_of, encode
from metalmark_db.engine import open_database
from metalmark_db.ingest import ingest

ROOT = Path(__file__).parents[2]
DOCUMENTS = 40

# Tells on its output of every document that is in, after the transaction has ended.
_INGEST = """
import sys
from metalmark_db.engine import open_database
from metalmark_db.handed import documents
from metalmark_db.ingest import ingest
engine = open_database(sys.argv[1])
print("begins", flush=True)
ingest(engine, documents(sys.argv[2]), lambda one: print(one.name.split()[-1], flush=True))
print("done", flush=True)
"""
# Stores a run case by case, as `run` does, and tells of every case that is stored.
_RUN = """
import sys
from metalmark_db import store
from metalmark_db.document import decode
engine = store.open_database(sys.argv[1])
print("begins", flush=True)
for line in open(sys.argv[2], "rb"):
    document = decode(line)
    number = store.begin_run(engine, document.run.head, document.workloads)
    for case in document.run.cases:
        store.save_case(engine, number, case)
        print(number, *case.key, flush=True)
    store.finish_run(engine, number, document.run.head.conditions_before, finished=True)
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of documents, one a line."""
    path = tmp_path_factory.mktemp("fleet") / "fleet.jsonl"
    path.write_bytes(b"".join(encode(document_of(*one)) for one in fleet_runs(DOCUMENTS, 3)))
    return path


def killed(program: str, database: Path, lines: Path, after_s: float) -> list[str]:
    """What a program had told of when it was killed, this long after it began to write."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(database), str(lines)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    told = process.communicate(timeout=60)[0].splitlines()
    return told[:-1] if told and not told[-1].strip() else told


def assert_whole(database: Path) -> None:
    """Nothing in the file is broken, and no part of a run stands alone."""
    plain = sqlite3.connect(database)
    assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert plain.execute("PRAGMA foreign_key_check").fetchall() == []
    plain.close()


def kills_of_ingest(template: Path, folder: Path, lines: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    whole = {document_of(*one).digest: len(one[0].cases) for one in fleet_runs(DOCUMENTS, 3)}
    for number in range(times):
        database = Path(shutil.copy(template, folder / f"{number}.sqlite"))
        told = killed(_INGEST, database, lines, chance.uniform(0.0, 0.6))
        assert_whole(database)
        engine = open_database(str(database))
        with engine.connect() as connection:
            found = connection.execute(
                sa.text("SELECT r.digest, count(*) FROM runs r JOIN cases c ON c.run_id = r.id GROUP BY r.id")
            )
            inside = {row[0]: int(row[1]) for row in found}
        assert len(inside) >= len([one for one in told if one.isdecimal()])
        assert all(whole[digest] == count for digest, count in inside.items())  # whole or not at all
        ingest(engine, ((str(place), line) for place, line in enumerate(lines.read_bytes().splitlines())))
        assert len(queries.run_ids(engine)) == DOCUMENTS
        assert_summary(engine)
        engine.dispose()
        database.unlink()


def assert_summary(engine: sa.Engine) -> None:
    """The tables of aggregates are what the views define."""
    assert summary.refresh(engine) == 0
    key = ", ".join((*SUMMARY_KEY, "machines", "runs", "median_s"))
    with engine.connect() as connection:
        one, other = (
            sorted(map(repr, connection.execute(sa.text(f"SELECT {key} FROM {table}"))))  # noqa: S608 - our names
            for table in ("summary", "summary_view")
        )
    assert one == other


def kills_of_run(template: Path, folder: Path, lines: Path, times: int, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(times):
        database = Path(shutil.copy(template, folder / f"{number}.sqlite"))
        told = killed(_RUN, database, lines, chance.uniform(0.0, 0.8))
        assert_whole(database)
        engine = open_database(str(database))
        kept = {
            " ".join(map(str, (run, *case.key)))
            for run in queries.run_ids(engine)
            for case in store.load_cases(engine, run)
        }
        assert set(told) <= kept
        assert len(kept) <= len(told) + 1  # at most the one that was stored when it could no longer be told
        summary.refresh(engine)
        assert_summary(engine)
        engine.dispose()
        database.unlink()


def test_ten_kills_of_ingest_lose_nothing(template: Path, tmp_path: Path, lines: Path) -> None:
    kills_of_ingest(template, tmp_path, lines, times=10, seed=1)


def test_ten_kills_of_a_run_lose_no_case_that_was_stored(template: Path, tmp_path: Path, lines: Path) -> None:
    kills_of_run(template, tmp_path, lines, times=10, seed=1)


@pytest.mark.slow
def test_a_hundred_kills_of_ingest_lose_nothing(template: Path, tmp_path: Path, lines: Path) -> None:
    kills_of_ingest(template, tmp_path, lines, times=100, seed=2)


@pytest.mark.slow
def test_a_hundred_kills_of_a_run_lose_no_case_that_was_stored(template: Path, tmp_path: Path, lines: Path) -> None:
    kills_of_run(template, tmp_path, lines, times=100, seed=2)
