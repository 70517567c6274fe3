"""Read-only SQL on PostgreSQL: as a role that only reads, in time, one statement, and nothing lifts that."""

import contextlib
import json
import re
import threading
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


@pytest.fixture
def reader(reader_address: str) -> Iterator[sa.Engine]:
    """An engine of a role that may write the rows of its database, and is no superuser."""
    engine = open_database(reader_address)
    yield engine
    engine.dispose()


@pytest.fixture
def owner(postgres: str) -> Iterator[sa.Engine]:
    """An engine of the superuser; the roles of the name metalmark_test... that it makes are gone afterwards."""
    engine = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")
    yield engine
    with engine.connect() as connection:
        for role in connection.scalars(sa.text("SELECT rolname FROM pg_roles WHERE rolname LIKE 'metalmark_test%'")):
            connection.exec_driver_sql(f"DROP OWNED BY {role}")
            connection.exec_driver_sql(f"DROP ROLE {role}")
    engine.dispose()


def as_role(owner: sa.Engine, role: str, **query: str) -> str:
    return owner.url.set(username=role).update_query_dict(query).render_as_string(hide_password=False)


ATTACKS = (
    "WITH x AS (DELETE FROM published RETURNING 1) SELECT * FROM x",
    "DELETE FROM published RETURNING id",
    "EXPLAIN ANALYZE DELETE FROM published",
    "SELECT * FROM published FOR UPDATE",
    "SELECT nextval('runs_id_seq')",
    "SELECT setval('runs_id_seq', 1000)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT 1 INTO t",
    "CREATE TABLE t AS SELECT 1",
    "TRUNCATE published",
    "ALTER ROLE metalmark_reader SET default_transaction_read_only = off",
    "SET TRANSACTION READ WRITE",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SET transaction_read_only = off",
    "RESET transaction_read_only",
    "RESET ALL",
    "DISCARD ALL",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    (
        "WITH s AS MATERIALIZED (SELECT set_config('transaction_read_only', 'off', true)), "
        "d AS (DELETE FROM published RETURNING 1) SELECT * FROM s, d"
    ),
    "DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM published; END $$",
    "DO $$ BEGIN PERFORM set_config('transaction_read_only', 'off', false); DELETE FROM published; END $$",
    "DO $$ BEGIN COMMIT; DELETE FROM published; END $$",
    "ROLLBACK",
    "ROLLBACK; DELETE FROM published",
    "SELECT 1; SET TRANSACTION READ WRITE; DELETE FROM published",
    "PREPARE x AS DELETE FROM published",
    "COPY published TO '/tmp/metalmark-copied'",
    "COPY published TO PROGRAM 'touch /tmp/metalmark-copied'",
    "COPY published TO STDOUT",
    "COPY loaded FROM STDIN",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM ts_stat('select to_tsvector(pg_read_file(''/etc/passwd''))')",
    "SELECT * FROM ts_stat('delete from published returning to_tsvector(chip)')",
    "SELECT set_config('role', 'postgres', false)",
    "CALL nowhere()",
)


def test_nothing_can_be_changed_and_no_file_read(reader: sa.Engine) -> None:
    """One after the other on one database: what one of them unlocked, the next one would find."""
    went_through = []
    for sql in ATTACKS:
        with contextlib.suppress(QueryProblem):
            went_through.append((sql, ask(reader, sql)))
        assert ask(reader, "SELECT count(*) FROM published").rows == ((4761,),), sql
        with reader.begin() as connection:  # the engine itself is not bound to read
            connection.exec_driver_sql("INSERT INTO loaded VALUES ('x', 'y')")
            connection.exec_driver_sql("DELETE FROM loaded WHERE name = 'x'")
    assert went_through == []
    assert not Path("/tmp/metalmark-copied").exists()  # noqa: S108 - the server's name for it


