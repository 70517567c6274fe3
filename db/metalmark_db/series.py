"""What a series of times says of itself when it is read in the order measured.

Counters often say nothing (a Mac that has slowed down to half still reports a nominal thermal state),
so warming up, two speeds and throttling are told from the times alone. The thresholds leave room for
noise of 3 %: of 5, 10 or 20 such values without a pattern, fewer than one series in a thousand is flagged.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from .record import Round, Sustained
from .stats import is_bimodal, round_medians, seconds_per_iteration

WARMUP = "warmup"
BIMODAL = "bimodal"
THROTTLING = "throttling"

_SHORTEST = 3
# How far apart the first and the last third must lie, by the values in a third: few values scatter more.
_DRIFTS = {1: 1.2, 2: 1.15, 3: 1.12}
_DRIFT = 1.1
_ORDERED = 0.8  # share of pairs, one value from each third, that must stand in the same order
_ASIDE = 0.25  # how far, of the drift, the values between two single ends may lie outside
_SLOW_START = 1.1  # over the settled level, for two values or more ...
_SLOW_FIRST = 1.2  # ... and for one, which an interruption can explain
_MODES = 1.25  # from the median of the fast values to that of the slow ones
_MODES_DEVIATIONS = 6.0
_MODES_GAP = 0.25  # of that way that must be empty, else there is one group with a long tail
_MODE_SHARE = 0.25  # of all values, in the smaller mode: fewer are outliers
_TURNS = 2  # changes between the modes; with one, the speed changed and stayed
_MAD_TO_DEVIATION = 1.4826  # of a normal distribution


def flag(values: Sequence[float]) -> str | None:
    """``warmup``, ``bimodal``, ``throttling``, or None for a series without a pattern.

    Args:
        values: Seconds per iteration in the order measured. Invert a throughput first.
    """
    if len(values) < _SHORTEST:
        return None
    logs = [math.log(value) for value in values]
    if _is_bimodal(logs):
        return BIMODAL
    drift = _drift(logs)
    if drift > 0:
        return THROTTLING
    return WARMUP if drift < 0 or _starts_slowly(logs) else None


def case_flags(rounds: Sequence[Round], sustained: Sustained | None = None) -> tuple[str, ...]:
    """The flags of a case: of its round medians together, and of the series of each round and of the minute."""
    medians = round_medians(rounds)
    found = {BIMODAL} if medians and is_bimodal(medians) else set()
    parts: list[Round | Sustained] = [*rounds]
    if sustained is not None:
        parts.append(sustained)
    found |= {seen for part in parts if (seen := flag(seconds_per_iteration(part)))}
    return tuple(sorted(found))


def drift_ratio(values: Sequence[float]) -> float | None:
    """The median of the last third over that of the first, above 1 when times rise; None below three values."""
    if len(values) < _SHORTEST:
        return None
    third = len(values) // 3
    return median(values[-third:]) / median(values[:third])


def _drift(logs: Sequence[float]) -> int:
    """1 where the last third is slower than the first, -1 where it is faster, 0 where neither is sure."""
    third = len(logs) // 3
    first, middle, last = logs[:third], logs[third:-third], logs[-third:]
    difference = median(last) - median(first)
    least = math.log(_DRIFTS.get(third, _DRIFT))
    if abs(difference) < least:
        return 0
    sign = 1 if difference > 0 else -1
    # Half of the least drift, pair by pair: the median of one or two values is moved by a single outlier.
    in_order = sum(sign * (after - before) > least / 2 for before in first for after in last)
    if in_order < _ORDERED * third * third:
        return 0
    on_the_way = sign * (median(middle) - first[0]) / abs(difference)
    return sign if third > 1 or -_ASIDE <= on_the_way <= 1 + _ASIDE else 0


def _starts_slowly(logs: Sequence[float]) -> bool:
    """Whether the first values lie above the level at which the second half has settled."""
    settled = logs[len(logs) // 2 :]
    level, deviation = median(settled), _deviation(settled)
    above = level + max(math.log(_SLOW_START), 4 * deviation)
    run = next((n for n, value in enumerate(logs) if value <= above), len(logs))
    if run != 1:
        return run > 1
    rest = max(abs(value - level) for value in logs[1:])
    return logs[0] - level > max(math.log(_SLOW_FIRST), 3 * rest)


def _is_bimodal(logs: Sequence[float]) -> bool:
    """Whether the values form two groups, far apart and visited in turn."""
    ordered = sorted(logs)
    smaller = max(2, math.ceil(_MODE_SHARE * len(logs)))
    splits = range(smaller, len(logs) - smaller + 1)
    if not splits:
        return False
    split = max(splits, key=lambda n: ordered[n] - ordered[n - 1])
    fast, slow = ordered[:split], ordered[split:]
    apart = median(slow) - median(fast)
    if slow[0] - fast[-1] < _MODES_GAP * apart:
        return False
    if apart < max(math.log(_MODES), _MODES_DEVIATIONS * max(_deviation(fast), _deviation(slow))):
        return False
    between = (fast[-1] + slow[0]) / 2
    return sum((a > between) != (b > between) for a, b in pairwise(logs)) >= _TURNS


def _deviation(values: Sequence[float]) -> float:
    """A standard deviation that outliers do not move."""
    centre = median(values)
    return _MAD_TO_DEVIATION * median(abs(value - centre) for value in values)
