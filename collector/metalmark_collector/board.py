"""What a run has measured so far, as figures for people: centre, interval, speed-up over the CPU."""

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from metalmark_db.record import Case, Key
from metalmark_db.stats import Summary, seconds_per_iteration, summarize
from metalmark_db.words import Mode, Outcome, Precision

_FEWEST = 3  # samples whose range may stand in for an interval


class Verdict(Enum):
    """How a case compares with the CPU's."""

    FASTER = "faster"
    SLOWER = "slower"
    OPEN = "no clear difference"


class Comparison(Struct, frozen=True, kw_only=True):
    """A case held against the CPU's fp32 eager time of the same workload."""

    case: Case
    ratio: float  # above 1: faster than the CPU
    verdict: Verdict


class Board:
    """The newest state of every case of a run, in the order in which they first came."""

    def __init__(self, cases: Sequence[Case] = ()) -> None:
        self._cases: dict[Key, Case] = {}
        self._summaries: dict[Key, Summary | None] = {}
        for case in cases:
            self.take(case)

    def take(self, case: Case) -> None:
        """Put a case in, in place of its earlier state."""
        self._cases[case.key] = case
        self._summaries[case.key] = summarize(case.rounds) if case.outcome is Outcome.OK else None

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every case."""
        return tuple(self._cases.values())

    def summary(self, case: Case) -> Summary | None:
        """Centre and interval; None for a case that did not work."""
        return self._summaries[case.key]

    def comparison(self, case: Case) -> Comparison | None:
        """The case against the CPU; None for the CPU's own cases, and where one of both did not work."""
        base = self._cases.get(_base_key(case))
        mine, other = self._summaries.get(case.key), self._summaries.get(_base_key(case))
        if case.device == "cpu" or base is None or mine is None or other is None:
            return None
        verdict = _verdict(_extent(case, mine), _extent(base, other))
        return Comparison(case=case, ratio=other.median_s / mine.median_s, verdict=verdict)


def _base_key(case: Case) -> Key:
    return (case.workload, case.version, "cpu", Precision.FP32.value, Mode.EAGER.value, False)


def _verdict(mine: tuple[float, float] | None, cpu: tuple[float, float] | None) -> Verdict:
    """Faster or slower only where the intervals lie apart."""
    if mine is None or cpu is None:
        return Verdict.OPEN
    if mine[1] < cpu[0]:
        return Verdict.FASTER
    return Verdict.SLOWER if mine[0] > cpu[1] else Verdict.OPEN


def _extent(case: Case, summary: Summary) -> tuple[float, float] | None:
    """Where the time of a case lies: its interval, else the range of its samples, which is wider."""
    if summary.low_s is not None and summary.high_s is not None:
        return summary.low_s, summary.high_s
    samples = [sample for one in case.rounds for sample in seconds_per_iteration(one)]
    return (min(samples), max(samples)) if len(samples) >= _FEWEST else None
