"""Our blocks against another timer's, interleaved in one process: does the clock stop where others say?"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
from torch.utils.benchmark import Timer

from metalmark_collector import devices, settings
from metalmark_collector.clock import SystemClock
from metalmark_collector.devices.base import Device, Work
from metalmark_collector.measure import Session, time_block
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.words import Precision

BLOCK_NS = 30_000_000  # aimed at, so that none is shorter than 25 ms
LAUNCH_SHARE = 0.8  # of a block spent on enqueuing: above it the CPU is what is measured
DEVICE_BOUND, LAUNCH_BOUND = 0.01, 0.03  # how far from 1 the median ratio may lie
_CALIBRATIONS = 3


@dataclass
class Comparison:
    """The ratios of one function: ours over the other timer, and that timer over itself."""

    name: str
    other: str
    launch_bound: bool
    ours: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    @property
    def figure(self) -> float:
        """How far from 1 the median ratio may lie."""
        return LAUNCH_BOUND if self.launch_bound else DEVICE_BOUND


def compared(pairs: int) -> Iterator[Comparison]:
    """Every function on the CPU with one thread, then on a CUDA GPU where there is one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # Which of them are launch-bound cannot be told on the CPU, which does not enqueue.
        yield _compare("cpu", "matmul 512", _matmul("cpu", 512), pairs, launch_bound=False)
        yield _compare("cpu", "add 64 x 64", _add("cpu"), pairs, launch_bound=True)
        yield _compare("cpu", "LeNet-5 training", _step("cpu", "lenet5-train-b128"), pairs, launch_bound=False)
    finally:
        torch.set_num_threads(threads)
    if torch.cuda.is_available():
        yield _compare("cuda", "matmul 4096", _matmul("cuda", 4096), pairs)
        yield _compare("cuda", "add 64 x 64", _add("cuda"), pairs)
        yield _compare("cuda", "LeNet-5 training", _step("cuda", "lenet5-train-b128"), pairs)
        yield _compare("cuda", "ResNet-18 inference", _step("cuda", "resnet18-infer-b32"), pairs)


def _compare(kind: str, name: str, work: Work, pairs: int, *, launch_bound: bool | None = None) -> Comparison:
    session = Session(work, devices.make(kind), SystemClock(), end_ns=0)
    gc.collect()
    gc.freeze()  # as the engine does, so that collecting before a block is cheap
    try:
        iterations, enqueuing = _calibrate(session)
        bound = enqueuing > LAUNCH_SHARE if launch_bound is None else launch_bound
        if kind == "cuda":
            return _against_events(Comparison(f"{kind}: {name}", "CUDA events", bound), session, iterations, pairs)
        other = "torch.utils.benchmark"
        return _against_timer(Comparison(f"{kind}: {name}", other, bound), session, iterations, pairs)
    finally:
        gc.unfreeze()


def _calibrate(session: Session) -> tuple[int, float]:
    """Iterations of a block that is long enough, and the share of it that enqueuing takes."""
    time_block(session, 1)
    iterations = 1
    while (block := time_block(session, iterations)).elapsed_ns < BLOCK_NS // 2:
        iterations *= 2
    blocks = [time_block(session, iterations) for _ in range(_CALIBRATIONS)]
    shortest = min(b.elapsed_ns for b in (block, *blocks)) / iterations
    return math.ceil(BLOCK_NS / shortest), median(b.enqueue_ns / b.elapsed_ns for b in blocks)


def _against_timer(found: Comparison, session: Session, iterations: int, pairs: int) -> Comparison:
    """Three blocks a time, of which the other timer has two; the order alternates."""
    timer = Timer("work()", globals={"work": session.work}, num_threads=1)

    def ours() -> float:
        return time_block(session, iterations).elapsed_ns / iterations / 1e9

    def theirs() -> float:
        return float(timer.timeit(iterations).median)

    order: tuple[Callable[[], float], ...] = (ours, theirs, theirs)
    for pair in range(pairs):
        times = [take() for take in (order[::-1] if pair % 2 else order)]
        mine, first, second = times[::-1] if pair % 2 else times
        found.ours.append(mine / first)
        found.floor.append(second / first)
    return found


def _against_events(found: Comparison, session: Session, iterations: int, pairs: int) -> Comparison:
    """Both timers over the very same blocks; two blocks a time, and events over events from one to the next."""
    marked = _Marked(session.work, iterations)
    session = Session(marked, session.device, session.clock, end_ns=0)
    for pair in range(pairs):
        blocks = [(time_block(session, iterations).elapsed_ns, marked.elapsed_ns()) for _ in range(2)]
        (mine, first), (_, second) = blocks[::-1] if pair % 2 else blocks
        found.ours.append(mine / first)
        found.floor.append(second / first)
    return found


class _Marked:
    """The work with an event before the first and after the last iteration of a block."""

    def __init__(self, work: Work, iterations: int) -> None:
        self.work, self.iterations, self.count = work, iterations, 0
        event: Any = torch.cuda.Event  # torch leaves its making untyped
        self.start, self.stop = (event(enable_timing=True) for _ in range(2))

    def __call__(self) -> torch.Tensor:
        if self.count == 0:
            self.start.record()
        output = self.work()
        self.count += 1
        if self.count == self.iterations:
            self.stop.record()
            self.count = 0
        return output

    def elapsed_ns(self) -> float:
        return float(self.start.elapsed_time(self.stop)) * 1e6


def _matmul(kind: str, side: int) -> Work:
    settings.apply(Precision.FP32)
    left = torch.randn(side, side, generator=torch.Generator().manual_seed(0)).to(kind)
    result = torch.empty_like(left)
    return lambda: torch.mm(left, left, out=result)


def _add(kind: str) -> Work:
    left, right = (torch.ones(64, 64).to(kind) for _ in range(2))
    return lambda: left + right


def _step(kind: str, workload: str) -> Work:
    device: Device = devices.make(kind)
    return WORKLOADS[workload].build(device, Precision.FP32, seed=0).step
