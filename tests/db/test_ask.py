"""Read-only SQL on both engines: everything can be read, nothing changed, and every question ends."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import ask as asking
from metalmark_db import output, queries
from metalmark_db.ask import Answer, ask
from metalmark_db.cli import main
from metalmark_db.engine import open_database
from metalmark_db.errors import QueryProblem, UsageProblem

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT count(*) FROM c"


def test_a_question_gets_columns_and_rows(any_reader: sa.Engine) -> None:
    answer = ask(any_reader, "SELECT chip, count(*) AS n FROM published GROUP BY chip ORDER BY n DESC LIMIT 1")
    assert answer == Answer(("chip", "n"), (("Apple M4 Pro", 533),))
    assert ask(any_reader, "SELECT id, chip FROM published WHERE chip = 'none'") == Answer(("id", "chip"), ())


def test_percent_signs_and_colons_are_plain_text(any_reader: sa.Engine) -> None:
    assert ask(any_reader, "SELECT '50 %s :x' AS t, 7 % 4 AS m").rows == (("50 %s :x", 3),)


CHANGES = (
    "DELETE FROM published",
    "UPDATE published SET value = 1",
    "INSERT INTO loaded VALUES ('x', 'y')",
    "INSERT INTO loaded VALUES ('x', 'y') RETURNING name",
    "DROP TABLE published",
    "DROP VIEW results",
    "CREATE TABLE t (a integer)",
    "CREATE TEMP TABLE t (a integer)",
    "COMMIT",
    "BEGIN",
    "SELECT 1; DELETE FROM published",
    "SELECT 1; COMMIT; DELETE FROM published",
)


def test_nothing_can_be_changed(any_reader: sa.Engine) -> None:
    went_through = []
    for sql in CHANGES:
        with contextlib.suppress(QueryProblem):
            went_through.append((sql, ask(any_reader, sql)))
        assert ask(any_reader, "SELECT count(*) FROM published").rows == ((4761,),), sql
    assert went_through == []


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH '{tmp}/other.sqlite' AS other",
        "ATTACH 'file:{tmp}/metalmark.sqlite?mode=rwc' AS other",
        "DETACH main",
        "VACUUM",
        "VACUUM INTO '{tmp}/copy.sqlite'",
        "REINDEX",
        "ANALYZE",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA query_only=OFF",
        "PRAGMA writable_schema=ON",
        "PRAGMA temp_store_directory='{tmp}'",
        "PRAGMA user_version=7",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "SELECT load_extension('x')",
        "WITH x AS (SELECT 1) DELETE FROM published",
        "SAVEPOINT a",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
    ],
)
def test_nothing_that_only_sqlite_knows_changes_anything(engine: sa.Engine, tmp_path: Path, sql: str) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(QueryProblem):
        ask(engine, sql.replace("{tmp}", str(tmp_path)))
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert len(queries.published(engine)) == 4761


def test_sqlite_itself_would_refuse_to_write_the_file(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second lock holds where the first one has let everything through."""
    monkeypatch.setattr("metalmark_db.ask_sqlite._authorize", lambda *_: 0)
    for statement in ("DELETE FROM published RETURNING id", "INSERT INTO loaded VALUES ('x', 'y') RETURNING name"):
        with pytest.raises(QueryProblem, match="readonly database"):
            ask(engine, statement)
    assert len(queries.published(engine)) == 4761


def test_after_a_question_the_engine_can_write_again(any_reader: sa.Engine) -> None:
    ask(any_reader, "SELECT 1")
    with any_reader.begin() as connection:
        connection.exec_driver_sql("INSERT INTO loaded VALUES ('x', 'y')")
    assert ask(any_reader, "SELECT digest FROM loaded WHERE name = 'x'").rows == (("y",),)


BAD_QUESTIONS = (
    ("SELECT * FROM nowhere", "results"),
    ("SELEKT 1", "did not take the query"),
    ("SELECT 1; SELECT 2", "one statement at a time"),
    ("", "gives no rows"),
    ("-- nothing", "gives no rows"),
    ("DELETE FROM published", "never changes anything"),
    ("SELECT '\udcff'", "did not take the query"),  # what Python makes of a byte that is no UTF-8
)


def test_a_bad_question_gets_an_answer_that_helps(any_reader: sa.Engine) -> None:
    for sql, says in BAD_QUESTIONS:
        with pytest.raises(QueryProblem, match=says):
            ask(any_reader, sql)


def test_one_can_look_up_what_there_is(engine: sa.Engine) -> None:
    names = {row[0] for row in ask(engine, "SELECT name FROM sqlite_master").rows}
    assert {"results", "published", "runs", "cases", "machines"} <= names
    assert ask(engine, "PRAGMA table_info(results)").rows
    assert ask(engine, "SELECT value FROM json_each('[1, 2]')").rows == ((1,), (2,))
    assert ask(engine, "SELECT count(*) FROM json_tree('[1, [2]]')").rows == ((4,),)
    assert ("chip",) in ask(engine, "SELECT name FROM pragma_table_info('results')").rows


def test_a_question_that_never_ends_is_ended_by_ctrl_c(any_reader: sa.Engine) -> None:
    """SIGINT comes while the database counts for ever; the question ends, and the engine answers the next one."""
    press = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    with pytest.raises(KeyboardInterrupt):
        ask(any_reader, ENDLESS)
    press.join()
    assert ask(any_reader, "SELECT 1").rows == ((1,),)


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT count(*) FROM published a, published b, published c"])
def test_a_question_that_never_ends_is_ended_by_its_limit(any_reader: sa.Engine, sql: str) -> None:
    with pytest.raises(QueryProblem, match=r"stopped after 0.3 seconds.*--timeout"):
        ask(any_reader, sql, 0.3)
    assert ask(any_reader, "SELECT 1").rows == ((1,),)


