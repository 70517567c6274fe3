"""Statistics: what holds for any samples, and that intervals cover what they promise."""

import math
import random
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_db.record import Round
from metalmark_db.stats import median_ranks, seconds_per_iteration, summarize

BLOCKS = st.lists(st.integers(min_value=1, max_value=10**12), min_size=1, max_size=20)


def rounds_of(*blocks: list[int], iterations: int = 1) -> tuple[Round, ...]:
    """Rounds with these block times."""
    return tuple(Round(number=n, iterations=iterations, block_ns=tuple(b)) for n, b in enumerate(blocks))


@given(BLOCKS, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_does_not_matter(blocks: list[int], draw: random.Random) -> None:
    shuffled = draw.sample(blocks, len(blocks))
    assert summarize(rounds_of(blocks)) == summarize(rounds_of(shuffled))


@given(BLOCKS, st.integers(min_value=2, max_value=1000))
def test_more_iterations_a_block_scale_the_result_and_nothing_else(blocks: list[int], iterations: int) -> None:
    one, many = summarize(rounds_of(blocks)), summarize(rounds_of(blocks, iterations=iterations))
    assert one is not None
    assert many is not None
    assert many.median_s == pytest.approx(one.median_s / iterations)
    assert (many.low_s is None) == (one.low_s is None)


@given(BLOCKS)
def test_the_interval_holds_the_median_and_lies_among_the_samples(blocks: list[int]) -> None:
    rounds = rounds_of(blocks)
    found = summarize(rounds)
    assert found is not None
    assert found.median_s == pytest.approx(median(seconds_per_iteration(rounds[0])))
    if len(blocks) < 6:
        assert (found.low_s, found.high_s, found.interval) == (None, None, None)
    else:
        assert found.low_s is not None
        assert found.high_s is not None
        assert min(blocks) <= found.low_s * 1e9 * (1 + 1e-9)
        assert found.low_s <= found.median_s <= found.high_s
        assert found.interval == "within one process"


def test_no_sample_gives_no_figure() -> None:
    assert summarize(()) is None


def test_three_rounds_give_the_t_interval_over_their_medians() -> None:
    """Checked against the formula worked by hand for medians 1.00, 1.02 and 1.05 ms."""
    found = summarize(rounds_of([1_000_000] * 5, [1_020_000] * 5, [1_050_000] * 5))
    assert found is not None
    logs = [math.log(v) for v in (1.0e-3, 1.02e-3, 1.05e-3)]
    mean = sum(logs) / 3
    half = 4.302653 * math.sqrt(sum((x - mean) ** 2 for x in logs) / 2) / math.sqrt(3)
    assert (found.low_s, found.high_s) == pytest.approx((math.exp(mean - half), math.exp(mean + half)))
    assert found.interval == "rounds"


def test_rounds_far_apart_are_bimodal_and_get_no_interval() -> None:
    found = summarize(rounds_of([100] * 6, [100] * 6, [160] * 6))
    assert found is not None
    assert found.bimodal
    assert found.low_s is None


def test_ranks_cover_at_least_what_they_promise_and_no_narrower_pair_does() -> None:
    for count in range(6, 60):
        ranks = median_ranks(count)
        assert ranks is not None
        assert _coverage(count, ranks[0]) >= 0.95 > _coverage(count, ranks[0] + 1)


def test_wider_samples_never_lower_the_rank() -> None:
    ranks = [median_ranks(count) for count in range(6, 60)]
    assert all(a is not None and b is not None and a[0] <= b[0] for a, b in pairwise(ranks))


def test_the_interval_of_one_round_covers_the_median_as_often_as_it_says() -> None:
    draw = random.Random(1)
    hits = 0
    for _ in range(2000):
        found = summarize(rounds_of([int(1e9 * math.exp(draw.gauss(0, 0.02))) for _ in range(20)]))
        assert found is not None
        assert found.low_s is not None
        assert found.high_s is not None
        hits += found.low_s <= 1.0 <= found.high_s
    assert 0.94 <= hits / 2000 <= 0.985  # at most 4 points too many: order statistics are discrete


def test_the_interval_of_three_rounds_covers_the_truth_despite_drift_between_processes() -> None:
    draw = random.Random(2)
    hits = 0
    for _ in range(2000):
        centres = [math.exp(draw.gauss(0, 0.03)) for _ in range(3)]
        found = summarize(
            rounds_of(*([int(1e9 * c * math.exp(draw.gauss(0, 0.003))) for _ in range(10)] for c in centres))
        )
        assert found is not None
        assert found.low_s is not None
        assert found.high_s is not None
        hits += found.low_s <= 1.0 <= found.high_s
    assert 0.93 <= hits / 2000 <= 0.97


def _coverage(count: int, rank: int) -> float:
    return 1 - 2 * sum(math.comb(count, k) * 0.5**count for k in range(rank + 1))
