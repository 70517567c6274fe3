"""The table on a terminal while a run measures: every case with its figures, progress below.

It is drawn only when the runner calls, which is between timed blocks, and at most once a second,
since most Mac terminals draw with the GPU under test. The cursor is never hidden and nothing of the
terminal is switched, so that a run which is killed leaves nothing to repair.
"""

import time
from collections.abc import Callable
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.constrain import Constrain
from rich.control import Control
from rich.live_render import LiveRender
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from metalmark_db.output import breadth, fitted
from metalmark_db.record import Case
from metalmark_db.terminal import roughly, seconds, significant
from metalmark_db.words import Mode, Outcome, Precision

from .board import Board
from .plan import Plan, Planned

_APART_S = 1.0  # between two drawings
# Beats leave room for the name of the case that begins next: it is drawn once, and may then build for long.
_BEATS_APART_S = 2.0
_WIDE = ("workload", "device", "precision", "median", "95 % interval", "over CPU", "outcome")
_NARROW = ("workload", "on", "median", "95 % interval", "over CPU", "outcome")
_RIGHT = ("median", "95 % interval", "over CPU")
_BESIDE_ROWS = 5  # lines that are no rows: heading, how many more, progress, what runs now, one to spare
_BAR = (6, 30)  # shortest and longest
_ECHO = 3  # room for ^C, which the terminal writes behind the last line
_STYLES = {Outcome.OK: "green", Outcome.NOT_RUN: "yellow"}
_RESET = "\x1b[0m"


