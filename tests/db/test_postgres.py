"""PostgreSQL for everything that a person does: measuring, showing, building the site."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import queries
from metalmark_db.engine import open_database
from metalmark_db.ingest import ingest
from metalmark_site.facts import read_facts

RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))
ROOT = Path(__file__).parents[2]


@pytest.fixture
def filled(postgres: str) -> Iterator[sa.Engine]:
    engine = open_database(postgres)
    ingest(engine, [(path.name, path.read_bytes()) for path in RUNS])
    yield engine
    engine.dispose()


def test_the_site_is_made_from_the_same_facts(filled: sa.Engine, engine: sa.Engine) -> None:
    ingest(engine, [(path.name, path.read_bytes()) for path in RUNS])
    one, other = read_facts(engine), read_facts(filled)
    for name in ("results", "runs", "published", "sources", "chips", "workloads", "speed_pairs", "dictionary"):
        assert getattr(one, name) == getattr(other, name), name


def metalmark(*words: str, address: str) -> subprocess.CompletedProcess[str]:
    program = "from metalmark_db.cli import main; main()"
    command = [sys.executable, "-c", program, *words, "--db", address]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)


def test_a_run_is_measured_into_it_and_shown(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    ended = metalmark("run", "--workload", "launch", "--device", "cpu", address=postgres)
    assert ended.returncode == 0, ended.stderr
    engine = open_database(postgres)
    (number,) = queries.run_ids(engine)
    (row,) = queries.results(engine, number)
    with engine.connect() as connection:
        digest = connection.scalar(sa.text("SELECT digest FROM runs"))
    engine.dispose()
    assert (row.workload, row.outcome) == ("launch", "ok")
    assert len(str(digest)) == 64
    for words in (("show",), ("standing",)):
        shown = metalmark(*words, address=postgres)
        assert shown.returncode == 0, shown.stderr
        assert "launch" in shown.stdout
    told = json.loads(metalmark("show", "--json", address=postgres).stdout)
    assert told["results"][0]["median_s"] == row.median_s
