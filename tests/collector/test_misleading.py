"""Ways in which people's timings misled them: the engine prevents each, or records what explains it.

What a series of times tells by itself is tested in tests/db/test_series.py.
"""

import gc
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from metalmark_collector.clock import ScriptedClock
from metalmark_collector.devices.base import Work
from metalmark_collector.devices.fake import FakeDevice, Script, drifting, steady
from metalmark_collector.fingerprint import local_probe, read_conditions, read_software, replay_probe
from metalmark_collector.measure import MAX_BLOCKS, Session, Unsynchronized, measure, per_call, sustain
from metalmark_collector.process import Worker
from metalmark_collector.workloads import FAMILIES, WORKLOADS
from metalmark_db.plausible import Kind, is_beyond_peak
from metalmark_db.record import Round, Workload
from metalmark_db.series import case_flags, flag
from metalmark_db.stats import seconds_per_iteration, summarize
from metalmark_db.words import Precision

FIXTURES = Path(__file__).parents[1] / "data" / "fixtures"
FACTS = WORKLOADS["matmul-2048"].facts
MS = 1_000_000
TESTED = {
    "warmup",
    "bimodal",
    "throttling",
    "missing_synchronize",
    "gpu_idle_clock",
    "sync_in_loop",
    "recompile_per_shape",
    "impossible_throughput",
    "low_power_mode",
    "swap_in_use",
    "rosetta",
    "efficiency_cores",
}


@dataclass
class Logged(FakeDevice):
    """A fake that remembers what it was asked to do, and when."""

    log: list[tuple[str, int]] = field(default_factory=list)

    def wrap(self, work: Work, facts: Workload) -> Work:
        """The work, whose enqueuing is remembered."""
        enqueue = super().wrap(work, facts)

        def logged() -> torch.Tensor:
            self.log.append(("work", self.clock.time_ns))
            return enqueue()

        return logged

    def synchronize(self) -> None:
        """Remembered once it is over."""
        super().synchronize()
        self.log.append(("synchronize", self.clock.time_ns))

    def read_element(self, tensor: torch.Tensor) -> float:
        """Remembered before it waits."""
        self.log.append(("read", self.clock.time_ns))
        return super().read_element(tensor)

    def blocks(self) -> list[list[str]]:
        """What happened from the first iteration of each block to the wait at its end."""
        blocks: list[list[str]] = []
        inside = False
        for name, _ in self.log:
            if name == "work" and not inside:
                blocks.append([])
                inside = True
            if inside:
                blocks[-1].append(name)
            inside = inside and name != "synchronize"
        return blocks


def session(device: FakeDevice, work: Callable[[], Any] = lambda: torch.ones(2), seconds: float = 20.0) -> Session:
    """A session of some scripted seconds."""
    return Session(device.wrap(work, FACTS), device, device.clock, end_ns=int(seconds * 1e9))


def cooling(device: FakeDevice, duration_ns: int, *, idle_ns: int, slower: float) -> Script:
    """A GPU that lowers its clock when nothing was asked of it for a while."""
    last = 0

    def script(_facts: Workload, _iteration: int) -> int:
        nonlocal last
        idle = device.clock.time_ns - last > idle_ns
        taken = round(duration_ns * (slower if idle else 1))
        last = max(device.clock.time_ns, last) + taken
        return taken

    return script


def test_every_reported_flag_has_a_test_here_or_among_the_series() -> None:
    reported = {json.loads(path.read_text())["expected"]["flag"] for path in (FIXTURES / "timings").glob("*.json")}
    assert reported - {None} <= TESTED


def test_missing_synchronize_is_an_error_and_no_result() -> None:
    with pytest.raises(Unsynchronized):
        measure(session(FakeDevice(script=steady(5 * MS), synchronizes=False)), 0)


def test_every_block_begins_and_ends_with_the_device_idle() -> None:
    device = Logged(script=steady(3 * MS))
    measure(session(device), 0)
    names = [name for name, _ in device.log]
    starts = [n for n, name in enumerate(names) if name == "work" and names[n - 1] != "work"]
    assert starts
    assert all(names[n - 1] == "synchronize" for n in starts)
    assert all(block[-1] == "synchronize" for block in device.blocks())


