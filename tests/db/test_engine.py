"""Opening a database: created, migrated, refused."""

import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from metalmark_db import migrate, published, queries, store, views
from metalmark_db.columns import flat
from metalmark_db.data import data
from metalmark_db.engine import database_url, load_published, open_database
from metalmark_db.errors import DatabaseProblem, DataProblem
from metalmark_db.identity import fields_digest
from metalmark_db.load import load_cases
from metalmark_db.locks import Work, alone
from metalmark_db.models import Base, LoadedRecord
from metalmark_db.record import RunHead, Workload


def test_an_empty_place_becomes_a_database_with_the_published_figures(tmp_path: Path) -> None:
    engine = open_database(str(tmp_path / "new" / "folder" / "m.sqlite"))
    assert len(queries.published(engine)) == 4761
    assert len(queries.sources(engine)) == 32
    assert queries.runs(engine) == []
    assert migrate.current(engine) == migrate.newest()


def differences(connection: sa.Connection) -> list[Any]:
    """Where the tables are not those of the models."""
    found = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    return [one for one in found if one[0][0] != "modify_comment"]  # texts for people, of the day they were made


def test_the_migrations_build_exactly_the_tables_of_the_models(any_engine: sa.Engine) -> None:
    with any_engine.connect() as connection:
        assert differences(connection) == []


def test_foreign_keys_are_enforced_and_the_journal_is_a_wal(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO rounds (case_id, number, iterations, block_ns) VALUES (99, 0, 1, '[1]')"
        )


REVISIONS = [script.revision for script in ScriptDirectory.from_config(migrate.config()).walk_revisions()][::-1]


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_an_older_database_is_migrated_and_keeps_its_runs(empty_address: str, revision: str) -> None:
    old = sa.create_engine(empty_address)
    migrate.to_newest(old, "old", revision)
    with old.begin() as connection:
        for statement in _AN_OLD_RUN:
            connection.exec_driver_sql(statement)
    old.dispose()
    engine = open_database(empty_address)
    assert migrate.current(engine) == migrate.newest()
    assert [(run.chip, run.cases) for run in queries.runs(engine)] == [("Apple M1", 1)]
    assert [(row.outcome, row.median_s, row.items_per_s) for row in queries.results(engine)] == [("ok", 0.5, 16.0)]
    assert load_cases(engine, 1)[0].rounds[0].block_ns == (500_000_000,)
    assert len(queries.published(engine)) == 4761
    with engine.connect() as connection:
        assert set(sa.inspect(connection).get_view_names()) == set(views.ALL)
        assert differences(connection) == []
        if connection.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    engine.dispose()


def test_a_migrated_database_takes_new_runs(empty_address: str, head: RunHead, workload: Workload) -> None:
    """Numbers go on where those of old rows ended, on either engine."""
    old = sa.create_engine(empty_address)
    migrate.to_newest(old, "old", REVISIONS[0])
    with old.begin() as connection:
        for statement in _AN_OLD_RUN:
            connection.exec_driver_sql(statement)
    old.dispose()
    engine = open_database(empty_address)
    assert store.begin_run(engine, head, [workload]) == 2
    assert [run.run_id for run in queries.runs(engine)] == [2, 1]
    engine.dispose()


_AN_OLD_RUN = (
    "INSERT INTO machines (digest, chip) VALUES ('m', 'Apple M1')",
    "INSERT INTO software (digest, environment) VALUES ('s', '{}')",
    "INSERT INTO conditions (power_source) VALUES (NULL)",
    (
        "INSERT INTO runs (machine_id, software_id, conditions_before_id, finished, started_at, effort, seed) "
        "VALUES (1, 1, 1, TRUE, '2026-01-01T00:00:00+00:00', 'quick', 3)"
    ),
    (
        "INSERT INTO workloads (id, version, title, source, task, batch, input_shape, item, items_per_iteration, "
        "description) VALUES ('toy-infer', 1, 'Toy', 'metalmark', 'inference', 8, '3x8x8', 'image', 8, '')"
    ),
    (
        "INSERT INTO cases (run_id, workload, version, device, precision, mode, outcome, median_s, samples, "
        "fallback_ops, flags) VALUES (1, 'toy-infer', 1, 'cpu', 'fp32', 'eager', 'ok', 0.5, 1, '[]', '[]')"
    ),
    "INSERT INTO rounds (case_id, number, iterations, block_ns) VALUES (1, 0, 1, '[500000000]')",
)


def test_a_migration_names_the_families_of_the_workloads_that_were_measured_before(empty_address: str) -> None:
    old = sa.create_engine(empty_address)
    migrate.to_newest(old, "old", "0005")
    names = ("resnet50-train-b8", "bert-base-infer-t128-b4", "matmul-2048", "copy-bandwidth", "toy-infer")
    with old.begin() as connection:
        for name in names:
            statement = sa.text(
                "INSERT INTO workloads (id, version, title, source, task, batch, input_shape, item, "
                "items_per_iteration, description) VALUES (:name, 1, 'Title', 'x', 'train', 8, '3', 'image', 8, '')"
            )
            connection.execute(statement, {"name": name})
    old.dispose()
    engine = open_database(empty_address)
    found = {row.id: (row.family, row.variant) for row in queries.workloads(engine)}
    engine.dispose()
    assert [found[name] for name in names] == [
        ("resnet50-train", "batch 8"),
        ("bert-base-infer", "128 tokens, batch 4"),
        ("matmul", "2048 x 2048"),
        ("copy-bandwidth", None),
        (None, None),
    ]


