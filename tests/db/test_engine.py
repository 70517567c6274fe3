"""Opening a database: created, migrated, refused."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from metalmark_db import migrate, queries
from metalmark_db.columns import flat
from metalmark_db.engine import database_url, load_published, open_database
from metalmark_db.errors import DatabaseProblem, DataProblem
from metalmark_db.identity import fields_digest
from metalmark_db.models import Base
from metalmark_db.record import RunHead


def test_an_empty_place_becomes_a_database_with_the_published_figures(tmp_path: Path) -> None:
    engine = open_database(str(tmp_path / "new" / "folder" / "m.sqlite"))
    assert len(queries.published(engine)) == 4761
    assert len(queries.sources(engine)) == 32
    assert queries.runs(engine) == []
    assert migrate.current(engine) == migrate.newest()


def test_the_migrations_build_exactly_the_tables_of_the_models(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_foreign_keys_are_enforced_and_the_journal_is_a_wal(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO rounds (case_id, number, iterations, block_ns) VALUES (99, 0, 1, '[1]')"
        )


@pytest.mark.parametrize("revision", ["0001", "0002", "0003", "0004", "0005", "0006", "0007"])
def test_an_older_database_is_migrated_and_keeps_its_runs(tmp_path: Path, revision: str) -> None:
    path = tmp_path / "old.sqlite"
    old = sa.create_engine(f"sqlite:///{path}")
    migrate.to_newest(old, "old", revision)
    with old.begin() as connection:
        for statement in _AN_OLD_RUN:
            connection.exec_driver_sql(statement)
    old.dispose()
    engine = open_database(str(path))
    assert migrate.current(engine) == migrate.newest()
    assert [(run.chip, run.cases) for run in queries.runs(engine)] == [("Apple M1", 1)]
    assert [(row.outcome, row.median_s, row.items_per_s) for row in queries.results(engine)] == [("ok", 0.5, 16.0)]
    assert len(queries.published(engine)) == 4761


_AN_OLD_RUN = (
    "INSERT INTO machines (id, digest, chip) VALUES (1, 'm', 'Apple M1')",
    "INSERT INTO software (id, digest, environment) VALUES (1, 's', '{}')",
    "INSERT INTO conditions (id) VALUES (1)",
    (
        "INSERT INTO runs (id, machine_id, software_id, conditions_before_id, finished, started_at, effort, seed) "
        "VALUES (1, 1, 1, 1, 1, '2026-01-01T00:00:00+00:00', 'quick', 3)"
    ),
    (
        "INSERT INTO workloads (id, version, title, source, task, batch, input_shape, item, items_per_iteration, "
        "description) VALUES ('toy-infer', 1, 'Toy', 'metalmark', 'inference', 8, '3x8x8', 'image', 8, '')"
    ),
    (
        "INSERT INTO cases (id, run_id, workload, version, device, precision, mode, outcome, median_s, samples, "
        "fallback_ops, flags) VALUES (1, 1, 'toy-infer', 1, 'cpu', 'fp32', 'eager', 'ok', 0.5, 1, '[]', '[]')"
    ),
    "INSERT INTO rounds (case_id, number, iterations, block_ns) VALUES (1, 0, 1, '[500000000]')",
)


def test_a_migration_names_the_families_of_the_workloads_that_were_measured_before(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = sa.create_engine(f"sqlite:///{path}")
    migrate.to_newest(old, "old", "0005")
    names = ("resnet50-train-b8", "bert-base-infer-t128-b4", "matmul-2048", "copy-bandwidth", "toy-infer")
    with old.begin() as connection:
        for name in names:
            connection.exec_driver_sql(
                "INSERT INTO workloads (id, version, title, source, task, batch, input_shape, item, "
                "items_per_iteration, description) VALUES (?, 1, 'Title', 'x', 'train', 8, '3', 'image', 8, '')",
                (name,),
            )
    old.dispose()
    found = {row.id: (row.family, row.variant) for row in queries.workloads(open_database(str(path)))}
    assert [found[name] for name in names] == [
        ("resnet50-train", "batch 8"),
        ("bert-base-infer", "128 tokens, batch 4"),
        ("matmul", "2048 x 2048"),
        ("copy-bandwidth", None),
        (None, None),
    ]


def test_a_migration_that_fails_half_way_leaves_the_old_database(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = sa.create_engine(f"sqlite:///{path}")
    migrate.to_newest(old, "old", "0001")
    with old.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sources (id INTEGER)")  # in the way of revision 0002
    old.dispose()
    with pytest.raises(DatabaseProblem):
        open_database(str(path))
    plain = sqlite3.connect(path)
    assert plain.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
    assert plain.execute("SELECT count(*) FROM sqlite_master WHERE name = 'chips'").fetchone() == (0,)
    plain.close()


def test_a_database_of_a_newer_metalmark_is_refused_untouched(database: Path) -> None:
    plain = sqlite3.connect(database)
    plain.execute("UPDATE alembic_version SET version_num = '9999'")
    plain.commit()
    plain.close()
    with pytest.raises(DatabaseProblem, match="newer Metalmark"):
        open_database(str(database))


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


def test_two_processes_may_create_the_same_database_at_once(tmp_path: Path) -> None:
    code = f"from metalmark_db.engine import open_database; open_database({str(tmp_path / 'm.sqlite')!r})"
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert len(queries.published(open_database(str(tmp_path / "m.sqlite")))) == 4761


def test_malformed_figures_are_refused_and_the_database_keeps_the_good_ones(engine: sa.Engine, tmp_path: Path) -> None:
    from metalmark_db.data import data  # noqa: PLC0415 - only this test needs the folder

    for file in data("published").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    with (tmp_path / "results.csv").open("a") as results:
        results.write("only,three,fields\n")
    with pytest.raises(DataProblem, match=r"results\.csv, line 4763"):
        load_published(engine, tmp_path)
    assert len(queries.published(engine)) == 4761


def test_reloading_the_same_figures_writes_nothing(engine: sa.Engine) -> None:
    assert load_published(engine) is False


def test_digests_of_machines_and_software_are_made_anew_without_what_is_unknown(tmp_path: Path, head: RunHead) -> None:
    """A run of today finds the rows of the database that an older Metalmark wrote."""
    path = tmp_path / "old.sqlite"
    old = sa.create_engine(f"sqlite:///{path}")
    migrate.to_newest(old, "old", "0007")
    with old.begin() as connection:
        for table, value in (("machines", head.machine), ("software", head.software)):
            row = flat(value)
            names = ", ".join(row)
            texts = [
                msgspec.json.encode(one).decode() if isinstance(one, list | tuple | dict) else one
                for one in row.values()
            ]
            marks = ", ".join("?" * len(row))
            for digest in ("old", "older"):  # told apart by what one of them could not know
                connection.exec_driver_sql(
                    f"INSERT INTO {table} (digest, {names}) VALUES ('{digest}', {marks})",  # noqa: S608
                    tuple(texts),
                )
    old.dispose()
    engine = open_database(str(path))
    with engine.connect() as connection:
        for table, value in (("machines", head.machine), ("software", head.software)):
            digests = connection.exec_driver_sql(f"SELECT digest FROM {table} ORDER BY id").scalars().all()  # noqa: S608
            assert digests == [fields_digest(value), "older"]
        assert connection.exec_driver_sql("SELECT DISTINCT torch_minor, os_major FROM software").all() == [
            ("2.14", "macOS 26")
        ]
        assert connection.exec_driver_sql("SELECT DISTINCT bin FROM machines").all() == [("10-core CPU, 10-core GPU",)]
    engine.dispose()
