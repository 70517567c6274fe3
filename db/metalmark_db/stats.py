"""Statistics of samples, as pure functions: whoever reads the raw samples can compute them again."""

import math
from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from .record import Round

CONFIDENCE = 0.95
# Two-sided 95 % points of Student's t for 1, 2, 3 ... degrees of freedom (any table of the distribution).
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_BIMODAL_RATIO = 1.5
_MIN_ROUNDS = 3
_MIN_BLOCKS = 6  # below it the widest order-statistic interval covers less than 95 %


class Summary(Struct, frozen=True, kw_only=True):
    """Centre and interval of a case, in seconds per iteration."""

    median_s: float
    low_s: float | None
    high_s: float | None
    interval: str | None  # "rounds", "within one process", or None where none can be given
    samples: int
    bimodal: bool = False


def seconds_per_iteration(round_: Round) -> list[float]:
    """The samples of a round in seconds per iteration, in the order measured."""
    return [ns / round_.iterations / 1e9 for ns in round_.block_ns]


def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Ranks (from 0) of the narrowest symmetric order-statistic interval of the median, or None if too few.

    The coverage of [x(k), x(n-1-k)] is 1 - 2 P(Binomial(n, 1/2) <= k), whatever the distribution
    (David and Nagaraja, Order Statistics, 7.1).
    """
    if count < _MIN_BLOCKS:
        return None
    tail, rank = 0.0, -1
    for k in range(count // 2):
        tail += math.comb(count, k) * 0.5**count
        if 1 - 2 * tail < confidence:
            break
        rank = k
    return (rank, count - 1 - rank) if rank >= 0 else None


def summarize(rounds: Sequence[Round]) -> Summary | None:
    """Centre and 95 % interval of a case from its raw samples; None without a sample.

    From three rounds on, the t interval on the logarithms of the round medians; with fewer, the
    order-statistic interval of the blocks of the only round, called "within one process". Round
    medians more than 1.5 times apart are bimodal and get no interval.
    """
    per_round = [seconds_per_iteration(r) for r in rounds if r.block_ns]
    if not per_round:
        return None
    medians = [median(samples) for samples in per_round]
    count = sum(map(len, per_round))
    centre = math.exp(sum(map(math.log, medians)) / len(medians))
    if max(medians) / min(medians) > _BIMODAL_RATIO:
        return Summary(median_s=centre, low_s=None, high_s=None, interval=None, samples=count, bimodal=True)
    if len(medians) >= _MIN_ROUNDS:
        low, high = _t_interval(medians)
        return Summary(median_s=centre, low_s=low, high_s=high, interval="rounds", samples=count)
    ranks = median_ranks(len(per_round[0])) if len(per_round) == 1 else None
    if ranks is None:
        return Summary(median_s=centre, low_s=None, high_s=None, interval=None, samples=count)
    ordered = sorted(per_round[0])
    low, high = ordered[ranks[0]], ordered[ranks[1]]
    return Summary(median_s=medians[0], low_s=low, high_s=high, interval="within one process", samples=count)


def _t_interval(medians: Sequence[float]) -> tuple[float, float]:
    logs = [math.log(m) for m in medians]
    count = len(logs)
    mean = sum(logs) / count
    deviation = math.sqrt(sum((x - mean) ** 2 for x in logs) / (count - 1))
    half = _T95[min(count - 2, len(_T95) - 1)] * deviation / math.sqrt(count)
    return math.exp(mean - half), math.exp(mean + half)
