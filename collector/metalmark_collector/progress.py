"""What a run knows while it goes on, and what becomes of its cases."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from metalmark_db.chips import ChipFacts
from metalmark_db.plausible import BEYOND_PEAK, is_beyond_peak, peak, rate
from metalmark_db.record import Case, Key, Machine, Moment, Round
from metalmark_db.series import case_flags
from metalmark_db.stats import round_medians, summarize
from metalmark_db.words import Mode, Outcome, Precision, Reason, Task

from . import budget
from .budget import Budget
from .messages import Hello
from .plan import Plan, Planned
from .process import Worker
from .scrub import cover, scrub
from .workloads import WORKLOADS

PATIENCE_S = 20.0  # a case may build a large model and import its library on a slow disk
_GPU_GUESS = 8.0  # times the CPU, until a GPU's own worker has said how fast it is
_LONGEST_OP = 200  # what a text field of a record holds
_CPU_GUESS = 1e11  # FLOP/s, until a worker has said better


class Watcher(Protocol):
    """Who is told what happens, to show it."""

    def starting(self, device: str) -> None:
        """A worker is about to import torch."""

    def measuring(self, case: Planned, round_number: int) -> None:
        """A case begins."""

    def beat(self, case: Planned, samples: int) -> None:
        """A block of a case has ended; at most once a second."""

    def ended(self, case: Case, left_s: float) -> None:
        """A case has an outcome; ``left_s`` is the estimated time of those still to come."""


class StartWorker(Protocol):
    """Starts a worker for a kind of device."""

    def __call__(self, kind: str, *, fallback: bool = False, variables: Mapping[str, str] = {}) -> Worker:
        """The worker, which has not said hello yet."""
        ...


@dataclass
class Progress:
    """What a run knows while it goes on."""

    plan: Plan
    machine: Machine
    save: Callable[[Case], None]
    watcher: Watcher
    budget: Budget
    size: Literal["real", "tiny"] = "real"
    force: bool = False  # start cases whose estimated need exceeds the device's memory, too
    references: str | None = None  # folder of the CPU's results; None where outputs are not compared
    variables: Mapping[str, str] = field(default_factory=dict)  # of the workers' environment
    no_compiler: str | None = None  # why nothing can be compiled here
    memory_bytes: int | None = None  # available to the CPU's cases
    now: Callable[[], float] = time.monotonic
    start_worker: StartWorker = Worker
    patience_s: float = PATIENCE_S
    greeted: Callable[[Hello], None] = lambda _: None
    moment: Callable[[], Moment | None] = lambda: None  # the machine's state, read while no case is measured
    peaks: Mapping[str, ChipFacts] = field(default_factory=dict)  # published, by device
    done: set[tuple[Key, int]] = field(default_factory=set)  # case and round that an earlier sitting measured
    rates: dict[str, float] = field(default_factory=dict)  # FLOP/s by device
    slowness: dict[str, float] = field(default_factory=dict)  # measured over estimated, by device
    compile_slowness: float = 1.0  # measured over estimated
    cases: dict[Key, Case] = field(default_factory=dict)
    saved: set[Key] = field(default_factory=set)
    to_come: list[Planned] = field(default_factory=list)
    spent_s: Counter[str] = field(default_factory=Counter)  # by the workers, on each part of the work

    def need_s(self, case: Planned) -> float:
        """Least seconds that a case is thought to need, its comparison with the CPU included."""
        return budget.least_s(self.iteration_s(case)) + self.compile_s(case) + self.check_s(case)

    def needs_s(self, cases: Sequence[Planned]) -> float:
        """The same of many, one after the other: a case that comes again is compiled and compared already."""
        seen: set[Planned] = set()
        total = 0.0
        for case in cases:
            again = budget.least_s(self.iteration_s(case)) + self.compile_s(case) * budget.COMPILED_BEFORE
            total += again if case in seen else self.need_s(case)
            seen.add(case)
        return total

    def compile_s(self, case: Planned) -> float:
        """Seconds that compiling a case is thought to take; later rounds find its code kept."""
        if case.mode is not Mode.COMPILE:
            return 0.0
        earlier = self.cases.get(case.key)
        firsts = [one.first_call_ns for one in earlier.rounds if one.first_call_ns] if earlier else []
        if len(firsts) == 1:
            return budget.COMPILED_BEFORE * firsts[0] / 1e9
        return firsts[-1] / 1e9 if firsts else budget.compile_s(case.facts) * self.compile_slowness

    def check_s(self, case: Planned) -> float:
        """Seconds that the comparison of a case with the CPU is thought to take."""
        if self.references is None or self.compared(case):
            return 0.0
        own = case.device == "cpu"
        there = budget.own_check_iterations(case.facts) if own else budget.check_iterations(case.facts)
        # A training is compared without dropout, for which it is compiled anew.
        again = self.compile_s(case) / 2 if case.facts.task is Task.TRAIN else 0.0
        return there * self.iteration_s(case) + again + (0.0 if own else self.reference_s(case))

    def reference_s(self, case: Planned) -> float:
        """Seconds that the CPU is thought to take for its result of the whole batch; none where it is kept already."""
        on_cpu = msgspec.structs.replace(case, device="cpu")
        kept = any(self.compared(msgspec.structs.replace(case, precision=p)) for p in Precision)
        return 0.0 if kept else budget.reference_iterations(case.facts) * self.iteration_s(on_cpu)

    def compared(self, case: Planned) -> bool:
        """Whether an earlier round has held the case's output against the CPU's."""
        earlier = self.cases.get(case.key)
        return earlier is not None and earlier.truth is not None

    def iteration_s(self, case: Planned) -> float:
        """Seconds of one iteration of a case: measured in an earlier round, else from what its device has shown."""
        earlier = self.cases.get(case.key)
        measured = round_medians(earlier.rounds) if earlier else []
        return measured[-1] if measured else self._estimated_s(case) * self.slowness.get(case.device, 1.0)

    def _estimated_s(self, case: Planned) -> float:
        rate = self.rates.get(case.device) or self.rates.get("cpu", _CPU_GUESS) * _GPU_GUESS
        return budget.iteration_s(case.facts, rate)

    def learn(self, case: Planned, found: Round) -> None:
        """Take a measured round into the estimates of the device's other cases."""
        measured_s = min(found.block_ns) / found.iterations / 1e9
        earlier = self.slowness.get(case.device)
        ratio = measured_s / self._estimated_s(case)
        self.slowness[case.device] = (earlier * ratio) ** 0.5 if earlier else ratio
        if case.mode is Mode.COMPILE and case.key not in self.cases and found.first_call_ns:
            ratio = found.first_call_ns / 1e9 / budget.compile_s(case.facts)
            self.compile_slowness = (self.compile_slowness * ratio) ** 0.5

    def end(self, case: Case) -> None:
        """Store a case with its outcome and say so."""
        case = msgspec.structs.replace(
            case,
            detail=scrub(case.detail) if case.detail else None,
            fallback_ops=tuple(cover(op)[:_LONGEST_OP] for op in case.fallback_ops),
            conditions=None if case.outcome is Outcome.NOT_RUN else self.moment(),
        )
        case = flagged(with_earlier_rounds(self.cases.get(case.key), case), self.peaks.get(case.device))
        self.cases[case.key] = case
        self.keep(case)
        left_s = min(self.needs_s(self.to_come), self.budget.left_s(self.now()))
        self.watcher.ended(case, max(0.0, left_s))

    def keep(self, case: Case) -> None:
        """Store a case as it is now."""
        self.saved.discard(case.key)
        self.save(case)
        self.saved.add(case.key)

    def close(self) -> None:
        """After an interruption: store what was not stored yet, and say of the rest that it was not run."""
        for case in self.cases.values():
            if case.key not in self.saved:
                self.keep(case)
        self.to_come = []
        for planned in self.plan.cases.values():
            for case in (waiting.ended(Outcome.NOT_RUN, Reason.INTERRUPTED) for waiting in planned):
                if case.key not in self.cases:
                    self.end(case)


