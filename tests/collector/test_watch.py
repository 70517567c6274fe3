"""What a person sees while a run measures, on a real pseudo-terminal and in a pipe."""

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyte
import pytest

from metalmark_collector import watch
from metalmark_collector.board import Board, Verdict
from metalmark_collector.plan import Plan, Planned
from metalmark_db.output import console
from metalmark_db.record import Case, Round
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

SCRIPT = Path(__file__).with_name("run_live.py")
# Colours, up, erase in line, clear, home: nothing that would have to be undone.
HARMLESS = re.compile(r"\x1b\[(?:[0-9;]*m|[0-9]*A|2K|2J|H)")


class Terminal:
    """A terminal of a given size with a watcher in it."""

    def __init__(self, columns: int, lines: int, cases: int = 2, **variables: str) -> None:
        self.screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.seen = b""
        self._master, slave = os.openpty()
        self._size(columns, lines)
        self.settings = termios.tcgetattr(self._master)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
        given = [str(number) for number in (slave, commands, answers, cases)]
        self.process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *given],
            pass_fds=(slave, commands, answers),
            env=environment | {"TERM": "xterm-256color"} | variables,
        )
        for descriptor in (slave, commands, answers):
            os.close(descriptor)

    def send(self, passed_s: float, verb: str, *given: object) -> bytes:
        """Call the watcher after so many seconds; gives what it wrote."""
        os.write(self._commands, json.dumps([passed_s, verb, *given]).encode() + b"\n")
        return self.answer()

    def press(self, key: bytes) -> bytes:
        """Press a key; gives what was written until the program answered."""
        os.write(self._master, key)
        return self.answer()

    def answer(self, wanted: bytes = b".") -> bytes:
        """Wait for the answer, then read what was written before it."""
        got = os.read(self._answers, 1)
        assert got in (wanted, b"i")
        return self._read()

    def resize(self, columns: int, lines: int) -> None:
        """What a person does with the mouse."""
        self.screen.resize(lines, columns)
        self._size(columns, lines)

    def shown(self) -> list[str]:
        """The lines on the screen that are not empty."""
        return [line.rstrip() for line in self.screen.display if line.strip()]

    def end(self) -> None:
        """No more commands; wait for the end and read the rest."""
        if self._commands:
            os.close(self._commands)
            self._commands = 0
        self.process.wait(60)
        self._read()

    def close(self) -> None:
        """Give everything back."""
        self.process.kill()
        self.end()
        os.close(self._master)
        os.close(self._answers)

    def settings_now(self) -> list[Any]:
        """The terminal's modes, such as echo."""
        return termios.tcgetattr(self._master)

    def _size(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def _read(self) -> bytes:
        written = b""
        while select.select([self._master], [], [], 0.05)[0]:
            try:
                written += os.read(self._master, 65536)
            except OSError:  # Linux: the other side is closed
                break
        self._stream.feed(written)
        self.seen += written
        return written


Open = Callable[..., Terminal]


@pytest.fixture
def terminal() -> Iterator[Open]:
    """Opens terminals and closes them again."""
    opened: list[Terminal] = []

    def make(columns: int, lines: int = 24, cases: int = 2, **variables: str) -> Terminal:
        opened.append(Terminal(columns, lines, cases, **variables))
        opened[-1].answer()  # the watcher is there
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def measure(screen: Terminal) -> None:
    """LeNet on the CPU in 20 ms and on MPS in 5 ms, ResNet-18 crashes on MPS; its half precision is next."""
    screen.send(10, "starting", "cpu")
    screen.send(10, "ended", 0, "ok", 20)
    screen.send(10, "ended", 2, "ok", 5)
    screen.send(10, "ended", 3, "crash", 0)
    screen.send(10, "measuring", 4)


def test_a_terminal_of_any_width_shows_outcome_median_interval_and_speed_up(terminal: Open) -> None:
    """From 120 columns to 80, to 400 and to 120 again: after each resize the table stands there once and is whole."""
    screen = terminal(120)
    measure(screen)
    heading, *rows, progress, current = screen.shown()
    assert heading.split("  ")[0] == "workload"
    assert [" ".join(row.split()) for row in rows] == [
        "lenet5-train-b128 cpu fp32 20.1 ms 20.0 ms – 20.2 ms ok",
        "lenet5-train-b128 mps fp32 5.09 ms 5.02 ms – 5.16 ms 3.95 × ok",
        "resnet18-infer-b32 mps fp32 crash",
    ]
    assert progress.endswith("3 of 5 · about 35 seconds left")
    assert current == "resnet18-infer-b32 · mps · fp16 · round 1 of 1"
    for size, row in (
        ((80, 24), "lenet5-train-b128 mps 5.09 ms 5.02 ms – 5.16 ms 3.95 × ok"),
        ((400, 60), "lenet5-train-b128 mps fp32 5.09 ms 5.02 ms – 5.16 ms 3.95 × ok"),
        ((120, 12), "lenet5-train-b128 mps fp32 5.09 ms 5.02 ms – 5.16 ms 3.95 × ok"),
    ):
        screen.resize(*size)
        screen.send(10, "beat", 4, 7)
        shown = screen.shown()
        assert [line.startswith("workload") for line in shown] == [True] + 5 * [False]
        assert " ".join(shown[2].split()) == row
        assert shown[-1] == "resnet18-infer-b32 · mps · fp16 · round 1 of 1 · 7 samples"
        assert max(map(len, shown)) < 100  # no wider for its own sake


def test_forty_columns_show_every_row_on_a_line_of_its_own(terminal: Open) -> None:
    screen = terminal(40)
    measure(screen)
    heading, *rows, progress, current = screen.shown()
    assert heading.split() == ["workload", "on", "median", "outcome"]
    assert [row.split()[1:] for row in rows] == [
        ["cpu", "20.1", "ms", "ok"],
        ["mps", "5.09", "ms", "ok"],
        ["mps", "crash"],
    ]
    assert "3 of 5 · about 35 seconds left" in progress
    assert current.startswith("resnet18-infer-b32 · mps")
    assert screen.screen.cursor.x < 40 - 2  # room for the ^C that a terminal echoes


def test_a_low_terminal_shows_what_ended_last(terminal: Open) -> None:
    screen = terminal(120, lines=8, cases=6)
    for case in range(12):
        screen.send(10, "ended", case, "ok", 20)
    screen.send(10, "measuring", 12)
    shown = screen.shown()
    assert len(shown) <= 7
    assert "... and 9 before" in shown
    assert sum("20.1 ms" in line for line in shown) == 3
    tiny = terminal(40, lines=3, cases=6)
    tiny.send(10, "ended", 0, "ok", 20)
    tiny.send(10, "measuring", 1)
    assert tiny.shown()[-1].startswith("resnet18-infer-b32")


def test_the_screen_changes_at_most_once_a_second_and_for_beats_every_other(terminal: Open) -> None:
    """An end is drawn with what begins next: the block after it may be timed by the time that a terminal has drawn."""
    screen = terminal(80)
    assert screen.send(0.9, "measuring", 0) == b""
    assert screen.send(0.2, "measuring", 0) != b""
    assert screen.send(1.5, "beat", 0, 3) == b""
    assert screen.send(0.6, "beat", 0, 4) != b""
    assert screen.send(0.5, "ended", 0, "ok", 20) == b""
    assert screen.send(0.0, "measuring", 1) == b""
    assert screen.send(0.5, "measuring", 1) != b""
    assert "20.1 ms" in screen.shown()[1]


def test_a_beat_draws_the_progress_alone(terminal: Open) -> None:
    """Whatever is drawn while the device is timed is drawn by the GPU of most Macs."""
    screen = terminal(80)
    measure(screen)
    before = screen.shown()
    written = screen.send(10, "beat", 4, 7)
    assert b"lenet5" not in written
    assert screen.shown()[:4] == before[:4]
    assert screen.shown()[-1].endswith("7 samples")
    screen.send(10, "ended", 1, "ok", 50)
    screen.send(10, "measuring", 4)
    assert len(screen.shown()) == 7


def test_ctrl_c_takes_the_table_away_and_leaves_a_sane_terminal(terminal: Open) -> None:
    screen = terminal(60)
    measure(screen)
    screen.press(b"\x03")
    screen.end()
    assert screen.shown() == ["the end"]
    assert not screen.screen.cursor.hidden
    assert screen.screen.cursor.attrs == pyte.Screen(1, 1).cursor.attrs
    assert screen.settings_now() == screen.settings


def test_even_a_killed_run_leaves_the_cursor_visible(terminal: Open) -> None:
    screen = terminal(60)
    measure(screen)
    screen.process.send_signal(signal.SIGKILL)
    screen.end()
    assert not screen.screen.cursor.hidden
    assert screen.settings_now() == screen.settings


def test_a_run_that_ends_leaves_no_table_and_nothing_switched(terminal: Open) -> None:
    """The whole table is printed by the command that ran it."""
    screen = terminal(60)
    measure(screen)
    screen.resize(100, 30)
    screen.send(10, "beat", 4, 7)
    screen.end()
    assert screen.shown() == ["the end"]
    assert "\x1b" not in HARMLESS.sub("", screen.seen.decode())


def test_outcomes_are_coloured_unless_no_color_is_set(terminal: Open) -> None:
    coloured, plain = terminal(120), terminal(120, NO_COLOR="1")
    for screen in (coloured, plain):
        measure(screen)
    assert b"\x1b[31mcrash" in coloured.seen
    assert re.search(rb"\x1b\[[0-9;]*3[0-9]", plain.seen) is None
    assert plain.shown()[:4] == coloured.shown()[:4]  # the bar shows without colours only what is done


def test_a_dumb_terminal_gets_plain_lines(terminal: Open) -> None:
    screen = terminal(80, TERM="dumb")
    measure(screen)
    screen.end()
    assert b"\x1b" not in screen.seen
    assert "[2/5] lenet5-train-b128 · mps · fp32: 5.09 ms (5.02 ms to 5.16 ms), 3.95 × the CPU" in " ".join(
        screen.seen.decode().split()
    )


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "NO_COLOR", "TERM"])
def test_a_pipe_gets_plain_lines_whatever_the_environment_says(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(variable, "1")
    case = Planned(workload="matmul-2048", device="cpu", precision=Precision.FP32)
    plan = Plan(effort=Effort.QUICK, seed=1, rounds=1, aimed_s=90, limit_s=240, cases={"cpu": (case,)})
    with watch.watcher(plan) as watcher:
        watcher.starting("cpu")
        watcher.measuring(case, 0)
        watcher.beat(case, 3)
        detail = "Traceback\n\x1b]0;owned\x07[bold]RuntimeError"
        watcher.ended(case.ended(Outcome.NOT_RUN, Reason.BUDGET, detail), 12)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\x1b" not in shown.err
    assert shown.err.splitlines()[1] == (
        "[1/1] matmul-2048 · cpu · fp32: not_run, budget: "
        "\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}[bold]RuntimeError (about 12 s left)"
    )


def test_a_second_try_is_no_case_of_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    cases = tuple(Planned(workload=name, device="mps", precision=Precision.FP32) for name in ("matmul-2048", "copy"))
    plan = Plan(effort=Effort.QUICK, seed=1, rounds=1, aimed_s=90, limit_s=240, cases={"mps": cases})
    failed = cases[0].ended(Outcome.UNSUPPORTED_OP)
    with watch.Lines(plan, console(stderr=True), Board()) as lines:
        lines.ended(failed, 5)
        lines.ended(msgspec.structs.replace(failed, fallback=True), 5)
    assert [line[:5] for line in capsys.readouterr().err.splitlines()] == ["[1/2]", "[1/2]"]


def case_of(device: str, times_ms: tuple[float, ...], **changes: Any) -> Case:
    """A case of the matmul with such samples."""
    blocks = tuple(int(time * 1e6) for time in times_ms)
    case = Case(
        workload="matmul-2048",
        version=1,
        device=device,
        precision=Precision.FP32,
        mode=Mode.EAGER,
        outcome=Outcome.OK,
        rounds=(Round(number=0, iterations=1, block_ns=blocks),),
    )
    return msgspec.structs.replace(case, **changes)


@pytest.mark.parametrize(
    ("cpu", "mps", "verdict"),
    [
        ((20.0, 20.1, 20.2) * 4, (5.0, 5.1, 5.2) * 4, Verdict.FASTER),
        ((20.0, 20.1, 20.2) * 4, (40.0, 41.0, 42.0) * 4, Verdict.SLOWER),
        ((20.0, 21.0, 22.0) * 4, (19.0, 20.0, 21.0) * 4, Verdict.OPEN),
        ((900.0, 950.0, 1000.0), (5.0, 5.1, 5.2) * 4, Verdict.FASTER),  # too few for an interval: their range counts
        ((900.0, 950.0, 4.0), (5.0, 5.1, 5.2) * 4, Verdict.OPEN),
        ((900.0,), (5.0, 5.1, 5.2) * 4, Verdict.OPEN),  # one sample says nothing of the spread
    ],
)
def test_faster_and_slower_are_said_only_of_intervals_that_lie_apart(
    cpu: tuple[float, ...], mps: tuple[float, ...], verdict: Verdict
) -> None:
    mine = case_of("mps", mps)
    found = Board([case_of("cpu", cpu), mine]).comparison(mine)
    assert found is not None
    assert found.verdict is verdict


def test_speed_up_needs_a_cpu_time_of_the_same_workload_in_fp32_and_eager() -> None:
    mine = case_of("mps", (5.0,) * 10, precision=Precision.FP16)
    base = case_of("cpu", (20.0,) * 10)
    assert Board([mine]).comparison(mine) is None
    for unlike in ({"version": 2}, {"workload": "copy"}, {"mode": Mode.COMPILE}, {"outcome": Outcome.WRONG_RESULT}):
        assert Board([mine, msgspec.structs.replace(base, **unlike)]).comparison(mine) is None
    found = Board([mine, base]).comparison(mine)
    assert found is not None
    assert found.ratio == pytest.approx(4)
    assert Board([base]).comparison(base) is None


def test_the_newest_state_of_a_case_counts() -> None:
    board = Board([case_of("cpu", (20.0,) * 10)])
    board.take(case_of("cpu", (), outcome=Outcome.CRASH, rounds=()))
    (case,) = board.cases
    assert case.outcome is Outcome.CRASH
    assert board.summary(case) is None
