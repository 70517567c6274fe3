"""A run: workers started, cases asked for within the budget, every outcome stored as it comes."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from metalmark_db.record import Case, Machine
from metalmark_db.words import Outcome, Reason

from . import budget
from .budget import Budget
from .judge import judge
from .messages import Beat, Done, Hello, Task
from .plan import Plan, Planned
from .process import START_S, Death, Worker
from .scrub import scrub

_PATIENCE_S = 20.0  # a case may build a large model and import its library on a slow disk
_PATIENCE_SHARES = 4.0
_GPU_GUESS = 8.0  # times the CPU, until a GPU's own worker has said how fast it is
_GRACE_S = 6.0  # to start the program, end a worker and store its case within the limit
_LARGEST_PART = 4  # no case may take more than this part of the limit: one slow case would cost all others
_FEWEST = 3  # iterations: first call, calibration, one sample


Key = tuple[str, int, str, str, str]


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


@dataclass
class Progress:
    """What a run knows while it goes on."""

    plan: Plan
    machine: Machine
    save: Callable[[Case], None]
    watcher: Watcher
    budget: Budget
    size: Literal["real", "tiny"] = "real"
    now: Callable[[], float] = time.monotonic
    start_worker: Callable[[str], Worker] = Worker
    patience_s: float = _PATIENCE_S
    rates: dict[str, float] = field(default_factory=dict)  # FLOP/s by device
    slowness: dict[str, float] = field(default_factory=dict)  # measured over estimated, by device
    cases: dict[Key, Case] = field(default_factory=dict)
    saved: set[Key] = field(default_factory=set)
    to_come: list[Planned] = field(default_factory=list)

    def need_s(self, case: Planned) -> float:
        """Least seconds that a case is thought to need."""
        return budget.least_s(self.iteration_s(case))

    def iteration_s(self, case: Planned) -> float:
        """Estimated seconds of one iteration of a case, from what is known of its device so far."""
        rate = self.rates.get(case.device) or self.rates.get("cpu", 1e11) * _GPU_GUESS
        return budget.iteration_s(case.facts, rate) * self.slowness.get(case.device, 1.0)

    def end(self, case: Case) -> None:
        """Store a case with its outcome and say so."""
        case = self._with_earlier_rounds(
            msgspec.structs.replace(case, detail=scrub(case.detail) if case.detail else None)
        )
        self.cases[case.key] = case
        self.keep(case)
        self.watcher.ended(case, sum(map(self.need_s, self.to_come)))

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

    def _with_earlier_rounds(self, case: Case) -> Case:
        earlier = self.cases.get(case.key)
        if earlier is None or not earlier.rounds:
            return case
        rounds = earlier.rounds + case.rounds
        if case.outcome is Outcome.NOT_RUN:  # measured in an earlier round: that stands
            return earlier
        return msgspec.structs.replace(case, rounds=rounds, flags=tuple(dict.fromkeys(earlier.flags + case.flags)))


def run_plan(progress: Progress, greeted: Callable[[Hello], None] = lambda _: None) -> bool:
    """Measure every case of the plan; True if it came to its end, False if it was interrupted.

    Every planned case gets an outcome, also when the time ends or the person presses Ctrl-C.
    """
    plan = progress.plan
    orders = [(number, device, cases) for number in range(plan.rounds) for device, cases in plan.order(number)]
    progress.to_come = [case for _, _, cases in orders for case in cases]
    try:
        for number, device, cases in orders:
            _Round(progress, device, number, greeted).measure(cases)
    except KeyboardInterrupt:
        progress.close()
        return False
    return True


@dataclass
class _Round:
    """One device in one round, served by as many workers as its cases wear out."""

    progress: Progress
    device: str
    number: int
    greeted: Callable[[Hello], None]
    worker: Worker | None = None
    chip: str | None = None  # what the rows are charted under
    unusable: tuple[Outcome, str] | None = None

    def __post_init__(self) -> None:
        machine = self.progress.machine
        self.chip = machine.chip if self.device in ("cpu", "mps") else machine.gpu_name

    def measure(self, cases: Sequence[Planned]) -> None:
        try:
            for case in cases:
                ended = self._measure(case)
                self.progress.to_come.remove(case)
                self.progress.end(msgspec.structs.replace(ended, device_chip=self.chip))
        finally:
            self._drop()

    def _measure(self, case: Planned) -> Case:
        progress = self.progress
        if self._left_s() <= 0:
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, "the run's time was over before this case")
        if self.worker is None and self.unusable is None:
            self._start()
        if self.unusable is not None:
            return case.ended(self.unusable[0], detail=self.unusable[1])
        iteration, most_s = progress.iteration_s(case), self._most_s()
        if _FEWEST * iteration > most_s:
            detail = f"one iteration was estimated to take {iteration:.1f} s, and the case could take {most_s:.0f} s"
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, detail)
        progress.watcher.measuring(case, self.number)
        return self._ask(case, min(self._share_s(case), most_s), iteration)

    def _most_s(self) -> float:
        """Seconds that the next case may take at the very most."""
        plan = self.progress.plan
        return min(self._left_s(), plan.limit_s / min(_LARGEST_PART, plan.count * plan.rounds))

    def _start(self) -> None:
        self.progress.watcher.starting(self.device)
        self.worker = self.progress.start_worker(self.device)
        greeting = self.worker.greet(min(START_S, self._left_s()))
        if isinstance(greeting, Death):
            self.worker = None
            outcome, detail = judge(greeting)
            self.unusable = (outcome, f"The worker for {self.device} did not start. {detail}")
            return
        self.chip = greeting.chip_name or self.chip
        if greeting.unusable is not None:
            self.unusable = (Outcome.NO_BACKEND, greeting.unusable)
            return
        if greeting.flops_per_s:
            self.progress.rates[self.device] = greeting.flops_per_s
        self.greeted(greeting)

    def _ask(self, case: Planned, share_s: float, iteration: float) -> Case:
        assert self.worker is not None  # noqa: S101 - _measure started it
        progress, left_s = self.progress, self._left_s()
        patience_s = progress.patience_s + _PATIENCE_SHARES * share_s + 2 * iteration
        task = Task(
            workload=case.workload,
            precision=case.precision,
            seed=progress.plan.seed,
            round_number=self.number,
            share_s=min(budget.measuring_s(share_s), left_s),
            size=progress.size,
        )

        def beat(message: Beat) -> None:
            progress.watcher.beat(case, message.samples)

        answer = self.worker.ask(task, min(patience_s, left_s), beat)
        if isinstance(answer, Done):
            return self._answered(case, answer)
        self.worker = None
        if answer.timed_out and left_s < patience_s:
            return case.ended(Outcome.NOT_RUN, Reason.BUDGET, "it did not end before the run's time was over")
        outcome, detail = judge(answer)
        return case.ended(outcome, detail=detail)

    def _answered(self, case: Planned, done: Done) -> Case:
        progress = self.progress
        if done.outcome not in (Outcome.OK, Outcome.NOT_RUN):
            self._drop()  # an error may have left the process different
        if done.round is not None:
            measured = min(done.round.block_ns) / done.round.iterations / 1e9
            ratio = measured / (progress.iteration_s(case) / progress.slowness.get(case.device, 1.0))
            earlier = progress.slowness.get(case.device, ratio)
            progress.slowness[case.device] = (earlier * ratio) ** 0.5
        return msgspec.structs.replace(
            case.ended(done.outcome, done.reason, done.detail),
            rounds=(done.round,) if done.round else (),
            flags=done.flags,
            fallback_ops=done.fallback_ops,
        )

    def _share_s(self, case: Planned) -> float:
        progress = self.progress
        others = [progress.need_s(other) for other in progress.to_come if other is not case]
        return progress.budget.share_s(progress.now(), progress.need_s(case), sum(others), len(others))

    def _left_s(self) -> float:
        return self.progress.budget.left_s(self.progress.now()) - _GRACE_S

    def _drop(self) -> None:
        if self.worker is not None:
            self.worker.close()
            self.worker = None
