"""The database handed out: whole, the same from both engines, and readable by other programs."""

import csv
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db import queries, summary
from metalmark_db.cli import main
from metalmark_db.document import document_of, encode
from metalmark_db.engine import open_database
from metalmark_db.errors import MissingPart, UsageProblem
from metalmark_db.export import READABLE, rows, write_parquet
from metalmark_db.ingest import ingest

RUNS = 4
CASES = sum(len(run.cases) for run, _ in fleet_runs(RUNS, 5))


@pytest.fixture(scope="module")
def documents() -> list[bytes]:
    return [encode(document_of(*one)) for one in fleet_runs(RUNS, 5)]


@pytest.fixture
def filled(any_address: str, documents: list[bytes]) -> str:
    """Address of a database with runs of several machines, on each engine in turn."""
    engine = open_database(any_address)
    ingest(engine, [(str(number), one) for number, one in enumerate(documents)])
    engine.dispose()
    return any_address


def call(*arguments: str) -> int:
    """The exit code of the program."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_csv_and_json_lines_hold_every_row_alike(filled: str, tmp_path: Path) -> None:
    assert call("export", str(tmp_path / "r.csv"), "--db", filled) == 0
    assert call("export", str(tmp_path / "r.jsonl"), "--db", filled) == 0
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        from_csv = list(csv.DictReader(file))
    from_json = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(from_csv) == len(from_json) == CASES
    for one, other in zip(from_csv, from_json, strict=True):
        assert list(one) == list(other)
        assert one["median_s"] == ("" if other["median_s"] is None else repr(other["median_s"]))
        assert one["ranked"] == str(other["ranked"])
        assert json.loads(one["flags"]) == other["flags"]
    assert {type(row["ranked"]) for row in from_json} == {bool}


@pytest.mark.parametrize("table", READABLE)
def test_every_table_that_is_offered_can_be_written(filled: str, tmp_path: Path, table: str) -> None:
    assert call("export", str(tmp_path / "t.jsonl"), "--table", table, "--db", filled) == 0
    lines = (tmp_path / "t.jsonl").read_text(encoding="utf-8").splitlines()
    engine = open_database(filled)
    with engine.connect() as connection:
        assert len(lines) == connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608
    engine.dispose()


def test_documents_make_the_same_database_again(
    filled: str, tmp_path: Path, documents: list[bytes], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "all.jsonl"
    assert call("export", str(path), "--format", "documents", "--db", filled) == 0
    assert path.read_bytes() == b"".join(documents)
    capfdbinary.readouterr()
    assert call("export", "-", "--format", "documents", "--db", filled) == 0
    assert capfdbinary.readouterr().out == b"".join(documents)
    assert call("ingest", str(path), "--db", str(tmp_path / "again.sqlite")) == 0
    again = open_database(str(tmp_path / "again.sqlite"))
    assert len(queries.run_ids(again)) == RUNS


def test_the_sqlite_file_has_all_tables_and_views_and_no_raw_samples(filled: str, tmp_path: Path) -> None:
    path = tmp_path / "copy.sqlite"
    assert call("export", str(path), "--db", filled) == 0
    plain = sqlite3.connect(path)
    assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert plain.execute("SELECT count(*) FROM rounds").fetchone() == (0,)
    assert plain.execute("SELECT count(*) FROM cases WHERE sustained_block_ns IS NOT NULL").fetchone() == (0,)
    engine = open_database(filled)
    for table in ("results", "summary", "cells", "coverage", "everything", "machines"):
        with engine.connect() as connection:
            count = connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608
        assert plain.execute(f"SELECT count(*) FROM {table}").fetchone() == (count,)  # noqa: S608
    plain.close()
    engine.dispose()
    copy = open_database(str(path))
    assert summary.refresh(copy) == 0  # nothing is left to do in it
    copy.dispose()


def test_parquet_has_one_partition_a_chip_and_the_same_rows(filled: str, tmp_path: Path) -> None:
    from pyarrow import dataset  # noqa: PLC0415 - slow to load

    folder = tmp_path / "r.parquet"
    assert call("export", str(folder), "--db", filled) == 0
    table = dataset.dataset(folder, partitioning="hive").to_table()
    engine = open_database(filled)
    with engine.connect() as connection:
        found = connection.execute(sa.text("SELECT chip, count(*), sum(median_s) FROM results GROUP BY chip")).all()
    engine.dispose()
    assert table.num_rows == CASES
    sums: dict[str, list[float]] = {}
    for row in table.to_pylist():
        sums.setdefault(row["chip"], []).append(row["median_s"] or 0.0)
    assert {chip: (len(values), pytest.approx(sum(values))) for chip, values in sums.items()} == {
        chip: (count, total) for chip, count, total in found
    }
    assert str(table.schema.field("ranked").type) == "bool"


def test_the_name_of_a_chip_is_never_a_path(engine: sa.Engine, tmp_path: Path, documents: list[bytes]) -> None:
    from pyarrow import dataset  # noqa: PLC0415 - slow to load

    ingest(engine, [("x", documents[0])])
    evil = ("../../evil", "/etc/passwd", "a\\b:c*?", "\N{GREEK SMALL LETTER MU}" * 100, "")
    with engine.begin() as connection:
        numbers = connection.scalars(sa.text("SELECT id FROM cases")).all()
        for name, number in zip(evil, numbers, strict=False):
            connection.execute(
                sa.text("UPDATE cases SET device_chip = :name WHERE id = :number"), {"name": name, "number": number}
            )
    write_parquet(engine, "results", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} >= {"out"}
    assert not (tmp_path.parent / "evil").exists()
    names = {row["chip"] for row in dataset.dataset(tmp_path / "out", partitioning="hive").to_table().to_pylist()}
    assert {"../../evil", "/etc/passwd", "a\\b:c*?"} <= names


def test_what_is_there_stays_unless_it_may_be_replaced(filled: str, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("mine")
    assert call("export", str(path), "--db", filled) == UsageProblem.exit_code
    assert path.read_text() == "mine"
    assert call("export", str(path), "--table", "nothing", "--force", "--db", filled) == UsageProblem.exit_code
    assert path.read_text() == "mine"
    assert call("export", str(path), "--force", "--db", filled) == 0
    assert path.read_text(encoding="utf-8").startswith("run_id,")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".export")] == []


@pytest.mark.parametrize("form", ["csv", "parquet", "sqlite"])
def test_a_folder_of_a_persons_own_is_never_replaced(database: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "mine" / "deep" / "work.txt").write_text("a year of work")
    assert call("export", str(tmp_path / "mine"), "--format", form, "--force", "--db", str(database)) == 2
    assert (tmp_path / "mine" / "deep" / "work.txt").read_text() == "a year of work"


def test_a_database_in_use_is_never_replaced(database: Path, tmp_path: Path) -> None:
    other = open_database(str(tmp_path / "other.sqlite"))
    with other.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
        assert call("export", str(tmp_path / "other.sqlite"), "--force", "--db", str(database)) == 2
    other.dispose()


@pytest.mark.parametrize("words", [("x.txt",), ("-", "--format", "parquet"), ("-", "--format", "sqlite")])
def test_what_cannot_be_written_is_said(database: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    place = words[0] if words[0] == "-" else str(tmp_path / words[0])
    assert call("export", place, *words[1:], "--db", str(database)) == UsageProblem.exit_code
    assert list(tmp_path.glob("x*")) == []


def test_a_database_is_never_replaced_by_its_own_copy(database: Path, tmp_path: Path) -> None:
    before = database.read_bytes()
    (tmp_path / "link.sqlite").symlink_to(database)
    for name in (database, tmp_path / "link.sqlite", tmp_path / "." / database.name):
        assert call("export", str(name), "--force", "--db", str(database)) == UsageProblem.exit_code
    assert database.read_bytes() == before


def test_without_pyarrow_the_way_to_get_it_is_said(
    engine: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingPart, match="metalmark\\[parquet\\]"):
        write_parquet(engine, "results", tmp_path / "out")


def test_rows_come_in_batches(engine: sa.Engine) -> None:
    sizes = [len(batch) for _, batch in rows(engine, "published")]
    assert sizes == [2000, 2000, 761]


def test_datasette_opens_the_file_with_meanings_and_questions(
    engine: sa.Engine, tmp_path: Path, documents: list[bytes]
) -> None:
    ingest(engine, [(str(number), one) for number, one in enumerate(documents)])
    address = str(engine.url.database)
    folder = tmp_path / "out"
    assert call("export", str(folder / "metalmark.sqlite"), "--db", address) == 0
    assert call("export", str(folder / "metalmark.json"), "--format", "datasette", "--db", address) == 0

    def get(path: str) -> str:
        words = ["metalmark.sqlite", "-m", "metalmark.json", "--get", path]
        command = [sys.executable, "-W", "ignore", "-m", "datasette", *words]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

    page = get("/metalmark/results")
    assert "Measured cases, one flat row each" in page
    assert "Centre of the samples, of one iteration (s)" in page
    assert "Which chip is the fastest at training ResNet-50?" in get("/metalmark")
    answer = json.loads(get("/metalmark/fastest-resnet50-training.json?_shape=array"))
    assert answer
    assert set(answer[0]) >= {"chip", "images_per_s"}