def test_a_statement_without_rows_does_not_even_run(reader: sa.Engine) -> None:
    """A block of code could do a thousand things; asked for, it does none."""
    began = time.monotonic()
    with pytest.raises(QueryProblem, match="gives no rows"):
        ask(reader, "DO $$ BEGIN PERFORM pg_sleep(60); END $$")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_sleep(60)",
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(60)",
        "SELECT set_config('statement_timeout', '0', true), x FROM generate_series(1, 3) x, pg_sleep(60)",
        "SELECT * FROM ts_stat('select to_tsvector(set_config(''statement_timeout'', ''0'', false)), pg_sleep(60)')",
        "SELECT x, pg_sleep(0.1) FROM generate_series(1, 600) x",
    ],
)
def test_a_question_ends_in_time_whatever_it_says_of_time(reader: sa.Engine, sql: str) -> None:
    began = time.monotonic()
    with pytest.raises(QueryProblem):
        ask(reader, sql, 0.3)
    assert time.monotonic() - began < 20
    assert ask(reader, "SELECT 1").rows == ((1,),)


def test_what_a_question_does_to_its_session_ends_with_it(reader: sa.Engine, owner: sa.Engine) -> None:
    ask(reader, "SELECT pg_advisory_lock(7), set_config('search_path', 'nowhere', false)")
    with owner.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")) == 0
    assert ask(reader, "SELECT count(*) FROM published").rows == ((4761,),)


