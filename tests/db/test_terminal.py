"""What people read at the terminal: tables that fit it, paragraphs that wrap, times to wait in words."""

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from metalmark_db import output
from metalmark_db.output import breadth, fitted, say
from metalmark_db.terminal import harmless, roughly

COLUMNS = ("workload", "median", "interval", "outcome")
ROWS = [("bert-base-train-t128-b4", "12.3 ms", "12.1 ms – 12.5 ms", "ok"), ("copy", "", "", "crash")]


def drawn(width: int, *, cut: bool = False, shed: tuple[str, ...] = ("interval", "median")) -> list[str]:
    """The lines of the table on a terminal of that width."""
    screen = Console(file=io.StringIO(), width=width)
    screen.print(fitted(COLUMNS, ROWS, width, right=("median",), shed=shed, cut=cut))
    assert isinstance(screen.file, io.StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def test_a_table_that_fits_keeps_every_column_on_one_line_a_row() -> None:
    width = breadth(COLUMNS, ROWS)
    assert drawn(width) == [
        "workload                  median  interval           outcome",
        "bert-base-train-t128-b4  12.3 ms  12.1 ms – 12.5 ms  ok",
        "copy                                                 crash",
    ]
    assert max(map(len, drawn(width))) <= width


def test_a_narrow_table_leaves_out_what_can_be_done_without_in_that_order() -> None:
    width = breadth(COLUMNS, ROWS)
    assert drawn(width - 1)[0].split() == ["workload", "median", "outcome"]
    assert drawn(34)[0].split() == ["workload", "outcome"]


def test_what_is_still_too_long_is_folded_or_cut() -> None:
    folded, cut = drawn(24), drawn(24, cut=True)
    assert "".join(line.split()[0] for line in folded[1:3]) == "bert-base-train-t128-b4"
    assert len(cut) == 3
    assert "…" in cut[1]


@settings(deadline=None)
@given(st.integers(10, 200), st.lists(st.lists(st.text(), min_size=4, max_size=4), max_size=4), st.booleans())
def test_no_row_is_wider_than_the_terminal_and_none_obeys_its_cells(
    width: int, rows: list[list[str]], cut: bool
) -> None:
    screen = Console(file=io.StringIO(), width=width, force_terminal=True)
    screen.print(fitted(COLUMNS, rows, width, shed=("interval", "median"), cut=cut))
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert harmless(text.replace("\n", "")) == text.replace("\n", "")


def test_a_cell_may_bring_its_own_style_and_never_markup() -> None:
    table = fitted(("a", "b"), [(Text("red", style="red"), "[bold]b[/bold]")], 80)
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    assert "\x1b[31mred" in screen.file.getvalue()
    assert "[bold]b[/bold]" in screen.file.getvalue()


def test_a_paragraph_is_one_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    text = "word " * 100
    say(text)
    say("\x1b[31mred[bold]", stderr=True)
    shown = capsys.readouterr()
    assert shown.out == text + "\n"
    assert shown.err == "\N{REPLACEMENT CHARACTER}[31mred[bold]\n"


def test_a_pipe_has_room_for_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    output.table(None, COLUMNS, ROWS, shed=("interval", "median"))
    assert capsys.readouterr().out.splitlines()[0].split() == list(COLUMNS)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_question_marks_and_no_error(encoding: str) -> None:
    code = "from metalmark_db import output; output.table(None, ('time',), [('1 µs – 2 µs × 3',)]); output.say('×')"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        capture_output=True,
        check=True,
    )
    assert len(shown.stdout.decode(encoding).splitlines()) == 3
    assert b"1 " in shown.stdout


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.2, "1 second"),
        (45.4, "45 seconds"),
        (99, "99 seconds"),
        (100, "2 minutes"),
        (240, "4 minutes"),
        (3570, "1 hour"),
        (3600, "1 hour"),
        (4800, "1 hour 20 minutes"),
        (7260, "2 hours 1 minute"),
    ],
)
def test_a_time_to_wait_is_told_as_one_says_it(value: float, told: str) -> None:
    assert roughly(value) == told
