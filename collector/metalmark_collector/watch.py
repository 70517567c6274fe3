"""What a person sees while a run measures: a bar on a terminal, plain lines in a pipe."""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from metalmark_db.output import console
from metalmark_db.record import Case
from metalmark_db.stats import summarize
from metalmark_db.terminal import harmless, seconds
from metalmark_db.words import Outcome

from .plan import Plan, Planned

_LONGEST_DETAIL = 160


def watcher(plan: Plan) -> "Bar | Lines":
    """The watcher that fits standard error."""
    screen = console(stderr=True)
    return Bar(plan, screen) if screen.is_terminal and sys.stderr.isatty() else Lines(plan, screen)


class Lines:
    """One plain line for each thing that happens: for pipes, logs and CI."""

    def __init__(self, plan: Plan, screen: Console) -> None:
        self._screen = screen
        self._total = plan.count * plan.rounds
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def starting(self, device: str) -> None:
        """Say that torch is being imported, which can take a minute the first time."""
        self._screen.print(f"starting a worker for {device} (the first start of torch can take a minute)")

    def measuring(self, case: Planned, round_number: int) -> None:
        """A line comes when the case has ended; nothing is drawn while the device is timed."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:
        """The case and its outcome."""
        self._done += 1
        self._screen.print(f"[{self._done}/{self._total}] {said(case)} (about {left_s:.0f} s left)", soft_wrap=True)


class Bar:
    """A bar with case, round and time left.

    It is drawn only between timed blocks and at most once a second, since on most Macs the terminal
    draws with the GPU under test.
    """

    def __init__(self, plan: Plan, screen: Console) -> None:
        self._plan = plan
        self._left_s = plan.aimed_s
        self._at = time.monotonic()
        self._progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}", markup=False),
            console=screen,
            auto_refresh=False,
            transient=True,
        )
        self._task: TaskID = self._progress.add_task("getting ready", total=plan.count * plan.rounds)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def starting(self, device: str) -> None:
        """Say that torch is being imported."""
        self._describe(f"starting a worker for {device} (the first start of torch can take a minute)")

    def measuring(self, case: Planned, round_number: int) -> None:
        """Show the case that begins."""
        self._describe(f"{case.label} · round {round_number + 1} of {self._plan.rounds} · {self._left()}")

    def beat(self, case: Planned, samples: int) -> None:
        """Show that blocks are coming in."""
        state = f"{samples} samples" if samples else "warming up"
        self._describe(f"{case.label} · {state} · {self._left()}")

    def ended(self, case: Case, left_s: float) -> None:
        """Print the case's outcome above the bar."""
        self._left_s, self._at = left_s, time.monotonic()
        self._progress.print(said(case), soft_wrap=True)
        self._progress.advance(self._task)
        self._progress.refresh()

    def _left(self) -> str:
        left = self._left_s - (time.monotonic() - self._at)
        return f"about {left:.0f} s left" if left > 1 else "almost done"

    def _describe(self, text: str) -> None:
        self._progress.update(self._task, description=text)
        self._progress.refresh()


def said(case: Case) -> str:
    """A case in one line: its median with the interval, or why there is none."""
    name = f"{case.workload} · {case.device} · {case.precision}"
    summary = summarize(case.rounds)
    if case.outcome is Outcome.OK and summary is not None:
        spread = ""
        if summary.low_s is not None and summary.high_s is not None:
            spread = f" ({seconds(summary.low_s)} to {seconds(summary.high_s)})"
        return f"{name}: {seconds(summary.median_s)}{spread}"
    why = f", {case.reason}" if case.reason else ""
    lines = (case.detail or "").strip().splitlines()
    detail = f": {harmless(lines[-1])[:_LONGEST_DETAIL]}" if lines else ""
    return f"{name}: {case.outcome}{why}{detail}"
