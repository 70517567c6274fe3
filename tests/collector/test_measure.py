"""The measuring loop on a scripted asynchronous device: what it must find, and what it must catch."""

import gc
from collections.abc import Callable

import pytest
import torch

from metalmark_collector import measure as engine
from metalmark_collector.clock import ScriptedClock
from metalmark_collector.devices.fake import FakeDevice, Script, drifting, steady, warming
from metalmark_collector.laps import BUILDING, SAMPLING, WARMING_UP, Laps
from metalmark_collector.measure import OverBudget, Session, Unsynchronized, measure, time_block
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.record import Round, Workload
from metalmark_db.stats import summarize

FACTS = WORKLOADS["matmul-2048"].facts
MS = 1_000_000
MakeSession = Callable[..., Session]


@pytest.fixture
def session() -> MakeSession:
    """Makes a session of some seconds on a fake device."""

    def make(script: Script, seconds: float = 20.0, **ways: object) -> Session:
        clock = ScriptedClock()
        device = FakeDevice(clock=clock, script=script, **ways)  # type: ignore[arg-type]
        work = device.wrap(lambda: torch.ones(2), FACTS)
        return Session(work, device, clock, end_ns=int(seconds * 1e9))

    return make


def centre(samples: Round) -> float:
    """Median in seconds per iteration."""
    found = summarize([samples])
    assert found is not None
    return found.median_s


@pytest.mark.parametrize("duration_ns", [20_000, 1 * MS, 7 * MS, 300 * MS])
def test_a_steady_device_is_measured_to_within_one_percent(session: MakeSession, duration_ns: int) -> None:
    samples = measure(session(steady(duration_ns), seconds=60), 0)
    assert centre(samples) == pytest.approx(duration_ns / 1e9, rel=0.01)


def test_blocks_are_long_enough_for_the_clock(session: MakeSession) -> None:
    samples = measure(session(steady(50_000)), 0)
    assert min(samples.block_ns) >= engine.BLOCK_NS
    assert samples.iterations >= engine.BLOCK_NS // 50_000


def test_blocks_are_long_enough_also_when_the_first_ones_were_interrupted(session: MakeSession) -> None:
    """Calibration sees iterations that take twenty times as long as all later ones."""
    interrupted: Script = lambda _facts, iteration: 4 * MS if iteration < 20 else MS // 5  # noqa: E731
    samples = measure(session(interrupted), 0)
    assert min(samples.block_ns) >= engine.BLOCK_NS
    assert centre(samples) == pytest.approx(0.2e-3, rel=0.03)


def test_at_most_twenty_blocks_are_kept_and_a_steady_case_stops_after_ten(session: MakeSession) -> None:
    assert len(measure(session(steady(MS)), 0).block_ns) == 10
    noisy = session(lambda _facts, iteration: MS + (iteration * 7919 % 100) * 20_000)
    assert len(measure(noisy, 0).block_ns) <= 20


def test_the_first_call_is_kept_apart(session: MakeSession) -> None:
    compiling: Script = lambda _facts, iteration: 900 * MS if iteration == 0 else MS  # noqa: E731
    samples = measure(session(compiling), 0)
    assert samples.first_call_ns is not None
    assert samples.first_call_ns >= 900 * MS
    assert centre(samples) == pytest.approx(1e-3, rel=0.02)


def test_samples_begin_only_when_times_no_longer_fall(session: MakeSession) -> None:
    """A device that starts three times too slow and settles after 200 iterations is measured settled."""
    warm = session(warming(2 * MS, cold=3.0, iterations=200))
    samples = measure(warm, 0)
    assert centre(samples) == pytest.approx(2e-3, rel=0.02)
    assert samples.warmup_iterations is not None
    assert samples.warmup_iterations >= 150
    assert "warmup_cap" not in warm.flags


def test_a_device_that_never_settles_is_flagged(session: MakeSession) -> None:
    heating = session(drifting(2 * MS, per_iteration=0.01), seconds=10)
    measure(heating, 0)
    assert "warmup_cap" in heating.flags


def test_a_synchronize_that_does_not_wait_is_caught(session: MakeSession) -> None:
    with pytest.raises(Unsynchronized, match="still worked"):
        measure(session(steady(5 * MS), synchronizes=False), 0)


def test_leaving_out_synchronize_would_time_the_enqueueing_alone(session: MakeSession) -> None:
    """Why a block waits: this device enqueues in a thousandth of its real time, which is kept as information."""
    samples = measure(session(steady(5 * MS), enqueue_ns=5_000), 0)
    assert samples.enqueue_ns is not None
    assert samples.enqueue_ns / samples.iterations < 0.01 * 5 * MS
    assert min(samples.block_ns) / samples.iterations >= 5 * MS


def test_the_residual_wait_of_an_honest_device_is_small(session: MakeSession) -> None:
    samples = measure(session(steady(5 * MS)), 0)
    assert samples.residual_ns is not None
    assert samples.residual_ns < MS


def test_a_case_that_gets_no_block_into_its_time_is_over_budget(session: MakeSession) -> None:
    with pytest.raises(OverBudget, match="first iteration took 30"):
        measure(session(steady(30_000 * MS), seconds=20), 0)


