"""Statistics of samples, as pure functions: whoever reads the raw samples can compute them again.

What a case publishes follows from how many rounds (fresh processes) it has:

- three or more: the t interval on the logarithms of the round medians, called "rounds";
- two: the centre of both medians and no interval, since one difference tells too little of the spread
  between processes (the t interval would be 12.7 standard errors to either side);
- one: the order-statistic interval of its blocks, from six on, called "within one process".
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean, median

from msgspec import Struct

from .record import Round, Sustained
from .stats_student import t_quantile

CONFIDENCE = 0.95
LOOKS = (10, 20)  # blocks after which sampling may stop; judging after every one would lower the coverage
PRECISE = 0.01
BIMODAL_RATIO = 1.5
MIN_ROUNDS = 3
_MIN_BLOCKS = 6  # below it the widest order-statistic interval covers less than 95 %
_ROUNDING = 1e-9  # figures this close, relatively, are the same number


class Summary(Struct, frozen=True, kw_only=True):
    """Centre and interval of a case, in seconds per iteration."""

    median_s: float
    low_s: float | None
    high_s: float | None
    interval: str | None  # "rounds", "within one process", or None where none can be given
    samples: int
    bimodal: bool = False


def seconds_per_iteration(round_: Round | Sustained) -> list[float]:
    """The samples of a round, or of a minute of work, in seconds per iteration and in the order measured."""
    return [ns / round_.iterations / 1e9 for ns in round_.block_ns]


def round_medians(rounds: Sequence[Round]) -> list[float]:
    """The median of each round that has samples, in seconds per iteration and in the order of the rounds."""
    return [_middle_s(r) for r in rounds if r.block_ns]


def _middle_s(round_: Round) -> float:
    """The median of a round's samples: of whole nanoseconds, of which only the middle ones are made seconds."""
    ordered, half = sorted(round_.block_ns), len(round_.block_ns) // 2
    upper = ordered[half] / round_.iterations / 1e9
    return upper if len(ordered) % 2 else (ordered[half - 1] / round_.iterations / 1e9 + upper) / 2


def is_bimodal(medians: Sequence[float]) -> bool:
    """Whether round medians lie so far apart that one figure would describe none of them."""
    return max(medians) / min(medians) > BIMODAL_RATIO * (1 + _ROUNDING)


@cache
def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Ranks (from 0) of the narrowest symmetric order-statistic interval of the median, or None if too few.

    The coverage of [x(k), x(n-1-k)] is 1 - 2 P(Binomial(n, 1/2) <= k), whatever the distribution
    (David and Nagaraja, Order Statistics, 7.1).
    """
    if count < _MIN_BLOCKS:
        return None
    tail, rank = 0, -1  # in whole numbers: 0.5**count is nothing for a thousand values
    for k in range(count // 2):
        tail += math.comb(count, k)
        if 1 - 2 * tail / 2**count < confidence:
            break
        rank = k
    return (rank, count - 1 - rank) if rank >= 0 else None


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % order-statistic interval of the median, or None where there are too few values."""
    ranks = median_ranks(len(values))
    if ranks is None:
        return None
    ordered = sorted(values)
    return ordered[ranks[0]], ordered[ranks[1]]


def is_enough(times: Sequence[float]) -> bool:
    """Whether sampling may stop after these blocks: now is a time to look, and their median is within 1 %."""
    if len(times) not in LOOKS:
        return False
    interval = median_interval(times)
    return interval is not None and interval[1] - interval[0] <= 2 * PRECISE * median(times)


def summarize(rounds: Sequence[Round]) -> Summary | None:
    """Centre and 95 % interval of a case from its raw samples; None without a sample.

    Round medians more than 1.5 times apart are bimodal and get no interval: show ``round_medians``.
    """
    medians = round_medians(rounds)
    if not medians:
        return None
    count = sum(len(r.block_ns) for r in rounds)
    centre = math.exp(fmean(map(math.log, medians)))
    if is_bimodal(medians):
        return Summary(median_s=centre, low_s=None, high_s=None, interval=None, samples=count, bimodal=True)
    if len(medians) >= MIN_ROUNDS:
        low, high = _t_interval(medians)
        return Summary(median_s=centre, low_s=low, high_s=high, interval="rounds", samples=count)
    if len(medians) == 1:
        return _of_one_round(next(seconds_per_iteration(r) for r in rounds if r.block_ns))
    return Summary(median_s=centre, low_s=None, high_s=None, interval=None, samples=count)


def agrees(first: Sequence[Round], second: Sequence[Round]) -> bool | None:
    """Whether two runs of a case agree: the second centre lies where the first predicts it.

    The prediction is exp(mean m +- t(R-1) sd(m) sqrt(1/R + 1/R')): wider than the first's own
    interval, in which a second run that is just as good lies too rarely. None where the first has
    fewer than three rounds, the second none, or either is bimodal.
    """
    before, after = round_medians(first), round_medians(second)
    if len(before) < MIN_ROUNDS or not after or is_bimodal(before) or is_bimodal(after):
        return None
    logs = [math.log(m) for m in before]
    share = math.sqrt(1 / len(before) + 1 / len(after))
    distance = abs(fmean(map(math.log, after)) - fmean(logs))
    return distance <= t_quantile(len(logs) - 1, CONFIDENCE) * _deviation(logs) * share + _ROUNDING


Estimate = tuple[float, float | None, float | None]  # centre, and both ends of its interval where it has one


def ratio_interval(above: Estimate, below: Estimate) -> tuple[float, float] | None:
    """The interval of above/below from the intervals of both, or None where one of them has none.

    On logarithms the ratio is a difference; its ends combine the distances from each centre to its own ends as
    independent ones add up (MOVER: Donner and Zou, Statistical Methods in Medical Research 21 (2012) 347-359).
    """
    (centre, low, high), (other, other_low, other_high) = above, below
    if low is None or high is None or other_low is None or other_high is None:
        return None
    ratio = math.log(centre / other)
    down = math.hypot(math.log(centre / low), math.log(other_high / other))
    up = math.hypot(math.log(high / centre), math.log(other / other_low))
    return math.exp(ratio - down), math.exp(ratio + up)


def sustained_ratio(rounds: Sequence[Round], sustained: Sustained) -> float | None:
    """How many times as long an iteration takes at the end of a minute of work as in the short blocks.

    The end is the last third of the minute's blocks. None without samples to compare.
    """
    burst, series = summarize(rounds), seconds_per_iteration(sustained)
    if burst is None or not series:
        return None
    return median(series[-max(1, len(series) // 3) :]) / burst.median_s


def _of_one_round(samples: Sequence[float]) -> Summary:
    low, high = median_interval(samples) or (None, None)
    kind = None if low is None else "within one process"
    return Summary(median_s=median(samples), low_s=low, high_s=high, interval=kind, samples=len(samples))


def _t_interval(medians: Sequence[float]) -> tuple[float, float]:
    logs = [math.log(m) for m in medians]
    half = t_quantile(len(logs) - 1, CONFIDENCE) * _deviation(logs) / math.sqrt(len(logs))
    return math.exp(fmean(logs) - half), math.exp(fmean(logs) + half)


def _deviation(values: Sequence[float]) -> float:
    # Not statistics.stdev: its exact fractions cost more than everything else that a case needs.
    centre = fmean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))
