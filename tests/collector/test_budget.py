"""Sharing out the time of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_collector.budget import Budget, iteration_s, least_s, level
from metalmark_collector.efforts import EFFORTS
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.words import Effort

SECONDS = st.floats(min_value=0.1, max_value=500)


def _budget() -> Budget:
    return Budget(aimed_s=90, limit_s=240, began=0)


def test_with_time_to_spare_every_case_gets_its_need_and_an_equal_part_of_the_rest() -> None:
    assert _budget().share_s(0, 2, 8, [100] * 10) == pytest.approx(2 + 80 / 10)


def test_what_quick_cases_cannot_use_is_for_the_slow_ones() -> None:
    assert _budget().share_s(0, 2, 8, [100, *[5] * 8, 100]) == pytest.approx(2 + (80 - 8 * 5) / 2)
    assert _budget().share_s(0, 2, 8, [5, *[5] * 8, 100]) == 2 + 5


def test_no_case_gets_more_than_it_can_use() -> None:
    assert _budget().share_s(0, 2, 0, [3]) == 5


def test_a_late_run_gives_each_case_its_need_alone() -> None:
    assert _budget().share_s(85, 4, 40, [9] * 10) == 4


@given(st.floats(0, 1000), st.lists(SECONDS, min_size=1, max_size=30))
def test_a_level_takes_all_there_is_unless_every_wish_is_fulfilled(spare: float, wishes: list[float]) -> None:
    each = level(spare, wishes)
    assert sum(min(wish, each) for wish in wishes) == pytest.approx(min(spare, sum(wishes)))


@given(st.lists(SECONDS, min_size=1, max_size=30), st.floats(min_value=0, max_value=200))
def test_shares_of_cases_that_keep_to_them_never_pass_the_limit(needs: list[float], late: float) -> None:
    now = late
    for place, need in enumerate(needs):
        others = needs[place + 1 :]
        now += _budget().share_s(now, need, sum(others), [need, *others])
    assert now <= 240


@given(SECONDS, SECONDS, st.lists(SECONDS, min_size=1, max_size=30))
def test_a_share_is_positive_and_no_more_than_a_case_can_use(need: float, others: float, wishes: list[float]) -> None:
    assert 0 < _budget().share_s(0, need, others, wishes) <= need + wishes[0]


@given(SECONDS, st.lists(SECONDS, min_size=1, max_size=30), st.floats(min_value=0, max_value=239))
def test_what_a_slow_first_iteration_may_take_more_costs_no_other_case_its_least(
    share: float, others: list[float], now: float
) -> None:
    grace = _budget().grace_s(now, share, sum(others))
    assert 0 <= grace <= 2 * share
    assert grace == 0 or now + share + grace + sum(others) <= 240


def test_a_run_with_time_left_forgives_a_slow_first_iteration() -> None:
    assert _budget().grace_s(20, 3, 40) == 6
    assert _budget().grace_s(200, 3, 40) == 0


@pytest.mark.parametrize(("flops_per_s", "slow"), [(1e11, True), (1e13, False)])
def test_an_estimate_follows_from_the_device_and_the_work(flops_per_s: float, slow: bool) -> None:
    estimate = iteration_s(WORKLOADS["vgg16-train-b4"].facts, flops_per_s)
    assert (estimate > 1) is slow


def test_the_quick_suite_is_thought_to_fit_its_aim_on_an_m1() -> None:
    """An M1 does about 1 TFLOP/s on its CPU with AMX and 2 on its GPU, in fp32 matmul."""
    scope = EFFORTS[Effort.QUICK]
    need = sum(least_s(iteration_s(WORKLOADS[w].facts, rate)) for rate in (0.9e12, 2e12) for w in scope.workloads)
    assert need <= scope.aimed_s
    assert scope.limit_s == 240