def test_gpu_idle_clock_is_kept_up_by_blocks_back_to_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing sleeps, and between two blocks the device waits a thousandth of a block at most."""

    def refuse(seconds: float) -> None:
        raise AssertionError(f"the engine slept for {seconds} s")

    monkeypatch.setattr(time, "sleep", refuse)
    device = Logged(script=steady(2 * MS))
    samples = measure(session(device), 0)
    gaps = []
    for (before, ended), (after, began) in zip(device.log, device.log[1:], strict=False):
        if after == "work" and before != "work":
            gaps.append(began - ended)
        assert (before, after) != ("read", "work")  # the wait before a block comes between
    assert len(gaps) >= len(samples.block_ns)
    assert max(gaps) <= min(samples.block_ns) / 1000


def test_collecting_garbage_between_blocks_never_walks_what_was_there_before_them() -> None:
    """Loaded libraries make that walk longer than a block, and the device would idle meanwhile."""
    generations: list[list[int]] = []

    def work() -> torch.Tensor:
        generations.append([])
        return torch.ones(2)

    def walked(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and generations:
            generations[-1].append(info["generation"])

    at_hand = session(FakeDevice(script=steady(150 * MS)), work, seconds=60)
    gc.callbacks.append(walked)
    try:
        measure(at_hand, 0)
        per_call(at_hand)
        sustain(at_hand, 150e6, 5)
    finally:
        gc.callbacks.remove(walked)
    assert sum(map(len, generations)) > 20
    assert {one for after in generations for one in after} <= {0, 1}


def test_a_device_that_slows_down_when_idle_is_measured_at_work() -> None:
    device = FakeDevice()
    device.script = cooling(device, 2 * MS, idle_ns=100 * MS, slower=3.0)
    found = summarize([measure(session(device), 0)])
    assert found is not None
    assert found.median_s == pytest.approx(2e-3, rel=0.01)


def test_pauses_between_blocks_would_have_given_that_device_another_figure() -> None:
    """The test above has teeth: with a second between blocks the same device is caught cold."""
    device = FakeDevice()
    device.script = cooling(device, 150 * MS, idle_ns=100 * MS, slower=3.0)
    paused = session(device, seconds=300)
    paused.between = lambda _samples: device.clock.advance(1000 * MS)
    found = summarize([measure(paused, 0)])
    assert found is not None
    assert found.median_s == pytest.approx(3 * 150e-3, rel=0.01)


def test_sync_in_loop_does_not_happen_within_a_block() -> None:
    """Nothing is read and nothing waited for between the first iteration and the one wait at the end."""
    device = Logged(script=steady(MS // 2))
    samples = measure(session(device), 0)
    for block in device.blocks():
        assert Counter(block) == {"work": len(block) - 1, "synchronize": 1}
    assert [len(block) - 1 for block in device.blocks()][-len(samples.block_ns) :] == [samples.iterations] * len(
        samples.block_ns
    )


def test_waiting_in_every_iteration_would_have_given_another_figure() -> None:
    """What reading the loss in every step cost on a Mac: 6 ms of a step of 10 ms."""
    device = FakeDevice(script=steady(4 * MS))
    reading = session(device, seconds=60)
    step = reading.work

    def read_each() -> torch.Tensor:
        output = step()
        device.synchronize()
        device.clock.advance(6 * MS)
        return output

    reading.work = read_each
    found = summarize([measure(session(FakeDevice(script=steady(4 * MS)), seconds=60), 0)])
    misled = summarize([measure(reading, 0)])
    assert found is not None
    assert misled is not None
    assert found.median_s == pytest.approx(4e-3, rel=0.01)
    assert misled.median_s == pytest.approx(10e-3, rel=0.01)


FIRST = [variants[0].facts.id for variants in FAMILIES.values()]


class Hollow(FakeDevice):
    """Its tensors have shapes and no values: whatever reads one, or lets a value decide a shape, fails."""

    def torch_device(self) -> torch.device:
        """Torch's own device for shapes alone."""
        return torch.device("meta")


