"""Whether the machine slept, told by clocks that a test moves, and by the real ones."""

import time

import pytest

from metalmark_collector.slept import Clocks, SleepWatch, system_clocks


class Machine:
    """A machine with two clocks that sleeps and is held up when told to."""

    def __init__(self) -> None:
        self.running_s, self.awake_s = 5000.0, 100.0
        self.held_up_s = 0.0  # between any two readings

    def clocks(self) -> Clocks:
        """Its clocks."""
        return Clocks(lambda: self._read("running_s"), lambda: self._read("awake_s"))

    def work(self, seconds: float) -> None:
        """Both clocks go on."""
        self.running_s += seconds
        self.awake_s += seconds

    def sleep(self, seconds: float) -> None:
        """Only one does."""
        self.running_s += seconds

    def _read(self, clock: str) -> float:
        now = float(getattr(self, clock))
        self.work(self.held_up_s)
        return now


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_work_however_long_is_no_sleep(machine: Machine) -> None:
    watch = SleepWatch(machine.clocks())
    machine.work(3600)
    assert watch.gap_s() == pytest.approx(0)
    assert not watch.slept


def test_a_gap_of_more_than_half_a_second_is_sleep(machine: Machine) -> None:
    watch = SleepWatch(machine.clocks())
    machine.work(2)
    machine.sleep(0.4)
    assert not watch.slept
    machine.sleep(0.2)
    assert watch.gap_s() == pytest.approx(0.6)
    assert watch.slept


def test_after_a_restart_only_new_sleep_counts(machine: Machine) -> None:
    watch = SleepWatch(machine.clocks())
    machine.sleep(30)
    watch.restart()
    machine.work(10)
    assert not watch.slept
    machine.sleep(30)
    assert watch.gap_s() == pytest.approx(30)


def test_a_process_held_up_between_two_readings_has_not_slept(machine: Machine) -> None:
    """Under load a second may pass between reading one clock and the other, in the beginning as at the end."""
    for before, after in ((0.0, 7.0), (7.0, 0.0), (7.0, 7.0)):
        machine.held_up_s = before
        watch = SleepWatch(machine.clocks())
        machine.held_up_s = after
        assert not watch.slept


def test_a_clock_that_is_set_back_is_no_sleep(machine: Machine) -> None:
    watch = SleepWatch(machine.clocks())
    machine.sleep(-3600)
    assert watch.gap_s() == 0


def test_the_real_clocks_agree_while_the_machine_is_awake() -> None:
    watch = SleepWatch()
    time.sleep(0.05)
    assert watch.gap_s() < 0.05


def test_a_step_of_the_time_of_day_is_not_seen_where_better_clocks_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = system_clocks()
    watch = SleepWatch(clocks)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert not watch.slept


def test_without_a_pair_of_clocks_the_time_of_day_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOCK_BOOTTIME", "CLOCK_UPTIME_RAW"):
        monkeypatch.delattr(time, name, raising=False)
    assert system_clocks() == Clocks(time.time, time.monotonic)
