"""The fake device: asynchronous as a GPU is, in scripted time, and misleading on request."""

import pytest
import torch

from metalmark_collector.devices.base import Work
from metalmark_collector.devices.fake import FakeDevice, Script, by_flops, drifting, steady, warming
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.words import Precision

MATMUL = WORKLOADS["matmul-2048"].facts
COPY = WORKLOADS["copy-bandwidth"].facts
MS = 1_000_000


def _work(device: FakeDevice) -> Work:
    ones = torch.ones(4)
    return device.wrap(lambda: ones + ones, MATMUL)


def _durations(script: Script, count: int) -> list[int]:
    """What each of ``count`` iterations takes when every one is waited for."""
    device = FakeDevice(script=script, enqueue_ns=0, synchronize_ns=0)
    work, times = _work(device), []
    for _ in range(count):
        start = device.clock.now_ns()
        work()
        device.synchronize()
        times.append(device.clock.now_ns() - start)
    return times


def test_enqueuing_comes_back_before_the_work_is_done() -> None:
    device = FakeDevice(script=steady(MS), enqueue_ns=10)
    work = _work(device)
    work()
    work()
    assert device.clock.now_ns() == 20


def test_synchronize_waits_for_everything_that_was_enqueued() -> None:
    device = FakeDevice(script=steady(MS), enqueue_ns=10, synchronize_ns=7)
    work = _work(device)
    for _ in range(3):
        work()
    device.synchronize()
    assert device.clock.now_ns() == 10 + 3 * MS + 7


def test_an_idle_device_starts_work_when_it_is_enqueued() -> None:
    device = FakeDevice(script=steady(MS), enqueue_ns=0, synchronize_ns=0)
    device.clock.advance(5 * MS)
    _work(device)()
    device.synchronize()
    assert device.clock.now_ns() == 6 * MS


def test_after_a_true_synchronize_an_element_is_read_at_once() -> None:
    device = FakeDevice(script=steady(MS), read_ns=100)
    output = _work(device)()
    device.synchronize()
    before = device.clock.now_ns()
    assert device.read_element(output) == 2
    assert device.clock.now_ns() - before == 100


def test_reading_an_element_shows_that_synchronize_did_not_wait() -> None:
    device = FakeDevice(script=steady(MS), enqueue_ns=0, synchronize_ns=0, read_ns=100, synchronizes=False)
    output = _work(device)()
    device.synchronize()
    assert device.clock.now_ns() == 0
    device.read_element(output)
    assert device.clock.now_ns() == MS + 100


def test_a_steady_device_takes_the_same_time_always() -> None:
    assert _durations(steady(MS), 3) == [MS] * 3


def test_a_drifting_device_gets_slower_with_every_iteration() -> None:
    assert _durations(drifting(MS, 0.5), 3) == [MS, 1.5 * MS, 2 * MS]


def test_a_cold_device_warms_up_and_stays_warm() -> None:
    assert _durations(warming(MS, cold=3, iterations=2), 4) == [3 * MS, 2 * MS, MS, MS]


def test_a_device_of_some_speed_takes_the_time_of_the_operations() -> None:
    script = by_flops(1e12, otherwise_ns=42)
    assert script(MATMUL, 0) == round(2 * 2048**3 / 1e3)
    assert script(COPY, 0) == 42


@pytest.mark.parametrize("slower", [0.1, 1, 10])
def test_the_whole_device_can_be_slower_or_faster(slower: float) -> None:
    device = FakeDevice(script=steady(MS), slower=slower, enqueue_ns=0, synchronize_ns=0)
    _work(device)()
    device.synchronize()
    assert device.clock.now_ns() == round(MS * slower)


def test_the_fake_computes_what_the_cpu_computes() -> None:
    entry = WORKLOADS["matmul-2048"]
    built = entry.build(FakeDevice(), Precision.FP32, seed=3, size="tiny")
    left, right = (built.step(), built.output())
    assert torch.equal(left, right)
    assert left.square().mean().sqrt() > 1


def test_a_wrong_result_is_off_by_as_much_as_was_asked() -> None:
    entry = WORKLOADS["resnet18-infer-b32"]
    right = entry.build(FakeDevice(), Precision.FP32, seed=3, size="tiny").output()
    wrong = entry.build(FakeDevice(error=0.25), Precision.FP32, seed=3, size="tiny").output()
    assert float((wrong - right).norm() / right.norm()) == pytest.approx(0.25, rel=1e-3)


def test_what_it_says_of_itself_is_scripted() -> None:
    device = FakeDevice(why_unusable="switched off", memory_limit=5)
    assert device.unusable() == "switched off"
    assert device.recommended_memory() == 5
    assert device.chip_name() == "Fake device"
