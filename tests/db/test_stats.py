"""Statistics: what holds for any samples, and that intervals cover what they promise."""

import math
import random
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_db.record import Round, Sustained
from metalmark_db.stats import (
    LOOKS,
    agrees,
    is_enough,
    median_interval,
    median_ranks,
    round_medians,
    seconds_per_iteration,
    summarize,
    sustained_ratio,
)
from metalmark_db.stats_student import t_quantile

BLOCKS = st.lists(st.integers(min_value=1, max_value=10**12), min_size=1, max_size=20)
RUNS = st.lists(BLOCKS, min_size=1, max_size=5)
# Rounds whose medians lie within 1.5 of each other, so that there is something to agree with.
CLOSE = st.lists(st.integers(min_value=10**6, max_value=14 * 10**5), min_size=3, max_size=8)


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


@given(RUNS, st.randoms(use_true_random=False))
def test_the_order_of_the_rounds_does_not_matter(blocks: list[list[int]], draw: random.Random) -> None:
    one, other = summarize(rounds_of(*blocks)), summarize(rounds_of(*draw.sample(blocks, len(blocks))))
    assert one is not None
    assert other is not None
    assert (one.interval, one.bimodal, one.samples) == (other.interval, other.bimodal, other.samples)
    assert one.median_s == pytest.approx(other.median_s, rel=1e-12)
    assert one.low_s == (None if other.low_s is None else pytest.approx(other.low_s, rel=1e-9))


@given(RUNS, st.integers(min_value=2, max_value=1000))
def test_a_device_some_times_slower_gives_figures_as_many_times_larger(blocks: list[list[int]], slower: int) -> None:
    one = summarize(rounds_of(*blocks))
    many = summarize(rounds_of(*([value * slower for value in b] for b in blocks)))
    assert one is not None
    assert many is not None
    assert many.median_s == pytest.approx(one.median_s * slower)
    assert many.interval == one.interval
    if one.low_s is not None and one.high_s is not None:
        assert many.low_s == pytest.approx(one.low_s * slower)
        assert many.high_s == pytest.approx(one.high_s * slower)


@given(RUNS)
def test_a_centre_lies_in_its_interval_and_among_the_medians(blocks: list[list[int]]) -> None:
    rounds = rounds_of(*blocks)
    found, medians = summarize(rounds), round_medians(rounds)
    assert found is not None
    assert min(medians) * (1 - 1e-9) <= found.median_s <= max(medians) * (1 + 1e-9)
    assert len(medians) == len(blocks)
    if found.low_s is not None and found.high_s is not None:
        assert found.low_s <= found.median_s <= found.high_s


@given(st.lists(st.integers(min_value=990, max_value=1010), min_size=11, max_size=20), st.integers(0, 10**15))
def test_one_outlier_moves_the_figure_no_further_than_its_neighbours(blocks: list[int], outlier: int) -> None:
    found = summarize(rounds_of([*blocks[1:], outlier + 1]))
    assert found is not None
    assert found.low_s is not None
    assert found.high_s is not None
    assert 990 <= round(found.low_s * 1e9) <= round(found.median_s * 1e9) <= round(found.high_s * 1e9) <= 1010


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_ties_give_an_interval_without_width(rounds: int) -> None:
    found = summarize(rounds_of(*[[250] * 10] * rounds))
    assert found is not None
    assert (found.low_s, found.median_s, found.high_s) == pytest.approx((2.5e-7, 2.5e-7, 2.5e-7))
    assert is_enough([250] * 10)


def test_one_sample_is_a_figure_without_an_interval() -> None:
    found = summarize(rounds_of([250]))
    assert found is not None
    assert (found.median_s, found.low_s, found.interval, found.samples) == (2.5e-7, None, None, 1)


@given(BLOCKS, BLOCKS)
def test_two_rounds_give_the_centre_of_both_and_no_interval(first: list[int], second: list[int]) -> None:
    found = summarize(rounds_of(first, second))
    assert found is not None
    assert (found.low_s, found.high_s, found.interval) == (None, None, None)
    assert found.median_s == pytest.approx(math.sqrt(median(first) * median(second)) / 1e9)


def test_a_round_without_samples_counts_for_nothing() -> None:
    full, empty = [[100] * 10, [101] * 10], Round(number=2, iterations=1, block_ns=())
    assert summarize((*rounds_of(*full), empty)) == summarize(rounds_of(*full))
    assert round_medians((empty,)) == []
    assert summarize((empty,)) is None


