"""Whether the machine slept: a clock that runs on during sleep, held against one that stops.

macOS keeps both as mach_continuous_time (CLOCK_MONOTONIC_RAW) and mach_absolute_time
(CLOCK_UPTIME_RAW, which is Python's ``time.monotonic``); Linux as CLOCK_BOOTTIME and CLOCK_MONOTONIC
(``time.monotonic`` there). Within each pair nothing but sleep moves one clock and not the other:
steps and corrections of the time of day touch both or none. The time of day is held against
``time.monotonic`` only where such a pair is missing, and then a step forward looks like sleep.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

TOLERANCE_S = 0.5  # reading two clocks takes microseconds; the shortest real sleep takes seconds

_PAIRS = (("CLOCK_MONOTONIC_RAW", "CLOCK_UPTIME_RAW"), ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"))

Read = Callable[[], float]


@dataclass(frozen=True)
class Clocks:
    """Two clocks in seconds that differ by the time asleep."""

    running: Read  # goes on while the machine sleeps
    awake: Read  # stops meanwhile


def system_clocks() -> Clocks:
    """The pair that this system has."""
    for running, awake in _PAIRS:
        # Both systems have a CLOCK_MONOTONIC_RAW, with different meanings; only macOS has its partner here.
        numbers = [getattr(time, name, None) for name in (running, awake)]
        if None not in numbers:
            return Clocks(*(_reader(int(number)) for number in numbers if number is not None))
    return Clocks(time.time, time.monotonic)


def _reader(number: int) -> Read:
    return lambda: time.clock_gettime(number)


@dataclass
class SleepWatch:
    """The time asleep since it was made, or since it was last restarted."""

    clocks: Clocks = field(default_factory=system_clocks)
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget what was."""
        awake = self.clocks.awake()
        self._began = self.clocks.running() - awake

    def gap_s(self) -> float:
        """Seconds asleep at least.

        The process may be held up between two readings. Here the clock that stops is read last, and
        first in ``restart``, so that being held up makes the gap smaller and is never taken for sleep.
        """
        running = self.clocks.running()
        return max(0.0, running - self.clocks.awake() - self._began)

    @property
    def slept(self) -> bool:
        """Whether the machine slept."""
        return self.gap_s() > TOLERANCE_S
