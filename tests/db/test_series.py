"""Series of times: the reported ones and generated ones get the flag that they deserve."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_db.record import Round, Sustained
from metalmark_db.series import case_flags, drift_ratio, flag

REPORTED = sorted((Path(__file__).parents[1] / "data" / "fixtures" / "timings").glob("*.json"))
FLAGS = ("warmup", "bimodal", "throttling", None)  # what a series alone can tell
NOISE = st.floats(min_value=0.003, max_value=0.03)
LENGTH = st.integers(min_value=6, max_value=60)
SEED = st.integers(min_value=0, max_value=2**32)
Pattern = Callable[[float], float]  # how far into the series, from 0 to 1 -> how slow


def noisy(pattern: Pattern, length: int, noise: float, seed: int, unit: float = 1.0) -> list[float]:
    """A series with that pattern; noise beyond three deviations would be an outlier and is drawn again."""
    draw = random.Random(seed)
    values = []
    for n in range(length):
        shift = next(x for x in iter(lambda: draw.gauss(0, noise), None) if abs(x) < 3 * noise)
        values.append(unit * pattern(n / (length - 1)) * math.exp(shift))
    return values


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_a_reported_series_gets_its_flag(path: Path) -> None:
    """Those that a series alone can tell; the others are what the engine must prevent or record."""
    reported: dict[str, Any] = json.loads(path.read_text())
    if reported["expected"]["flag"] in FLAGS:
        assert reported["unit"] in {"s", "ms"}
        assert flag(reported["values"]) == reported["expected"]["flag"]
    else:
        assert "labels" in reported or len(reported["values"]) < 3


@pytest.mark.parametrize("path", REPORTED, ids=lambda path: path.stem)
def test_a_reported_drift_is_found_as_large_as_it_was(path: Path) -> None:
    reported = json.loads(path.read_text())
    if "drift_ratio" in reported["expected"]:
        assert drift_ratio(reported["values"]) == pytest.approx(reported["expected"]["drift_ratio"], rel=0.001)


@given(LENGTH, NOISE, SEED, st.floats(min_value=0.4, max_value=3.0))
def test_times_that_rise_steadily_are_throttling(length: int, noise: float, seed: int, rise: float) -> None:
    assert flag(noisy(lambda at: 1 + rise * at, length, noise, seed)) == "throttling"


@given(LENGTH, NOISE, SEED, st.floats(min_value=1.35, max_value=4.0))
def test_times_that_jump_up_once_and_stay_are_throttling(length: int, noise: float, seed: int, to: float) -> None:
    assert flag(noisy(lambda at: to if at > 0.5 else 1, length, noise, seed)) == "throttling"


@given(LENGTH, NOISE, SEED, st.floats(min_value=0.6, max_value=10.0))
def test_times_that_fall_to_a_level_are_warmup(length: int, noise: float, seed: int, cold: float) -> None:
    assert flag(noisy(lambda at: 1 + cold * math.exp(-5 * at), length, noise, seed)) == "warmup"


@given(LENGTH, NOISE, SEED, st.floats(min_value=1.6, max_value=100.0))
def test_one_slow_value_at_the_start_is_warmup(length: int, noise: float, seed: int, cold: float) -> None:
    assert flag(noisy(lambda at: cold if at == 0 else 1, length, noise, seed)) == "warmup"


def in_turn(length: int, noise: float, seed: int, slow: float) -> list[float]:
    """Two of three values are slow."""
    return noisy(lambda at: slow if round(at * (length - 1)) % 3 else 1, length, noise, seed)


@given(LENGTH, NOISE, SEED, st.floats(min_value=2.5, max_value=30.0))
def test_two_speeds_in_turn_are_bimodal(length: int, noise: float, seed: int, slow: float) -> None:
    assert flag(in_turn(length, noise, seed, slow)) == "bimodal"


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
@pytest.mark.parametrize(("length", "least"), [(6, 950), (20, 990), (60, 990)])
def test_two_speeds_half_apart_are_bimodal_in_nearly_every_series(length: int, least: int, noise: float) -> None:
    """Of a thousand; six noisy values can look like one broad group by chance."""
    found = [flag(in_turn(length, noise, seed, 1.5)) for seed in range(1000)]
    assert found.count("bimodal") >= least


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.03])
@pytest.mark.parametrize("length", [5, 10, 20])
def test_noise_alone_is_flagged_less_than_once_in_a_thousand_series(noise: float, length: int) -> None:
    draw = random.Random(length)
    alarms = sum(flag([math.exp(draw.gauss(0, noise)) for _ in range(length)]) is not None for _ in range(2000))
    assert alarms <= 2


@given(LENGTH, NOISE, SEED, st.data())
def test_one_interrupted_value_is_no_pattern_unless_it_comes_first(
    length: int, noise: float, seed: int, data: st.DataObject
) -> None:
    values = noisy(lambda _: 1, length, min(noise, 0.01), seed)
    values[data.draw(st.integers(min_value=1, max_value=length - 2))] *= 5
    assert flag(values) is None


@given(st.lists(st.floats(min_value=0.5, max_value=2.0), max_size=25), st.integers(min_value=-30, max_value=30))
def test_the_unit_does_not_matter(values: list[float], power: int) -> None:
    assert flag([math.ldexp(value, power) for value in values]) == flag(values)


@given(LENGTH, NOISE, SEED)
def test_backwards_throttling_is_warming_up(length: int, noise: float, seed: int) -> None:
    assert flag(noisy(lambda at: 1 + at, length, noise, seed)[::-1]) == "warmup"


@given(st.floats(min_value=1e-9, max_value=1e6), st.integers(min_value=0, max_value=30))
def test_equal_times_have_no_pattern(value: float, count: int) -> None:
    assert flag([value] * count) is None


def test_two_values_or_none_tell_nothing() -> None:
    assert flag([1.0, 9.0]) is None
    assert drift_ratio([]) is None
    assert drift_ratio([1.0, 9.0]) is None


def test_three_values_that_go_up_and_down_are_no_drift() -> None:
    assert flag([1.0, 9.0, 2.0]) is None


def rounds_of(*blocks: list[int]) -> tuple[Round, ...]:
    return tuple(Round(number=n, iterations=1, block_ns=tuple(b)) for n, b in enumerate(blocks))


def test_a_steady_case_has_no_flag() -> None:
    assert case_flags(rounds_of([100] * 10, [101] * 10, [102] * 10)) == ()
    assert case_flags(()) == ()


def test_a_case_whose_rounds_lie_far_apart_is_bimodal() -> None:
    assert case_flags(rounds_of([100] * 10, [160] * 10)) == ("bimodal",)


def test_drift_within_one_round_or_within_the_minute_flags_the_case() -> None:
    rising = tuple(range(100, 200, 10))
    steady = rounds_of([100] * 10)
    assert case_flags((*steady, *rounds_of(list(rising)))) == ("throttling",)
    assert case_flags(steady, Sustained(iterations=3, block_ns=rising)) == ("throttling",)