def test_all_medians_of_a_bimodal_case_are_to_be_had() -> None:
    assert round_medians(rounds_of([100, 300, 200], [900], iterations=2)) == [1e-7, 4.5e-7]


@pytest.mark.parametrize(
    ("freedom", "confidence", "expected"),
    [
        (1, 0.95, 12.7062),
        (2, 0.95, 4.30265),
        (3, 0.95, 3.18245),
        (4, 0.95, 2.77645),
        (9, 0.95, 2.26216),
        (30, 0.95, 2.04227),
        (120, 0.95, 1.97993),
        (2, 0.99, 9.92484),
        (5, 0.99, 4.03214),
        (10, 0.90, 1.81246),
    ],
)
def test_t_is_that_of_the_printed_tables(freedom: int, confidence: float, expected: float) -> None:
    assert t_quantile(freedom, confidence) == pytest.approx(expected, rel=3e-6)


def test_t_falls_towards_the_normal_quantile() -> None:
    values = [t_quantile(freedom) for freedom in range(1, 300)]
    assert all(more > fewer for more, fewer in pairwise(values))
    assert t_quantile(100_001) == pytest.approx(1.959964, abs=1e-4)


@pytest.mark.parametrize(("freedom", "confidence"), [(0, 0.95), (-1, 0.95), (2, 0.0), (2, 1.0)])
def test_t_of_nothing_is_refused(freedom: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="no t for"):
        t_quantile(freedom, confidence)


@given(CLOSE)
def test_a_run_agrees_with_itself(medians: list[int]) -> None:
    rounds = rounds_of(*([m] for m in medians))
    assert agrees(rounds, rounds) is True


@given(CLOSE, CLOSE, st.integers(min_value=2, max_value=100))
def test_whether_runs_agree_does_not_depend_on_the_unit(first: list[int], second: list[int], unit: int) -> None:
    one = agrees(rounds_of(*([m] for m in first)), rounds_of(*([m] for m in second)))
    assert agrees(rounds_of(*([m * unit] for m in first)), rounds_of(*([m * unit] for m in second))) is one


def test_two_runs_agree_up_to_the_end_of_the_prediction_interval() -> None:
    """Worked by hand for medians 1.00, 1.02 and 1.05 ms and a second run of two rounds."""
    first = rounds_of([1_000_000], [1_020_000], [1_050_000])
    logs = [math.log(v) for v in (1.00, 1.02, 1.05)]
    centre = sum(logs) / 3
    half = 4.302653 * math.sqrt(sum((x - centre) ** 2 for x in logs) / 2) * math.sqrt(1 / 3 + 1 / 2)
    for sign in (-1, 1):
        inside, outside = (round(1e6 * math.exp(centre + sign * half * share)) for share in (0.999, 1.001))
        assert agrees(first, rounds_of([inside], [inside])) is True
        assert agrees(first, rounds_of([outside], [outside])) is False


def test_nothing_is_said_of_runs_that_predict_nothing() -> None:
    three, two, far = rounds_of([100], [101], [102]), rounds_of([100], [101]), rounds_of([100], [101], [160])
    assert agrees(three, two) is not None
    assert agrees(two, three) is None
    assert agrees(three, ()) is None
    assert agrees(three, far) is None
    assert agrees(far, three) is None


def test_a_minute_of_work_is_judged_by_its_end() -> None:
    burst, cooling = rounds_of([100] * 10), Sustained(iterations=2, block_ns=(200, 200, 240, 260, 300, 300))
    assert sustained_ratio(burst, cooling) == pytest.approx(1.5)
    assert sustained_ratio((), cooling) is None
    assert sustained_ratio(burst, Sustained(iterations=1, block_ns=())) is None


@given(st.lists(st.integers(min_value=1, max_value=10**9), max_size=25))
def test_sampling_may_stop_only_at_a_look_and_when_the_median_is_known_to_one_percent(times: list[int]) -> None:
    ends = median_interval(times)
    precise = ends is not None and ends[1] - ends[0] <= 0.02 * median(times)
    assert is_enough(times) is (len(times) in LOOKS and precise)


@pytest.mark.parametrize(("half_width", "enough"), [(9, True), (11, False)])
def test_one_percent_to_either_side_is_enough(half_width: int, *, enough: bool) -> None:
    assert is_enough([1000 - half_width] * 5 + [1000 + half_width] * 5) is enough


def _coverage(count: int, rank: int) -> float:
    return 1 - 2 * sum(math.comb(count, k) * 0.5**count for k in range(rank + 1))
