"""Many programs at once on one database: nothing is lost, nothing is there twice."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db import summary
from metalmark_db.aggregates import SUMMARY_KEY
from metalmark_db.engine import open_database

WRITERS, RUNS = 8, 3
ROOT = Path(__file__).parents[2]

# Half of the writers measure case by case, as `run` does; the others take in documents. All share machine and software.
_WRITER = """
import sys
from metalmark_db import store
from metalmark_db.document import document_of, encode
from metalmark_db.ingest import ingest
sys.path.insert(0, "benchmarks")
from fleet import runs as fleet_runs
address, writer, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
engine = store.open_database(address)
documents = [document_of(*one) for one in fleet_runs(runs, 9, writer * runs)]
if writer % 2:
    ingest(engine, [(str(n), encode(one)) for n, one in enumerate(documents)])
else:
    for one in documents:
        number = store.begin_run(engine, one.run.head, one.workloads)
        for case in one.run.cases:
            store.save_case(engine, number, case)
        store.finish_run(engine, number, one.run.conditions_after, finished=True)
engine.dispose()
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a database that nobody has opened yet: the writers make its tables, too."""
    if request.param == "sqlite":
        return str(tmp_path / "new" / "metalmark.sqlite")
    return str(request.getfixturevalue("empty_postgres"))


def test_eight_writers_at_once_lose_and_duplicate_nothing(address: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, address, str(writer), str(RUNS)],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for writer in range(WRITERS)
    ]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * WRITERS, errors
    engine = open_database(address)
    with engine.connect() as connection:
        count = {
            table: connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608
            for table in ("runs", "cases", "published", "aliases", "workloads")
        }
        digests = connection.scalar(sa.text("SELECT count(DISTINCT digest) FROM runs"))
        doubled = [
            connection.scalar(sa.text(f"SELECT count(*) - count(DISTINCT digest) FROM {table}"))  # noqa: S608
            for table in ("machines", "software")
        ]
        rounds = connection.scalar(sa.text("SELECT count(*) FROM rounds"))
    assert count["runs"] == digests == WRITERS * RUNS
    made = list(fleet_runs(WRITERS * RUNS, 9))
    assert count["cases"] == sum(len(run.cases) for run, _ in made)
    assert rounds == sum(len(case.rounds) for run, _ in made for case in run.cases)
    assert count["published"] == 4761
    assert count["workloads"] == len({(one.id, one.version) for _, facts in made for one in facts})
    assert doubled == [0, 0]
    summary.refresh(engine)
    key = ", ".join(SUMMARY_KEY)
    with engine.connect() as connection:
        for table in ("summary", "summary_view"):
            rows = connection.execute(sa.text(f"SELECT {key}, machines, runs, median_s FROM {table}"))  # noqa: S608
            count[table] = hash(tuple(sorted(map(repr, rows))))
    assert count["summary"] == count["summary_view"]
    engine.dispose()