def test_a_question_waits_for_no_lock_longer_than_its_limit(reader: sa.Engine, owner: sa.Engine) -> None:
    holding = owner.execution_options(isolation_level="READ COMMITTED")
    with holding.begin() as connection:
        connection.exec_driver_sql("LOCK TABLE published IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(QueryProblem, match=r"stopped after 0\.3 seconds"):
            ask(reader, "SELECT * FROM published", 0.3)


def test_an_answer_that_is_not_read_to_its_end_ends_its_work_on_the_server(
    reader: sa.Engine, owner: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metalmark_db.ask._MOST_BYTES", 2**20)
    sql = "SELECT a.id, b.id FROM published a, published b"
    with pytest.raises(QueryProblem, match="more than 1 MB"):
        ask(reader, sql)
    busy = sa.text("SELECT count(*) FROM pg_stat_activity WHERE query = :sql AND state = 'active'")
    with owner.connect() as connection:
        assert connection.scalar(busy, {"sql": sql}) == 0


def test_a_superuser_is_refused_unless_told(postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["query", "SELECT pg_read_file('/etc/hostname')", "--db", postgres])
    assert ended.value.code == QueryProblem.exit_code
    assert "CREATE ROLE reader" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["query", "SELECT count(*) AS n FROM published", "--as-superuser", "--json", "--db", postgres])
    assert ended.value.code == 0
    assert '"n": 4761' in capsys.readouterr().out


def test_a_superuser_that_was_told_still_only_reads(postgres: str) -> None:
    engine = open_database(postgres)
    for sql in ("DELETE FROM published RETURNING id", "SELECT set_config('transaction_read_only', 'off', false)"):
        with pytest.raises(QueryProblem, match=r"never changes anything|did not take"):
            ask(engine, sql, as_superuser=True)
    assert len(queries.published(engine)) == 4761
    engine.dispose()


@pytest.mark.parametrize(
    ("made", "power"),
    [
        ("CREATE ROLE metalmark_test LOGIN IN ROLE pg_read_server_files", "pg_read_server_files"),
        ("CREATE ROLE metalmark_test LOGIN NOINHERIT IN ROLE pg_execute_server_program", "pg_execute_server_program"),
        ("CREATE ROLE metalmark_test_root SUPERUSER; CREATE ROLE metalmark_test LOGIN IN ROLE metalmark_test_root", ""),
    ],
)
def test_a_role_that_can_come_by_such_powers_counts_as_one(
    owner: sa.Engine, postgres: str, made: str, power: str
) -> None:
    """Membership is enough: set_config('role', ...) inside a question would take up the rest."""
    with owner.connect() as connection:
        for statement in made.split("; "):
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO metalmark_test")
    engine = open_database(as_role(owner, "metalmark_test"))
    with pytest.raises(QueryProblem, match=power or "metalmark_test_root"):
        ask(engine, "SELECT 1")
    engine.dispose()


def test_a_superuser_in_the_role_of_a_reader_counts_as_one(owner: sa.Engine) -> None:
    """RESET ROLE would bring the powers back."""
    with owner.connect() as connection:
        connection.exec_driver_sql("CREATE ROLE metalmark_test LOGIN IN ROLE pg_read_all_data")
    address = as_role(owner, str(owner.url.username), options="-c role=metalmark_test")
    engine = open_database(address)
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT current_user")) == "metalmark_test"
    with pytest.raises(QueryProblem, match="powers of"):
        ask(engine, "SELECT 1")
    engine.dispose()


def test_the_role_that_the_error_tells_to_make_can_ask(
    owner: sa.Engine, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["query", "SELECT 1", "--db", postgres])
    advice = re.findall(r"(?:CREATE ROLE|GRANT)[^;]*;", capsys.readouterr().err)
    assert len(advice) == 2
    with owner.connect() as connection:
        for statement in advice:
            connection.exec_driver_sql(re.sub(r"\breader\b", "metalmark_test", statement))
    for command in (["query", "SELECT count(*) FROM results"], ["show"], ["standing"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--db", as_role(owner, "metalmark_test")])
        said = capsys.readouterr()
        assert ended.value.code in (0, 2), said.err  # 2: no run is there to be shown
        assert "permission" not in said.err


def test_types_of_its_own_come_out_as_sqlite_would_have_them(
    reader_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = (
        "SELECT 1.50 AS n, 12345678901234567890 AS big, -7::numeric AS m, 'NaN'::numeric AS nan, DATE '2026-11-30' "
        "AS d, 'infinity'::timestamp AS never, '[1, \"a\"]'::json AS j, '{\"k\": null}'::jsonb AS b, ARRAY[1, NULL] "
        "AS a, true AS t, '\\xff00'::bytea AS x, 'Infinity'::float8 AS f, interval '1 day' AS i"
    )
    printed = {}
    for form in ("--json", "--csv"):
        with pytest.raises(SystemExit) as ended:
            main(["query", sql, form, "--db", reader_address])
        assert ended.value.code == 0
        printed[form] = capsys.readouterr().out
    assert json.loads(printed["--json"]) == [
        {
            "n": 1.5,
            "big": 12345678901234567890,
            "m": -7,
            "nan": "nan",
            "d": "2026-11-30",
            "never": "infinity",
            "j": '[1, "a"]',
            "b": '{"k": null}',
            "a": "{1,NULL}",
            "t": 1,
            "x": "ff00",
            "f": "inf",
            "i": "1 day",
        }
    ]
    assert printed["--csv"].splitlines() == [
        "n,big,m,nan,d,never,j,b,a,t,x,f,i",
        '1.5,12345678901234567890,-7,nan,2026-11-30,infinity,"[1, ""a""]","{""k"": null}","{1,NULL}",1,ff00,inf,1 day',
    ]


def test_questions_at_once_do_not_stop_each_other(reader: sa.Engine) -> None:
    failed: list[QueryProblem] = []
    answers: list[int] = []

    def short() -> None:
        try:
            ask(reader, "SELECT pg_sleep(60)", 0.3)
        except QueryProblem as problem:
            failed.append(problem)

    threads = [threading.Thread(target=short) for _ in range(3)]
    for thread in threads:
        thread.start()
    answers += [ask(reader, "SELECT count(*) FROM published").rows[0][0] for _ in range(5)]
    for thread in threads:
        thread.join()
    assert answers == [4761] * 5
    assert len(failed) == 3