class Shapes(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves its making untyped
    """Notes every operation with the shapes of its tensors."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[tuple[str, list[torch.Size]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append((str(func), [part.shape for part in args if isinstance(part, torch.Tensor)]))
        return func(*args, **(kwargs or {}))


# What they measure is what it costs to read.
READING = ("copy-from-device", "item")


@pytest.mark.parametrize("name", [name for name in FIRST if name not in READING])
def test_no_workload_reads_the_device_and_every_iteration_has_the_same_shapes(name: str) -> None:
    """Neither ``sync_in_loop`` nor ``recompile_per_shape`` can come from a workload itself."""
    prepared = WORKLOADS[name].build(Hollow(), Precision.FP32, seed=1, size="tiny")
    assert prepared.step().device.type == "meta"  # also: an optimizer makes its state in the first step
    iterations = []
    for _ in range(2):
        with Shapes() as shapes:
            prepared.step()
        iterations.append(shapes.seen)
    prepared.close()
    assert iterations[0]
    assert iterations[0] == iterations[1]


@pytest.mark.parametrize("name", READING)
def test_the_two_that_are_there_to_read_do_read(name: str) -> None:
    prepared = WORKLOADS[name].build(Hollow(), Precision.FP32, seed=1, size="tiny")
    with pytest.raises((RuntimeError, NotImplementedError), match="meta tensor"):
        prepared.step()


def test_work_that_reads_the_device_fails_where_there_is_nothing_to_read() -> None:
    """The test above has teeth."""
    with pytest.raises(RuntimeError, match="meta"):
        torch.ones(2, device="meta").sum().item()


def test_throttling_while_a_case_is_measured_is_told_from_its_blocks() -> None:
    heating = session(FakeDevice(script=drifting(5 * MS, per_iteration=0.004)), seconds=20)
    samples = measure(heating, 0)
    assert len(samples.block_ns) == MAX_BLOCKS
    assert case_flags((samples,)) == ("throttling",)


def test_throttling_in_the_minute_is_told_though_the_short_blocks_were_steady() -> None:
    device = FakeDevice()
    device.script = lambda _facts, _iteration: 20 * MS if device.clock.time_ns < 20e9 else 30 * MS
    work = session(device, seconds=10)
    samples = measure(work, 0)
    minute = sustain(work, min(samples.block_ns) / samples.iterations, 60)
    assert case_flags((samples,)) == ()
    assert case_flags((samples,), minute) == ("throttling",)


def test_bimodal_rounds_are_told_by_their_medians() -> None:
    """Kernel choice can differ between processes: each round is steady by itself."""
    rounds = [measure(session(FakeDevice(script=steady(ms * MS))), n) for n, ms in enumerate((4, 4, 7))]
    assert [flag(seconds_per_iteration(r)) for r in rounds] == [None, None, None]
    assert case_flags(rounds) == ("bimodal",)
    found = summarize(rounds)
    assert found is not None
    assert (found.bimodal, found.low_s) == (True, None)


def test_warmup_is_over_before_the_first_sample() -> None:
    """The reported series of an M2, played to the engine: what it keeps no longer falls."""
    reported = json.loads((FIXTURES / "timings" / "001.json").read_text())["values"]
    assert flag(reported) == "warmup"
    device = FakeDevice(script=lambda _facts, n: round(reported[min(n, len(reported) - 1)] * 1e9))
    samples = measure(session(device), 0)
    assert flag(seconds_per_iteration(samples)) is None
    found = summarize([samples])
    assert found is not None
    assert found.median_s == pytest.approx(reported[-1], rel=0.01)


def test_impossible_throughput_of_a_loop_that_did_not_wait_is_labelled() -> None:
    """Enqueuing alone is timed as 17 PFLOP/s, as reported; the engine's own figure is within the peak."""
    reported = json.loads((FIXTURES / "timings" / "002.json").read_text())
    flops, peak = FACTS.flops_per_iteration, reported["expected"]["peak_fp32_tflops"]
    assert flops is not None
    enqueue_s = flops / (reported["values"][0] * 1e15)
    device = FakeDevice(script=steady(round(flops / (peak * 1e12) * 1e9)), enqueue_ns=round(enqueue_s * 1e9))
    samples = measure(session(device), 0)
    assert samples.enqueue_ns is not None
    unsynchronized = flops / (samples.enqueue_ns / samples.iterations / 1e9) / 1e12
    assert is_beyond_peak(unsynchronized, peak, Kind.MATMUL) is True
    found = summarize([samples])
    assert found is not None
    assert is_beyond_peak(flops / found.median_s / 1e12, peak, Kind.MATMUL) is False


def test_low_power_mode_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "pmset_g.txt").write_text("Currently in use:\n lowpowermode         1\n")
    conditions = read_conditions(replay_probe(tmp_path))
    assert (conditions.low_power_mode, conditions.power_mode) == (True, "low")


def test_swap_in_use_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "sysctl.txt").write_text("vm.swapusage: total = 13312.00M  used = 12288.00M  free = 1024.00M\n")
    assert read_conditions(replay_probe(tmp_path)).swap_used_bytes == 12 * 2**30


@pytest.mark.parametrize(("translated", "expected"), [("1", True), ("0", False)])
def test_rosetta_is_recorded(tmp_path: Path, translated: str, *, expected: bool) -> None:
    (tmp_path / "sysctl.txt").write_text(f"sysctl.proc_translated: {translated}\n")
    assert read_software(replay_probe(tmp_path)).rosetta is expected


def test_efficiency_cores_are_explained_by_the_niceness_that_is_recorded() -> None:
    assert read_conditions(local_probe()).niceness == os.getpriority(os.PRIO_PROCESS, 0)


def test_workers_run_at_the_priority_of_the_person_who_started_them() -> None:
    """The engine itself never lowers it, which on a Mac would mean efficiency cores."""
    worker = Worker("cpu", program=("-c", "import sys; sys.stdin.read()"))
    try:
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        worker.close()


def test_one_clock_serves_device_and_engine() -> None:
    """The scripted tests above mean nothing unless the engine reads the clock that the fake moves."""
    clock = ScriptedClock()
    samples: Round = measure(session(FakeDevice(clock=clock, script=steady(MS))), 0)
    assert clock.time_ns >= sum(samples.block_ns)
