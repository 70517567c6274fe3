"""Questions ready to ask: the same answers from SQLite, from the browser's SQLite, and from PostgreSQL."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db.document import document_of, encode
from metalmark_db.engine import open_database
from metalmark_db.export import write_sqlite
from metalmark_db.ingest import ingest
from metalmark_db.ready import QUERIES, Query
from metalmark_site.assets import node

ASSETS = Path(__file__).parents[2] / "site" / "assets"
RUNS = 60

# As the console does: without the functions that only sql.js has, else a question would run nowhere else.
_IN_THE_BROWSERS_SQLITE = """
import fs from "node:fs";
import initSqlJs from "sql.js";
const [file, queries] = process.argv.slice(1);
const SQL = await initSqlJs({ useOldExtensionFunctions: false });
const database = new SQL.Database(fs.readFileSync(file));
const answers = JSON.parse(fs.readFileSync(queries, "utf8")).map((sql) => database.exec(sql)[0]?.values ?? []);
console.log(JSON.stringify({ version: database.exec("select sqlite_version()")[0].values[0][0], answers }));
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that people download: everything but raw samples, of a fleet."""
    folder = tmp_path_factory.mktemp("ready")
    engine = open_database(str(folder / "whole.sqlite"))
    ingest(engine, [("x", encode(document_of(*one))) for one in fleet_runs(RUNS, 8)])
    write_sqlite(engine, folder / "published.sqlite")
    engine.dispose()
    return folder / "published.sqlite"


@pytest.fixture(scope="module")
def in_the_browser(published: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The answers of sql.js to all questions."""
    asked = published.with_suffix(".json")
    asked.write_text(json.dumps([one.sql for one in QUERIES]), encoding="utf-8")
    script = [str(node()), "--input-type=module", "-e", _IN_THE_BROWSERS_SQLITE, str(published), str(asked)]
    told = json.loads(subprocess.run(script, cwd=ASSETS, check=True, capture_output=True, text=True).stdout)
    return {one.id: [tuple(row) for row in rows] for one, rows in zip(QUERIES, told["answers"], strict=True)}


def asked(engine: sa.Engine, query: Query) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(query.sql))]


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, rel_tol=1e-12)
    return bool(one == other)


def same(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    return len(one) == len(other) and all(
        all(alike(a, b) for a, b in zip(row, beside, strict=True)) for row, beside in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.id)
def test_sqlite_and_the_browsers_sqlite_answer_alike(
    published: Path, in_the_browser: dict[str, list[tuple[Any, ...]]], query: Query
) -> None:
    engine = open_database(str(published))
    answer = asked(engine, query)
    engine.dispose()
    assert answer
    assert same(answer, in_the_browser[query.id])


def test_postgresql_answers_alike(published: Path, postgres: str) -> None:
    lite, server = open_database(str(published)), open_database(postgres)
    ingest(server, [("x", encode(document_of(*one))) for one in fleet_runs(RUNS, 8)])
    different = [one.id for one in QUERIES if not same(asked(lite, one), asked(server, one))]
    lite.dispose()
    server.dispose()
    assert different == []


def test_the_fastest_chip_is_the_one_with_the_fastest_machines(published: Path) -> None:
    """The answer is what the measured rows say, not only what a table holds."""
    engine = open_database(str(published))
    query = next(one for one in QUERIES if one.id == "fastest-resnet50-training")
    first = asked(engine, query)[0]
    with engine.connect() as connection:
        fastest = connection.execute(
            sa.text(
                "SELECT chip, min(median_s) FROM results WHERE workload = 'resnet50-train-b8' AND precision = 'fp32' "
                "AND mode = 'eager' AND ranked GROUP BY chip ORDER BY 2 LIMIT 3"
            )
        ).all()
    engine.dispose()
    assert first[0] in {row[0] for row in fastest}


def test_a_release_that_made_work_slower_is_found(published: Path) -> None:
    """The fleet's torch 2.14 is slower at transformers on mps, and at nothing else by so much."""
    engine = open_database(str(published))
    query = next(one for one in QUERIES if one.id == "slower-with-2.14")
    rows = asked(engine, query)
    engine.dispose()
    names = [query_row[2] for query_row in rows[:5]]
    assert names
    assert all(name.startswith(("bert", "gpt", "vit", "llama")) for name in names), rows[:5]
