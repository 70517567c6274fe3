"""The program as a person calls it: real processes."""

import csv
import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import store
from metalmark_db.cli import COMMANDS
from metalmark_db.record import Case, RunHead, Workload
from metalmark_db.terminal import harmless, seconds, significant

PROGRAM = [sys.executable, "-c", "from metalmark_db.cli import main; main()"]


def call(*arguments: str, database: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The program run with arguments, on a database of its own."""
    environment = os.environ | ({"METALMARK_DB": str(database)} if database else {}) | {"COLUMNS": "120"}
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_help_lists_every_command_and_imports_neither_torch_nor_the_database() -> None:
    code = (
        "import sys\nfrom metalmark_db.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(m for m in ('torch', 'sqlalchemy', 'altair', 'msgspec') if m in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    for name, (_, line) in COMMANDS.items():
        assert name in ended.stdout
        assert line in ended.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_explains_itself(name: str) -> None:
    module, _, function = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), function)
    assert command.__doc__
    ended = call(name, "--help")
    assert ended.returncode == 0
    assert command.__doc__.splitlines()[0] in ended.stdout


def test_a_misspelt_command_is_corrected() -> None:
    ended = call("qeury")
    assert ended.returncode == 2
    assert "query" in ended.stderr


def test_the_version_is_told() -> None:
    assert call("--version").stdout.startswith("metalmark 0.")


def test_an_answer_comes_as_table_csv_or_json(database: Path) -> None:
    sql = "select 'a,\"b\"' as text, 1.5 as number, null as empty"
    assert "(1 row)" in call("query", sql, database=database).stdout
    rows = list(csv.reader(io.StringIO(call("query", sql, "--csv", database=database).stdout)))
    assert rows == [["text", "number", "empty"], ['a,"b"', "1.5", ""]]
    answer = json.loads(call("query", sql, "--json", database=database).stdout)
    assert answer == [{"text": 'a,"b"', "number": 1.5, "empty": None}]


def test_csv_and_json_together_are_refused(database: Path) -> None:
    ended = call("query", "select 1", "--csv", "--json", database=database)
    assert ended.returncode == 2
    assert "not for both" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("query", "delete from published"), 6, "never changes anything"),
        (("show",), 2, "metalmark run"),
        (("show", "7"), 2, "metalmark run"),
    ],
)
def test_an_error_is_one_paragraph_without_a_traceback(
    database: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = call(*arguments, database=database)
    assert ended.returncode == code
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_debug_shows_the_traceback(database: Path) -> None:
    assert "Traceback" in call("--debug", "query", "delete from published", database=database).stderr


def test_an_unreadable_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database" * 100)
    ended = call("query", "select 1", database=path)
    assert ended.returncode == 3
    assert "notes.txt" in ended.stderr
    assert "--db" in ended.stderr


def test_a_closed_pipe_is_no_error(database: Path) -> None:
    program = " ".join(map(repr, PROGRAM))
    shell = program + " query 'select * from published' --csv | head -n 1"  # noqa: S608 - a shell's line
    ended = subprocess.run(
        ["bash", "-c", shell],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"METALMARK_DB": str(database)},
    )
    assert ended.stderr == ""
    assert ended.stdout.startswith("id,source_id")


def test_a_stored_run_is_shown_with_its_machine(
    engine: sa.Engine, database: Path, head: RunHead, workload: Workload, make_case: Callable[..., Case]
) -> None:
    run_id = store.begin_run(engine, head, [workload])
    store.save_case(engine, run_id, make_case("cpu"))
    shown = call("show", database=database).stdout
    assert "Apple M4, 10 CPU cores, 10 GPU cores, 16 GiB, macOS 26.1, torch 2.14.1" in shown
    assert "2.00 ms" in shown
    assert "within one process" in shown
    answer = json.loads(call("show", "1", "--json", database=database).stdout)
    assert answer["results"][0]["median_s"] == 0.002


def test_control_characters_reach_no_terminal(engine: sa.Engine, database: Path) -> None:
    """A table shows escape sequences, and text that turns direction, as replacement characters."""
    ended = call("query", "select char(27) || '[31m' || char(8238) || '[red]x[/red]' as t", database=database)
    assert "\x1b" not in ended.stdout
    assert "\u202e" not in ended.stdout
    assert "[red]x[/red]" in ended.stdout


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.00 s"),
        (0.0123456, "12.3 ms"),
        (9.9996e-4, "1,000 µs"),
        (2.5e-7, "250 ns"),
        (83.0, "83.0 s"),
        (None, ""),
    ],
)
def test_durations_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.01234, "0.0123"), (9.999, "10.0"), (1234.5, "1,230"), (0.9999, "1.00"), (None, "")],
)
def test_numbers_have_three_significant_digits(value: float | None, text: str) -> None:
    assert significant(value) == text


def test_harmless_text_is_unchanged() -> None:
    assert harmless("Apple M4 Max · 40 cores, ü µ") == "Apple M4 Max · 40 cores, ü µ"


def test_json_loses_no_column_and_stays_json(database: Path) -> None:
    ended = call("query", "select 1 as a, 2 as a, x'ff00' as b, 9e999 as c", "--json", database=database)
    assert json.loads(ended.stdout) == [{"a": 1, "a_2": 2, "b": "ff00", "c": "inf"}]


def test_a_mistyped_database_is_an_error_and_no_new_file(tmp_path: Path) -> None:
    for arguments in (("query", "select 1"), ("show",)):
        ended = call(*arguments, "--db", str(tmp_path / "typo.sqlite"))
        assert ended.returncode == 3
        assert "typo.sqlite" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_without_the_signs_of_a_table_still_gets_it(
    engine: sa.Engine, database: Path, head: RunHead, workload: Workload, make_case: Callable[..., Case]
) -> None:
    store.save_case(engine, store.begin_run(engine, head, [workload]), make_case("cpu"))
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "METALMARK_DB": str(database)}
    ended = subprocess.run([*PROGRAM, "show"], capture_output=True, text=True, check=False, env=os.environ | plain)
    assert ended.returncode == 0
    assert "toy-infer" in ended.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_said_plainly(database: Path) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        ended = subprocess.run(
            [*PROGRAM, "query", "select * from published", "--csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"METALMARK_DB": str(database)},
        )
    assert ended.returncode != 0
    assert "Traceback" not in ended.stderr
