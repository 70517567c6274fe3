"""What a person sees while a run measures: a live table on a terminal, plain lines in a pipe."""

import sys
from typing import Self

from rich.console import Console

from metalmark_db.output import console
from metalmark_db.record import Case
from metalmark_db.terminal import harmless, seconds, significant
from metalmark_db.words import Mode, Outcome

from .board import Board
from .live import Live
from .plan import Plan, Planned
from .resume import Earlier

_LONGEST_DETAIL = 160


def watcher(plan: Plan, earlier: Earlier | None = None) -> "Live | Lines":
    """The watcher that fits standard error; rows of an ``earlier`` sitting are there from the start."""
    screen, board = console(stderr=True), Board(earlier.cases if earlier else ())
    done = len(earlier.done) if earlier else 0
    # A dumb terminal cannot go back to a line; FORCE_COLOR makes no terminal of a pipe.
    redraws = screen.is_terminal and sys.stderr.isatty() and not screen.is_dumb_terminal
    return Live(plan, screen, board, done) if redraws else Lines(plan, screen, board, done)


class Lines:
    """One plain line for each thing that happens: for pipes, logs and CI."""

    def __init__(self, plan: Plan, screen: Console, board: Board, done: int = 0) -> None:
        self._screen = screen
        self._board = board
        self._total = plan.count * plan.rounds
        self._done = done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def starting(self, device: str) -> None:
        """Say that torch is being imported, which can take a minute the first time."""
        self._say(f"starting a worker for {device} (the first start of torch can take a minute)")

    def measuring(self, case: Planned, round_number: int) -> None:
        """A line comes when the case has ended; nothing is drawn while the device is timed."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:
        """The case and its outcome."""
        self._board.take(case)
        self._done += not case.fallback  # a second try is no case of the plan
        self._say(f"[{self._done}/{self._total}] {said(case, self._board)} (about {left_s:.0f} s left)")

    def _say(self, text: str) -> None:
        self._screen.print(text, soft_wrap=True)


def said(case: Case, board: Board) -> str:
    """A case in one line: its median with the interval, or why there is none."""
    name = " · ".join((case.workload, case.device, case.precision, *([case.mode] if case.mode != Mode.EAGER else [])))
    summary = board.summary(case)
    if case.outcome is Outcome.OK and summary is not None:
        spread = ""
        if summary.low_s is not None and summary.high_s is not None:
            spread = f" ({seconds(summary.low_s)} to {seconds(summary.high_s)})"
        versus = board.comparison(case)
        over = f", {significant(versus.ratio)} × the CPU" if versus else ""
        return f"{name}: {seconds(summary.median_s)}{spread}{over}"
    why = f", {case.reason}" if case.reason else ""
    lines = (case.detail or "").strip().splitlines()
    detail = f": {harmless(lines[-1])[:_LONGEST_DETAIL]}" if lines else ""
    return f"{name}: {case.outcome}{why}{detail}"