def test_the_limit_is_an_option_of_the_command(any_reader_address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["query", ENDLESS, "--timeout", "0.2", "--db", any_reader_address])
    assert ended.value.code == QueryProblem.exit_code
    assert "stopped after 0.2 seconds" in capsys.readouterr().err


def test_a_limit_beyond_all_measure_is_no_error_and_one_that_is_no_number_is(any_reader: sa.Engine) -> None:
    assert ask(any_reader, "SELECT 1", float("inf")).rows == ((1,),)
    for limit in (float("nan"), 0.0, -1.0):
        with pytest.raises(UsageProblem, match="--timeout"):
            ask(any_reader, "SELECT 1", limit)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT randomblob(1000000000)",
        "SELECT hex(zeroblob(60000000))",
        "SELECT zeroblob(100000000)",
        "SELECT replace(hex(zeroblob(30000000)), '0', 'xx')",
        "SELECT group_concat(zeroblob(1000000)) FROM published",
    ],
)
def test_a_value_that_fills_the_memory_is_refused(engine: sa.Engine, sql: str) -> None:
    with pytest.raises(QueryProblem, match="more than 64 MB"):
        ask(engine, sql)
    assert ask(engine, "SELECT length(zeroblob(1000000))").rows == ((1_000_000,),)


def test_an_answer_without_end_is_refused_before_the_memory_is_full(
    any_reader: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_MOST_BYTES", 20 * 2**20)
    with pytest.raises(QueryProblem, match=r"more than 20 MB.*LIMIT.*metalmark export"):
        ask(any_reader, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c")
    assert len(ask(any_reader, "SELECT id FROM published").rows) == 4761


def test_a_large_answer_is_held_once_while_it_comes(any_reader_address: str) -> None:
    """What a process takes for a hundred megabytes is what they take themselves; a driver's copy would double it."""
    code = """
import resource, sys
from metalmark_db.ask import ask
from metalmark_db.engine import open_database
engine = open_database(sys.argv[1])
text = "'" + "x" * 2000 + "'"
ask(engine, "SELECT id FROM published")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sql = f"SELECT a.id, {text} || b.id AS t FROM published a JOIN published b ON b.id <= 10"
answer = ask(engine, sql)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
held = sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in answer.rows)
print(len(answer.rows), (after - before) * 1024 / held)
"""
    ended = subprocess.run([sys.executable, "-c", code, any_reader_address], capture_output=True, text=True, check=True)
    rows, times = ended.stdout.split()
    assert int(rows) == 10 * 4761
    assert float(times) < 1.2


@pytest.mark.parametrize("form", ["--csv", "--json"])
def test_a_large_answer_is_printed_without_another_copy(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple((number, f"text {number:0100}") for number in range(30_000))
    size = sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in rows)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        monkeypatch.setattr(sys, "stdout", nowhere)
        tracemalloc.start()
        output.show_answer(Answer(("n", "t"), rows), output.choose(as_csv=form == "--csv", as_json=form == "--json"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < size / 20


def test_a_table_shows_the_first_rows_of_a_long_answer_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_answer(Answer(("n",), tuple((n,) for n in range(2001))), output.choose(as_csv=False, as_json=False))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2000 + 1
    assert lines[-1] == "(2001 rows; the first 2000 are shown, --csv and --json print all)"


def test_both_engines_print_the_same(database: Path, reader_address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers that one engine counts exactly and the other in floats, truth values, JSON, times and nothing at all."""
    for address in (str(database), reader_address):
        engine = open_database(address)
        with engine.begin() as connection:
            for statement in A_RUN:
                connection.exec_driver_sql(statement)
        engine.dispose()
    sql = (
        "SELECT run_id, workload, flags, ranked, median_s, reason, fallback, samples, samples / 2.0 AS half, "
        "started_at, (SELECT sum(samples) FROM cases) AS many, (SELECT avg(samples) FROM cases) AS mean FROM results"
    )
    printed: dict[str, list[str]] = {"--csv": [], "--json": []}
    for form, texts in printed.items():
        for address in (str(database), reader_address):
            with pytest.raises(SystemExit) as ended:
                main(["query", sql, form, "--db", address])
            said = capsys.readouterr()
            assert ended.value.code == 0, said.err
            texts.append(said.out)
    assert printed["--csv"][0] == printed["--csv"][1]
    assert printed["--json"][0] == printed["--json"][1]
    (row,) = json.loads(printed["--json"][0])
    assert (row["flags"], row["ranked"], row["many"], row["mean"], row["reason"]) == ('["x"]', 1, 1, 1.0, None)
    assert next(csv.DictReader(io.StringIO(printed["--csv"][0])))["median_s"] == "0.5"


A_RUN = (
    "INSERT INTO machines (digest, chip) VALUES ('m', 'Apple M1')",
    "INSERT INTO software (digest, environment) VALUES ('s', '{}')",
    "INSERT INTO conditions (power_source) VALUES ('ac')",
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
        "fallback, fallback_ops, flags) "
        "VALUES (1, 'toy-infer', 1, 'cpu', 'fp32', 'eager', 'ok', 0.5, 1, FALSE, '[]', '[\"x\"]')"
    ),
)


def test_a_question_takes_no_longer_for_what_the_last_one_left(any_reader: sa.Engine) -> None:
    """No limit, lock or transaction of one question is there in the next one, nor in the engine's own work."""
    for _ in range(20):
        ask(any_reader, "SELECT 1", 0.5)
    time.sleep(0.6)
    assert ask(any_reader, "SELECT count(*) FROM published").rows == ((4761,),)
    with any_reader.begin() as connection:
        assert connection.exec_driver_sql("DELETE FROM loaded WHERE name = 'x'").rowcount == 0
