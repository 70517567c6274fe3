"""Read-only SQL on PostgreSQL: as a role that only reads, in time, one statement, and nothing lifts that."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import queries
from metalmark_db.ask import ask
from metalmark_db.cli import main
from metalmark_db.engine import open_database
from metalmark_db.errors import QueryProblem

ROLE = "metalmark_reader"


@pytest.fixture
def reader(postgres: str) -> Iterator[sa.Engine]:
    """An engine of a role that may read all data of its database, and write what it owns."""
    owner = sa.create_engine(postgres)
    with owner.begin() as connection:
        if not connection.scalar(sa.text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": ROLE}):
            connection.execute(sa.text(f"CREATE ROLE {ROLE} LOGIN"))
        connection.execute(sa.text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ROLE}"))
        connection.execute(sa.text(f"GRANT CREATE ON SCHEMA public TO {ROLE}"))
    owner.dispose()
    address = sa.make_url(postgres).set(username=ROLE).render_as_string(hide_password=False)
    engine = open_database(address)
    yield engine
    engine.dispose()


def test_a_question_is_answered(reader: sa.Engine) -> None:
    answer = ask(reader, "SELECT chip, count(*) AS n FROM published GROUP BY chip ORDER BY n DESC LIMIT 1")
    assert (answer.columns, answer.rows) == (("chip", "n"), (("Apple M4 Pro", 533),))
    assert ask(reader, "SELECT '50 %s :x' AS t, 7 % 4 AS m").rows == (("50 %s :x", 3),)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM published",
        "WITH x AS (DELETE FROM published RETURNING 1) SELECT * FROM x",
        "CREATE TABLE t (a int)",
        "SELECT 1 INTO t",
        "SELECT 1; DELETE FROM published",
        "SET TRANSACTION READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM published; END $$",
        "DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM published; END $$",
        "DO $$ BEGIN COMMIT; DELETE FROM published; END $$",
        "COMMIT",
        "ROLLBACK",
        "COPY published TO '/tmp/metalmark-copied'",
        "COPY published TO PROGRAM 'touch /tmp/metalmark-copied'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
    ],
)
def test_nothing_can_be_changed_and_no_file_read(reader: sa.Engine, sql: str) -> None:
    with pytest.raises(QueryProblem):
        ask(reader, sql)
    assert len(queries.published(reader)) == 4761
    assert not Path("/tmp/metalmark-copied").exists()  # noqa: S108 - the server's name for it
    with reader.begin() as connection:  # what comes after is no longer bound to read
        connection.exec_driver_sql("INSERT INTO loaded VALUES ('x', 'y')")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_sleep(60)",
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(60)",
        "DO $$ BEGIN PERFORM set_config('statement_timeout', '0', false); PERFORM pg_sleep(60); END $$",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c",
    ],
)
def test_a_question_ends_in_time(reader: sa.Engine, sql: str) -> None:
    began = time.monotonic()
    with pytest.raises(QueryProblem, match=r"stopped after 0\.3 seconds"):
        ask(reader, sql, 0.3)
    assert time.monotonic() - began < 20
    assert ask(reader, "SELECT 1").rows == ((1,),)


def test_a_superuser_is_refused_unless_told(postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["query", "SELECT pg_read_file('/etc/hostname')", "--db", postgres])
    assert ended.value.code == QueryProblem.exit_code
    assert "CREATE ROLE reader" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["query", "SELECT count(*) AS n FROM published", "--as-superuser", "--json", "--db", postgres])
    assert ended.value.code == 0
    assert '"n": 4761' in capsys.readouterr().out


def test_a_role_that_may_read_files_counts_as_one(postgres: str) -> None:
    owner = sa.create_engine(postgres)
    with owner.begin() as connection:
        connection.execute(sa.text("DROP ROLE IF EXISTS metalmark_files"))
        connection.execute(sa.text("CREATE ROLE metalmark_files LOGIN IN ROLE pg_read_server_files, pg_read_all_data"))
    address = sa.make_url(postgres).set(username="metalmark_files").render_as_string(hide_password=False)
    engine = open_database(address)
    with pytest.raises(QueryProblem, match="pg_read_server_files"):
        ask(engine, "SELECT 1")
    engine.dispose()
    with owner.begin() as connection:
        connection.execute(sa.text("DROP ROLE metalmark_files"))
    owner.dispose()


def test_types_of_its_own_come_out_as_text(reader: sa.Engine, capsys: pytest.CaptureFixture[str]) -> None:
    address = reader.url.render_as_string(hide_password=False)
    sql = "SELECT 1.50::numeric AS n, DATE '2026-11-30' AS d, '[1]'::json AS j, 'NaN'::float8 AS f"
    for form in ("--json", "--csv"):
        with pytest.raises(SystemExit) as ended:
            main(["query", sql, form, "--db", address])
        assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "1.50" in out
    assert "2026-11-30" in out
