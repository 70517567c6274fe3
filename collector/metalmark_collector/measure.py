"""The measuring loop: blocks of iterations on a device, timed so that the device has finished."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import msgspec

from metalmark_db.record import Round, Sustained
from metalmark_db.stats import LOOKS, is_enough
from metalmark_db.words import Reason

from . import budget, garbage
from .clock import Clock
from .devices.base import Device, Work
from .laps import BUILDING, SAMPLING, WARMING_UP, Laps

BLOCK_NS = 20_000_000  # shorter blocks measure the clock and the scheduler
LONG_BLOCK_NS = 100_000_000  # where a case has the time: a longer look averages more of what the system does beside
TIMES_ALL_BLOCKS = 3  # the time of a case over that of all its blocks: it also warms up, and the estimate may be off
MARGIN = 115  # percent: clocks that still rise must not push a block under its length
TICKS = 10_000  # ... and need this many ticks of the clock
MAX_BLOCKS = 20
DRIFT = 0.02
WARMUP_WINDOW = 3
GRACE_FIRSTS = 3  # first iterations' time more, where one has taken most of the share: enough for a few samples
WARMUP_SHARE = 0.3  # of the case's time at most
SAMPLE_BLOCKS = 3
PER_CALLS = 20
SUSTAINED_BLOCK_NS = 200_000_000
RESIDUAL_NS = 1_000_000
RESIDUAL_SHARE = 0.02


class OverBudget(Exception):
    """Not even one block fits into the time of this case, whose first iteration took ``first_s``."""

    def __init__(self, first_s: float) -> None:
        super().__init__(f"its first iteration took {first_s:.1f} s")
        self.first_s = first_s


class Unsynchronized(Exception):
    """The clock stopped before the device had finished."""

    reason = Reason.UNSYNCHRONIZED


@dataclass(frozen=True)
class Block:
    """One timed block."""

    elapsed_ns: int
    enqueue_ns: int
    residual_ns: int


@dataclass
class Session:
    """A case that is being measured: what is timed, by which clock, until when."""

    work: Work
    device: Device
    clock: Clock
    end_ns: int
    between: Callable[[int], None] = lambda _samples: None  # called between blocks, outside the timed part
    flags: list[str] = field(default_factory=list)
    compiles: bool = False  # the first call does, which takes a thousand times as long as the others
    grace_ns: int = 0  # more time, for a first call that took most of it: it may have loaded kernels
    laps: Laps | None = None  # told which part of the work has ended

    def left_ns(self) -> int:
        """Time that this case still has."""
        return self.end_ns - self.clock.now_ns()

    def lap(self, name: str) -> None:
        """Say that a part of the work has ended."""
        if self.laps is not None:
            self.laps.lap(name)


def measure(session: Session, number: int) -> Round:
    """The raw samples of one round: first call apart, then warm-up, then blocks until the median is known.

    Raises:
        OverBudget: the time of the case ends before one block after the first call.
        Unsynchronized: a residual wait shows that synchronize did not wait.
    """
    garbage.collect()
    first = time_block(session, 1)
    session.lap(BUILDING)  # kernels, and in compile mode everything
    if session.compiles:  # which is no part of the time for measuring
        session.end_ns += first.elapsed_ns
    elif not _goes_on(session, first):
        raise OverBudget(first.elapsed_ns / 1e9)
    share_ns = session.left_ns()
    wanted = _wanted_ns(share_ns)
    iterations, spent = _calibrate(session, wanted)
    times = _warm_up(session, iterations, share_ns)
    session.lap(WARMING_UP)
    warmups = spent + len(times) * iterations
    if times:  # a slow start, or an interruption, made the first estimate too long
        iterations = max(iterations, math.ceil(wanted * iterations / min(times)))
    blocks = _sample(session, iterations)
    session.lap(SAMPLING)
    if session.device.kind != "cpu":  # which computes at once: there a wait is the system's, not the device's
        _check_synchronized(blocks)
    if len(blocks) < LOOKS[0]:
        session.flags.append("few_samples")
    return Round(
        number=number,
        iterations=iterations,
        block_ns=tuple(block.elapsed_ns for block in blocks),
        first_call_ns=max(1, first.elapsed_ns),
        warmup_iterations=warmups,
        enqueue_ns=int(median(block.enqueue_ns for block in blocks)),
        residual_ns=int(median(block.residual_ns for block in blocks)),
    )


def _goes_on(session: Session, first: Block) -> bool:
    """Whether there is time for another iteration."""
    next_ns = first.elapsed_ns * budget.FIRST
    if session.left_ns() <= next_ns:
        session.end_ns += min(session.grace_ns, GRACE_FIRSTS * first.elapsed_ns)
    return session.left_ns() > next_ns


def time_block(session: Session, iterations: int) -> Block:
    """One block: enqueue all iterations, wait for the device, stop the clock; then read one element."""
    work, device, clock = session.work, session.device, session.clock
    with garbage.held_off():
        device.synchronize()
        start = clock.now_ns()
        for _ in range(iterations):
            output = work()
        enqueued = clock.now_ns()
        device.synchronize()
        stop = clock.now_ns()
    device.read_element(output)
    residual = clock.now_ns() - stop
    return Block(max(1, stop - start), enqueued - start, residual)


def per_call(session: Session) -> tuple[int, ...]:
    """Durations in ns of single iterations, each waited for: what a caller who needs the result at once sees."""
    times = tuple(time_block(session, 1).elapsed_ns for _ in range(PER_CALLS))
    session.lap(SAMPLING)
    return times


def sustain(session: Session, iteration_ns: float, seconds: float) -> Sustained:
    """Blocks back to back for ``seconds``, all kept: how the device does once it is warm."""
    iterations = max(1, round(SUSTAINED_BLOCK_NS / iteration_ns))
    end_ns = session.clock.now_ns() + int(seconds * 1e9)
    blocks: list[int] = []
    before, began_ns = session.device.energy(), session.clock.now_ns()
    while not blocks or session.clock.now_ns() < end_ns:
        blocks.append(time_block(session, iterations).elapsed_ns)
        session.between(len(blocks))
    ended_ns, after = session.clock.now_ns(), session.device.energy()
    session.lap(SAMPLING)
    found = Sustained(iterations=iterations, block_ns=tuple(blocks))
    if before is None or after is None:
        return found
    return msgspec.structs.replace(
        found,
        energy_j=(after[0] - before[0]) / 1e3,
        energy_source=after[1],
        energy_s=(ended_ns - began_ns) / 1e9,
    )


def tick_ns() -> int:
    """Resolution of the system's clock, in whole nanoseconds and at least one."""
    return max(1, math.ceil(time.get_clock_info("perf_counter").resolution * 1e9))