def test_a_migration_that_fails_half_way_leaves_the_old_database(empty_address: str) -> None:
    old = sa.create_engine(empty_address)
    migrate.to_newest(old, "old", "0001")
    with old.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sources (id INTEGER)")  # in the way of revision 0002
    before = sorted(sa.inspect(old).get_table_names())
    with pytest.raises(DatabaseProblem, match="Nothing in it was changed"):
        open_database(empty_address)
    assert migrate.current(old) == "0001"
    assert sorted(sa.inspect(old).get_table_names()) == before
    assert sa.inspect(old).get_view_names() == []
    old.dispose()


def test_a_database_of_a_newer_metalmark_is_refused_untouched(any_engine: sa.Engine, any_address: str) -> None:
    with any_engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.exec_driver_sql("DELETE FROM loaded")  # what an opening would fill again
    with pytest.raises(DatabaseProblem, match="newer Metalmark"):
        open_database(any_address)
    with any_engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM loaded").scalar() == 0


def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list\n" * 100)
    with pytest.raises(DatabaseProblem, match="METALMARK_DB"):
        open_database(str(path))
    assert path.read_text().startswith("shopping list")


def test_somebody_elses_database_is_refused_and_keeps_its_tables_only(tmp_path: Path) -> None:
    path = tmp_path / "photos.sqlite"
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE photos (id INTEGER)")
    plain.close()
    with pytest.raises(DatabaseProblem, match="photos"):
        open_database(str(path))
    plain = sqlite3.connect(path)
    assert plain.execute("SELECT name FROM sqlite_master").fetchall() == [("photos",)]
    assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)  # not even its journal was touched
    plain.close()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "mysql://x@y/z",
        "mysql://u:p@localhost:abc/x",
        "://",
        "nonsense://",
        "file:/tmp/x?mode=ro",
        "sqlite:////tmp/x?mode=ro",
        "sqlite://host/x.db",
        "sqlite+aiosqlite:///x",
    ],
)
def test_an_address_that_cannot_be_used_is_a_clear_error(address: str) -> None:
    with pytest.raises(DatabaseProblem):
        database_url(address)


def test_the_database_is_named_by_option_then_environment_then_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("METALMARK_DB", "sqlite:///from-environment.sqlite")
    assert database_url("given.sqlite").database == "given.sqlite"
    assert database_url().database == "from-environment.sqlite"
    monkeypatch.delenv("METALMARK_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert str(database_url().database).endswith("metalmark/metalmark.sqlite")


def test_several_processes_may_create_the_same_database_at_once(empty_address: str) -> None:
    code = f"from metalmark_db.engine import open_database; open_database({empty_address!r}).dispose()"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    engine = open_database(empty_address)
    assert len(queries.published(engine)) == 4761
    engine.dispose()


def test_whoever_waited_for_another_programs_work_does_not_do_it_again(postgres: str) -> None:
    """One program holds the lock and does the work; the other one, that asked for it too, finds it done."""
    engine, other = open_database(postgres), sa.create_engine(postgres)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM loaded WHERE name = 'published'")
    wrote: list[bool] = []
    waiting = threading.Thread(target=lambda: wrote.append(load_published(engine)))
    edition = published.digest(data("published"))
    with other.begin() as connection:
        alone(connection, Work.PUBLISHED)
        waiting.start()
        asked = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        with engine.connect() as looking:
            while not looking.scalar(asked):
                time.sleep(0.01)
        connection.execute(sa.insert(LoadedRecord), {"name": "published", "digest": edition})
    waiting.join()
    assert wrote == [False]
    engine.dispose()
    other.dispose()


def test_malformed_figures_are_refused_and_the_database_keeps_the_good_ones(engine: sa.Engine, tmp_path: Path) -> None:
    for file in data("published").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with (tmp_path / "results.csv").open("a") as results:
        results.write("only,three,fields\n")
    with pytest.raises(DataProblem, match=r"results\.csv, line 4763"):
        load_published(engine, tmp_path)
    assert len(queries.published(engine)) == 4761


def test_reloading_the_same_figures_writes_nothing(engine: sa.Engine) -> None:
    assert load_published(engine) is False


def test_digests_of_machines_and_software_are_made_anew_without_what_is_unknown(
    empty_address: str, head: RunHead
) -> None:
    """A run of today finds the rows of the database that an older Metalmark wrote."""
    old = sa.create_engine(empty_address)
    migrate.to_newest(old, "old", "0007")
    with old.begin() as connection:
        for table, value in (("machines", head.machine), ("software", head.software)):
            row = flat(value)
            names = ", ".join(row)
            texts = [
                msgspec.json.encode(one).decode() if isinstance(one, list | tuple | dict) else one
                for one in row.values()
            ]
            marks = ", ".join(f":{name}" for name in row)
            for digest in ("old", "older"):  # told apart by what one of them could not know
                statement = f"INSERT INTO {table} (digest, {names}) VALUES ('{digest}', {marks})"  # noqa: S608
                connection.execute(sa.text(statement), dict(zip(row, texts, strict=True)))
    old.dispose()
    engine = open_database(empty_address)
    with engine.connect() as connection:
        for table, value in (("machines", head.machine), ("software", head.software)):
            digests = connection.exec_driver_sql(f"SELECT digest FROM {table} ORDER BY id").scalars().all()  # noqa: S608
            assert digests == [fields_digest(value), "older"]
        assert connection.exec_driver_sql("SELECT DISTINCT torch_minor, os_major FROM software").all() == [
            ("2.14", "macOS 26")
        ]
        assert connection.exec_driver_sql("SELECT DISTINCT bin FROM machines").all() == [("10-core CPU, 10-core GPU",)]
    engine.dispose()
