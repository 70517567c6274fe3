"""The clocks: the system's runs by itself, the scripted one only when told to."""

import pytest

from metalmark_collector.clock import Clock, ScriptedClock, SystemClock


def test_the_system_clock_never_goes_back() -> None:
    clock: Clock = SystemClock()
    times = [clock.now_ns() for _ in range(100)]
    assert times == sorted(times)


def test_a_scripted_clock_stands_still_until_it_is_advanced() -> None:
    clock = ScriptedClock()
    assert clock.now_ns() == clock.now_ns() == 0
    clock.advance(5)
    assert clock.now_ns() == 5


def test_reading_a_scripted_clock_takes_its_tick() -> None:
    clock = ScriptedClock(tick_ns=3)
    assert [clock.now_ns() for _ in range(3)] == [0, 3, 6]


def test_advancing_to_a_moment_that_has_passed_changes_nothing() -> None:
    clock = ScriptedClock(time_ns=10)
    clock.advance_to(4)
    assert clock.now_ns() == 10
    clock.advance_to(12)
    assert clock.now_ns() == 12


def test_a_scripted_clock_refuses_to_go_back() -> None:
    with pytest.raises(ValueError, match="cannot go back"):
        ScriptedClock().advance(-1)
