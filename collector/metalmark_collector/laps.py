"""Where the time of a case goes: seconds of each part of the work, one part after the other."""

from collections import defaultdict

from .clock import Clock

# Everything else that a run spends is overhead: starting workers, comparing with the CPU, counting memory and work.
BUILDING, WARMING_UP, SAMPLING = "building", "warming up", "sampling"
CHECKING, COUNTING_MEMORY, SIGNING = "checking", "counting memory", "counting the work"
# What the parent spends between cases.
STARTING, ENDING = "starting workers", "ending workers"
READING_STATE, STORING = "reading the machine's state", "storing"


class Laps:
    """A stopwatch whose laps are added up by name."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_ns = clock.now_ns()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def lap(self, name: str) -> None:
        """Count what has passed since the last lap as ``name``."""
        now_ns = self._clock.now_ns()
        self.seconds[name] += (now_ns - self._began_ns) / 1e9
        self._began_ns = now_ns
