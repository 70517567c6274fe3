"""The clock that blocks are timed with: the system's, or a scripted one for tests."""

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock in nanoseconds."""

    def now_ns(self) -> int:
        """The present time; only differences mean anything."""
        ...


class SystemClock:
    """The finest monotonic clock of the system."""

    def now_ns(self) -> int:
        """``time.perf_counter_ns()``."""
        return time.perf_counter_ns()


@dataclass
class ScriptedClock:
    """A clock that moves only when told to, so that a test decides what every step costs.

    ``tick_ns`` is what reading the clock itself costs: a loop that waits for time to pass ends.
    """

    time_ns: int = 0
    tick_ns: int = 0

    def now_ns(self) -> int:
        """The scripted time, which then moves on by ``tick_ns``."""
        now = self.time_ns
        self.time_ns += self.tick_ns
        return now

    def advance(self, duration_ns: int) -> None:
        """Let time pass."""
        if duration_ns < 0:
            raise ValueError("a monotonic clock cannot go back")
        self.time_ns += duration_ns

    def advance_to(self, time_ns: int) -> None:
        """Let time pass until ``time_ns``, or not at all when that lies in the past."""
        self.time_ns = max(self.time_ns, time_ns)