def with_earlier_rounds(earlier: Case | None, case: Case) -> Case:
    """A case with the rounds that were measured before; a round that was not run takes nothing away."""
    if earlier is None or not earlier.rounds:
        return case
    if case.outcome is Outcome.NOT_RUN:
        return earlier
    return msgspec.structs.replace(
        case,
        rounds=earlier.rounds + case.rounds,
        flags=tuple(dict.fromkeys(earlier.flags + case.flags)),
        truth=case.truth or earlier.truth,
        sustained=case.sustained or earlier.sustained,
    )


def flagged(case: Case, peaks: ChipFacts | None = None) -> Case:
    """The case with what its times alone tell: two speeds, throttling, or more than its chip can do."""
    seen = case_flags(case.rounds, case.sustained) if case.outcome is Outcome.OK else ()
    seen += (BEYOND_PEAK,) if _is_beyond(case, peaks) else ()
    return msgspec.structs.replace(case, flags=tuple(dict.fromkeys(case.flags + seen)))


def _is_beyond(case: Case, peaks: ChipFacts | None) -> bool:
    found, entry = summarize(case.rounds), WORKLOADS.get(case.workload)
    if case.outcome is not Outcome.OK or found is None or entry is None or peaks is None:
        return False
    most = peak(peaks, case.device, case.precision, entry.bound)
    return bool(is_beyond_peak(rate(entry.facts, found.median_s, entry.bound), most, entry.bound))
