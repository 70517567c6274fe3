"""What a run knows while it goes on, and what becomes of its cases."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from metalmark_db.chips import ChipFacts
from metalmark_db.plausible import BEYOND_PEAK, is_beyond_peak, peak, rate
from metalmark_db.record import Case, Key, Machine, Moment, Round, Truth
from metalmark_db.series import BIMODAL, THROTTLING, WARMUP, case_flags
from metalmark_db.stats import round_medians, summarize
from metalmark_db.words import Mode, Outcome, Reason

from . import budget
from .budget import Budget
from .costs import Costs
from .laps import READING_STATE, STORING
from .messages import Hello
from .plan import Plan, Planned
from .plugins import KNOWN
from .process import Worker
from .scrub import cover, scrub

PATIENCE_S = 20.0  # a case may build a large model and import its library on a slow disk
_TOLD_BY_TIMES = (BIMODAL, THROTTLING, WARMUP, BEYOND_PEAK)
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
    first_s: dict[Key, float] = field(default_factory=dict)  # of cases that had no time for a second iteration
    # Seconds spent on each part of the work, as ``laps`` names them.
    spent_s: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    costs: Costs = field(init=False)  # what cases are thought to need

    def __post_init__(self) -> None:
        self.costs = Costs(self.plan, self.iteration_s, self._compiling_s, compares=self.references is not None)

    @contextmanager
    def spending(self, part: str) -> Iterator[None]:
        """Count the time of a block as that of a part of the work."""
        began = self.now()
        try:
            yield
        finally:
            self.spent_s[part] += self.now() - began

    def iteration_s(self, case: Planned) -> float:
        """Seconds of one iteration of a case: measured in an earlier round, else from what its device has shown."""
        earlier = self.cases.get(case.key)
        measured = round_medians(earlier.rounds) if earlier else []
        if measured:
            return measured[-1]
        estimated = self._estimated_s(case) * self.slowness.get(case.device, 1.0)
        return max(estimated, self.first_s.get(case.key, 0.0) * budget.FIRST)

    def _estimated_s(self, case: Planned) -> float:
        rate = self.rates.get(case.device) or self.rates.get("cpu", _CPU_GUESS) * _GPU_GUESS
        return budget.iteration_s(case.facts, rate)

    def _compiling_s(self, case: Planned) -> float:
        earlier = self.cases.get(case.key)
        firsts = [one.first_call_ns for one in earlier.rounds if one.first_call_ns] if earlier else []
        return max(firsts) / 1e9 if firsts else budget.compile_s(case.facts) * self.compile_slowness

    def failure(self, case: Planned) -> Case | None:
        """How the case failed in an earlier round, if it did: trying again could only hide it."""
        earlier = self.cases.get(case.key)
        return earlier if earlier and earlier.outcome not in (Outcome.OK, Outcome.NOT_RUN) else None

    def learn(self, case: Planned, found: Round) -> None:
        """Take a measured round into the estimates of the device's other cases."""
        if budget.is_telling(case.facts):
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
        )
        case = flagged(with_earlier_rounds(self.cases.get(case.key), case), self.peaks.get(case.device))
        self.cases[case.key] = case  # before anything else is read: an interruption keeps what is here
        if case.outcome is not Outcome.NOT_RUN:
            self.cases[case.key] = case = msgspec.structs.replace(case, conditions=self._moment())
        self.keep(case)
        self.tell(case)

    def tell(self, case: Case) -> None:
        """Say how a case has ended, and how long the others may take."""
        left_s = min(self.costs.needs_s(self.to_come), self.budget.left_s(self.now()))
        self.watcher.ended(case, max(0.0, left_s))

    def _moment(self) -> Moment | None:
        try:
            with self.spending(READING_STATE):
                found = self.moment()
            return None if found == Moment() else found  # nothing known is nothing to keep
        except Exception:  # noqa: BLE001 - whatever a system answers, what was measured counts more
            return None

    def keep(self, case: Case) -> None:
        """Store a case as it is now."""
        self.saved.discard(case.key)
        with self.spending(STORING):
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
    """A case with the rounds that were measured before.

    A failure stays: that another process did better is no reason to trust the device. A round that was
    not run takes nothing away. Of several comparisons with the CPU the largest errors are kept.
    """
    if earlier is None or earlier.outcome is Outcome.NOT_RUN:
        return case
    if case.outcome is Outcome.NOT_RUN or earlier.outcome is not Outcome.OK:
        return earlier
    return msgspec.structs.replace(
        case,
        rounds=earlier.rounds + case.rounds,
        flags=tuple(dict.fromkeys(earlier.flags + case.flags)),
        signature=earlier.signature or case.signature,
        truth=_worse(earlier.truth, case.truth),
        sustained=case.sustained or earlier.sustained,
    )


def _worse(earlier: Truth | None, later: Truth | None) -> Truth | None:
    """The first comparison, which saw most, with the largest errors of any."""
    if earlier is None or later is None:
        return earlier or later
    if not later.error_norm <= later.tolerance:  # wrong: what was seen then is what counts
        return later
    names = ("error_norm", "error_max", "error_max_rms")
    return msgspec.structs.replace(
        earlier, **{name: max(getattr(earlier, name), getattr(later, name)) for name in names}
    )


def flagged(case: Case, peaks: ChipFacts | None = None) -> Case:
    """The case with what its times alone tell: two speeds, throttling, or more than its chip can do."""
    seen = case_flags(case.rounds, case.sustained) if case.outcome is Outcome.OK else ()
    seen += (BEYOND_PEAK,) if _is_beyond(case, peaks) else ()
    others = tuple(flag for flag in case.flags if flag not in _TOLD_BY_TIMES)  # all rounds together decide anew
    return msgspec.structs.replace(case, flags=tuple(dict.fromkeys(others + seen)))


def _is_beyond(case: Case, peaks: ChipFacts | None) -> bool:
    found, entry = summarize(case.rounds), KNOWN.get(case.workload)
    if case.outcome is not Outcome.OK or found is None or entry is None or peaks is None:
        return False
    most = peak(peaks, case.device, case.precision, entry.bound)
    return bool(is_beyond_peak(rate(entry.facts, found.median_s, entry.bound), most, entry.bound))