def test_a_first_iteration_that_loads_kernels_is_forgiven_where_there_is_time(session: MakeSession) -> None:
    """On an H200 a first step of 2 s, of a training that takes 25 ms, cost the case a run that had minutes left."""

    def loading(_facts: Workload, iteration: int) -> int:
        return 2_000 * MS if iteration == 0 else 25 * MS

    with pytest.raises(OverBudget, match="first iteration took 2"):
        measure(session(loading, seconds=2.5), 0)
    forgiven = session(loading, seconds=2.5)
    forgiven.grace_ns = 5_000 * MS
    samples = measure(forgiven, 0)
    assert len(samples.block_ns) >= 10
    assert min(samples.block_ns) / samples.iterations == pytest.approx(25 * MS, rel=0.01)
    assert forgiven.clock.now_ns() <= 7.5e9 * 1.1


def test_more_time_is_taken_only_where_it_is_needed_and_helps(session: MakeSession) -> None:
    quick = session(steady(20 * MS), seconds=4)
    quick.grace_ns = 100_000 * MS
    measure(quick, 0)
    assert quick.clock.now_ns() <= 4e9 * 1.1
    hopeless = session(steady(30_000 * MS), seconds=20)
    hopeless.grace_ns = 5_000 * MS
    with pytest.raises(OverBudget, match="first iteration took 30"):
        measure(hopeless, 0)


def test_a_slow_case_gives_what_its_time_allows_and_says_so(session: MakeSession) -> None:
    slow = session(steady(4_000 * MS), seconds=20)
    samples = measure(slow, 0)
    assert 1 <= len(samples.block_ns) <= 4
    assert samples.iterations == 1
    assert "few_samples" in slow.flags
    assert slow.clock.now_ns() <= 24e9


@pytest.mark.parametrize("slower", [0.1, 1.0, 10.0])
def test_a_case_keeps_to_its_time_on_fast_and_slow_devices(session: MakeSession, slower: float) -> None:
    at_hand = session(drifting(20 * MS, per_iteration=0.001), seconds=8, slower=slower)
    measure(at_hand, 0)
    assert at_hand.clock.now_ns() <= 8e9 * 1.1


def test_a_block_times_neither_what_came_before_nor_the_garbage_collector(session: MakeSession) -> None:
    at_hand = session(steady(10 * MS))
    at_hand.work()  # enqueued before the block: the block must wait for it first
    block = time_block(at_hand, 1)
    assert block.elapsed_ns < 11 * MS
    assert gc.isenabled()


def test_the_garbage_collector_is_on_again_after_a_case_that_failed(session: MakeSession) -> None:
    def fail() -> torch.Tensor:
        raise RuntimeError("no")

    at_hand = session(steady(MS))
    at_hand.work = fail
    with pytest.raises(RuntimeError):
        measure(at_hand, 0)
    assert gc.isenabled()


def test_between_blocks_the_watcher_is_called_and_never_inside_one(session: MakeSession) -> None:
    calls: list[int] = []
    at_hand = session(steady(MS))
    at_hand.between = calls.append
    samples = measure(at_hand, 0)
    assert [c for c in calls if c] == list(range(1, len(samples.block_ns) + 1))


def test_a_minute_of_work_takes_the_energy_that_its_device_counts(session: MakeSession) -> None:
    counted = session(steady(7 * MS), watts=20.0)
    assert isinstance(counted.clock, ScriptedClock)
    pause = counted.clock.advance
    counted.between = lambda _: pause(10 * MS)  # as when the screen is drawn
    minute = engine.sustain(counted, 7 * MS, 60)
    seconds = sum(minute.block_ns) / 1e9
    assert 55 <= seconds < 60
    assert minute.energy_s is not None
    assert 60 <= minute.energy_s < 62
    assert minute.energy_j == pytest.approx(20 * minute.energy_s, rel=1e-3)
    assert minute.energy_source == "script"
    silent = engine.sustain(session(steady(7 * MS)), 7 * MS, 1)
    assert (silent.energy_j, silent.energy_source, silent.energy_s) == (None, None, None)


def test_the_parts_of_the_work_add_up_to_its_time(session: MakeSession) -> None:
    timed = session(steady(3 * MS))
    timed.laps = Laps(timed.clock)
    measure(timed, 0)
    engine.per_call(timed)
    assert set(timed.laps.seconds) == {BUILDING, WARMING_UP, SAMPLING}
    assert sum(timed.laps.seconds.values()) == pytest.approx(timed.clock.now_ns() / 1e9)


def test_compiling_takes_nothing_from_the_time_for_measuring(session: MakeSession) -> None:
    """A first call of a minute in a case of five seconds: too long for an eager case, and normal for a compiler."""
    compiler: Script = lambda _facts, iteration: 60_000 * MS if iteration == 0 else 3 * MS  # noqa: E731
    timed = session(compiler, seconds=5)
    timed.compiles = True
    samples = measure(timed, 0)
    assert centre(samples) == pytest.approx(3e-3, rel=0.01)
    assert samples.first_call_ns is not None
    assert samples.first_call_ns >= 60_000 * MS
    assert timed.clock.now_ns() <= 66e9
    with pytest.raises(OverBudget):
        measure(session(compiler, seconds=5), 0)


@pytest.mark.parametrize(("duration_ns", "least"), [(50_000, 250), (7 * MS, 250), (400 * MS, 140), (3000 * MS, 19)])
def test_a_minute_of_work_has_as_many_blocks_as_iterations_allow(
    session: MakeSession, duration_ns: int, least: int
) -> None:
    """Blocks of a fifth of a second, or single iterations: enough to see when the machine slows down."""
    minute = engine.sustain(session(steady(duration_ns)), duration_ns, 60)
    assert least <= len(minute.block_ns) <= 310
