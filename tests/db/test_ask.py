"""Read-only SQL: everything can be read, nothing can be changed."""

import os
import signal
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import queries
from metalmark_db.ask import ask
from metalmark_db.errors import QueryProblem


def test_a_question_gets_columns_and_rows(engine: sa.Engine) -> None:
    answer = ask(engine, "SELECT chip, count(*) AS n FROM published GROUP BY chip ORDER BY n DESC LIMIT 1")
    assert answer.columns == ("chip", "n")
    assert answer.rows == (("Apple M4 Pro", 533),)


def test_percent_signs_and_colons_are_plain_text(engine: sa.Engine) -> None:
    assert ask(engine, "SELECT '50 %s :x' AS t, 7 % 4 AS m").rows == (("50 %s :x", 3),)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM published",
        "UPDATE published SET value = 1",
        "INSERT INTO loaded VALUES ('x', 'y')",
        "DROP TABLE published",
        "DROP VIEW results",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "ATTACH '{tmp}/other.sqlite' AS other",
        "VACUUM INTO '{tmp}/copy.sqlite'",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA query_only=OFF",
        "PRAGMA writable_schema=ON",
        "SELECT load_extension('x')",
        "COMMIT",
        "WITH x AS (SELECT 1) DELETE FROM published",
        "SELECT 1; DELETE FROM published",
    ],
)
def test_nothing_can_be_changed(engine: sa.Engine, tmp_path: Path, sql: str) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(QueryProblem):
        ask(engine, sql.replace("{tmp}", str(tmp_path)))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert len(queries.published(engine)) == 4761


def test_after_a_question_the_engine_can_write_again(engine: sa.Engine) -> None:
    ask(engine, "SELECT 1")
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO loaded VALUES ('x', 'y')")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FROM nowhere", "results"),
        ("SELEKT 1", "did not take the query"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("", "gives no rows"),
        ("-- nothing", "gives no rows"),
        ("DELETE FROM published", "never changes anything"),
    ],
)
def test_a_bad_question_gets_an_answer_that_helps(engine: sa.Engine, sql: str, says: str) -> None:
    with pytest.raises(QueryProblem, match=says):
        ask(engine, sql)


def test_one_can_look_up_what_there_is(engine: sa.Engine) -> None:
    names = {row[0] for row in ask(engine, "SELECT name FROM sqlite_master").rows}
    assert {"results", "published", "runs", "cases", "machines"} <= names
    assert ask(engine, "PRAGMA table_info(results)").rows


def test_a_question_that_never_ends_is_ended_by_ctrl_c(engine: sa.Engine) -> None:
    """SIGINT comes while SQLite counts for ever; the question ends, and the engine answers the next one."""
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    press = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    with pytest.raises(KeyboardInterrupt):
        ask(engine, endless)
    press.join()
    assert ask(engine, "SELECT 1").rows == ((1,),)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
        "SELECT count(*) FROM published a, published b, published c",
    ],
)
def test_a_question_that_never_ends_is_ended_by_its_limit(engine: sa.Engine, sql: str) -> None:
    with pytest.raises(QueryProblem, match=r"stopped after 0.3 seconds.*--timeout"):
        ask(engine, sql, 0.3)
    assert ask(engine, "SELECT 1").rows == ((1,),)


@pytest.mark.parametrize(
    "sql", ["SELECT randomblob(1000000000)", "SELECT hex(zeroblob(60000000))", "SELECT zeroblob(100000000)"]
)
def test_a_value_that_fills_the_memory_is_refused(engine: sa.Engine, sql: str) -> None:
    with pytest.raises(QueryProblem, match="more than 64 MB"):
        ask(engine, sql)
    assert ask(engine, "SELECT length(zeroblob(1000000))").rows == ((1_000_000,),)