def _wanted_ns(share_ns: int) -> int:
    """How long a block should be: enough for the clock, and longer where the case has time."""
    least = max(BLOCK_NS, TICKS * tick_ns())
    return MARGIN * max(least, min(LONG_BLOCK_NS, share_ns // (TIMES_ALL_BLOCKS * MAX_BLOCKS))) // 100


def _calibrate(session: Session, wanted: int) -> tuple[int, int]:
    """Iterations of a block that is long enough, and the iterations that finding out took."""
    iterations, spent = 1, 0
    while True:
        block = time_block(session, iterations)
        spent += iterations
        per_iteration = max(1.0, block.elapsed_ns / iterations)
        needed = max(1, math.ceil(wanted / per_iteration))
        if block.elapsed_ns >= wanted // 2 or session.left_ns() < 2 * wanted:
            return needed, spent
        iterations = min(needed, iterations * 16)


def _warm_up(session: Session, iterations: int, share_ns: int) -> list[int]:
    """Times of blocks, until their times no longer drift: two windows whose medians differ by less than 2 %."""
    end_ns = session.clock.now_ns() + int(share_ns * WARMUP_SHARE)
    times: list[int] = []
    while True:
        expected = times[-1] if times else BLOCK_NS
        if session.left_ns() < (SAMPLE_BLOCKS + 1) * expected:
            return times  # the time that is left belongs to the samples
        if session.clock.now_ns() >= end_ns:
            session.flags.append("warmup_cap")
            return times
        times.append(time_block(session, iterations).elapsed_ns)
        session.between(0)
        if len(times) >= 2 * WARMUP_WINDOW:
            before = median(times[-2 * WARMUP_WINDOW : -WARMUP_WINDOW])
            if abs(median(times[-WARMUP_WINDOW:]) - before) <= DRIFT * before:
                return times


def _sample(session: Session, iterations: int) -> list[Block]:
    blocks: list[Block] = []
    while len(blocks) < MAX_BLOCKS:
        if blocks and session.left_ns() < blocks[-1].elapsed_ns:
            break
        blocks.append(time_block(session, iterations))
        session.between(len(blocks))
        if is_enough([block.elapsed_ns for block in blocks]):
            break
    return blocks


def _check_synchronized(blocks: list[Block]) -> None:
    # The median, not the worst: a read that the system happened to interrupt says nothing, while
    # a device that is not waited for is late after every block.
    residual, elapsed = (median(getattr(block, name) for block in blocks) for name in ("residual_ns", "elapsed_ns"))
    if residual > max(RESIDUAL_NS, RESIDUAL_SHARE * elapsed):
        raise Unsynchronized(
            f"after synchronize the device still worked for {residual / 1e6:.1f} ms "
            f"of a block of {elapsed / 1e6:.1f} ms"
        )