class Live:
    """A table that is drawn anew in place."""

    def __init__(
        self, plan: Plan, screen: Console, board: Board, done: int = 0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._plan, self._screen, self._board, self._done, self._now = plan, screen, board, done, now
        self._recent = list(board.cases)  # the case that ended last stands last
        self._current = "getting ready"
        self._left_s, self._left_at = plan.aimed_s, now()
        self._drawn_at = float("-inf")
        self._round = ""
        self._rows_stale, self._above = True, 0  # lines of the rows on the screen
        self._below = LiveRender("")
        self._size: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self._draw(_APART_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.control(self._below.position_cursor(), _up(self._above))  # takes every line of it away
        self._screen.file.write(_RESET)
        self._screen.file.flush()

    def starting(self, device: str) -> None:
        """Say that torch is being imported."""
        self._current = f"starting a worker for {device} (the first start of torch can take a minute)"
        self._draw(_APART_S)

    def measuring(self, case: Planned, round_number: int) -> None:
        """Show the case that begins, and the outcome of the one before."""
        self._round = f"round {round_number + 1} of {self._plan.rounds}"
        self._current = self._named(case, self._round)
        self._draw(_APART_S)

    def beat(self, case: Planned, samples: int) -> None:
        """Show that blocks are coming in."""
        state = f"{samples} sample{'' if samples == 1 else 's'}" if samples else "warming up"
        self._current = self._named(case, f"{self._round} · {state}")
        self._draw(_BEATS_APART_S)

    def ended(self, case: Case, left_s: float) -> None:
        """Take the outcome in; what begins next draws it."""
        self._board.take(case)
        self._recent = [one for one in self._recent if one.key != case.key] + [case]
        self._done += not case.fallback  # a second try is no case of the plan
        self._left_s, self._left_at = left_s, self._now()
        self._rows_stale = True

    def _named(self, case: Planned, state: str) -> str:
        mode = () if case.mode is Mode.EAGER else (case.mode.value,)
        return " · ".join((case.workload, case.device, case.precision.value, *mode, state))

    def _draw(self, apart_s: float) -> None:
        now = self._now()
        if now - self._drawn_at < apart_s:
            return
        self._drawn_at = now
        screen, size = self._screen, (self._screen.width, self._screen.height)
        # A terminal that changed its size has broken the old lines anew, nobody knows where.
        resized = self._size is not None and self._size != size
        with screen:
            screen.control(*((Control.clear(), Control.home()) if resized else (self._below.position_cursor(),)))
            if self._rows_stale or resized:
                screen.control(_up(0 if resized else self._above))
                self._above = self._print_rows(*size)
            # Between two ends only these lines change: drawing less leaves more of the GPU alone.
            self._below = LiveRender(Constrain(self._progress(size[0] - 1), size[0] - 1), vertical_overflow="crop")
            screen.print(self._below)
        self._size, self._rows_stale = size, False

    def _print_rows(self, width: int, height: int) -> int:
        """Print the rows that fit, those that ended last, and give the number of lines."""
        rows = self._recent[-max(1, height - _BESIDE_ROWS) :]
        lines = 0
        if rows and height > _BESIDE_ROWS:
            self._screen.print(Constrain(self._table(rows, width - 1), width - 1))
            lines += 1 + len(rows)
        if len(rows) < len(self._recent):
            more = Text(f"... and {len(self._recent) - len(rows)} before", style="dim", no_wrap=True)
            self._screen.print(Constrain(more, width - 1))
            lines += 1
        return lines

    def _table(self, rows: list[Case], width: int) -> Table:
        shown = sorted(rows, key=self._order)
        cells = [self._wide(case) for case in shown]
        if breadth(_WIDE, cells) <= width:
            return fitted(_WIDE, cells, width, right=_RIGHT)
        cells = [self._narrow(case) for case in shown]
        return fitted(_NARROW, cells, width, right=_RIGHT, shed=("95 % interval", "over CPU"), cut=True)

    def _order(self, case: Case) -> tuple[str, str, str, str, bool]:
        return (case.workload, case.device, case.precision, case.mode, case.fallback)

    def _wide(self, case: Case) -> tuple[str | Text, ...]:
        precision = case.precision if case.mode is Mode.EAGER else f"{case.precision} {case.mode}"
        outcome = f"{case.outcome} ({case.reason})" if case.reason else case.outcome
        return (case.workload, case.device, precision, *self._figures(case), _outcome(case, outcome))

    def _narrow(self, case: Case) -> tuple[str | Text, ...]:
        precision = () if case.precision is Precision.FP32 else (case.precision.value,)
        mode = () if case.mode is Mode.EAGER else (case.mode.value,)
        on = " ".join((case.device, *precision, *mode))
        return (case.workload, on, *self._figures(case), _outcome(case, case.reason or case.outcome))

    def _figures(self, case: Case) -> tuple[str, str, str]:
        """Median, interval and speed-up, as far as there are any."""
        summary, versus = self._board.summary(case), self._board.comparison(case)
        interval = ""
        if summary and summary.low_s is not None and summary.high_s is not None:
            interval = f"{seconds(summary.low_s)} – {seconds(summary.high_s)}"
        over = f"{significant(versus.ratio)} ×" if versus else ""
        return seconds(summary.median_s if summary else None), interval, over

    def _progress(self, width: int) -> RenderableType:
        """How far the run is, and what it does now."""
        current = Text(self._current, no_wrap=True, overflow="ellipsis")
        return Group(self._bar(width), Constrain(current, max(1, width - _ECHO)))

    def _bar(self, width: int) -> RenderableType:
        total = self._plan.count * self._plan.rounds
        left = self._left_s - (self._now() - self._left_at)
        text = Text(f"{self._done} of {total} · {f'about {roughly(left)} left' if left > 1 else 'almost done'}")
        bar = min(width - len(text) - 1, _BAR[1])
        if bar < _BAR[0]:
            text.no_wrap, text.overflow = True, "ellipsis"
            return text
        grid = Table.grid(padding=(0, 1))
        grid.add_row(ProgressBar(total=total, completed=self._done, width=bar), text)
        return grid


def _up(lines: int) -> Control:
    """Back over so many lines, each of them erased."""
    return Control(*(((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)) * lines))


def _outcome(case: Case, text: str) -> Text:
    return Text(text, style=_STYLES.get(case.outcome, "red"))
