"""What cases are thought to cost in seconds, one after the other: what was compiled or computed once is kept."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from metalmark_db.record import Key
from metalmark_db.words import Mode, Precision, Task

from . import budget
from .plan import Plan, Planned

LARGEST_PART = 4  # no case may take more than this part of the limit: one slow case would cost all others
_REFERENCE_S = 5.0  # at least, for the CPU's result of a case


@dataclass
class Costs:
    """Estimates for the cases of a plan, from what is known of their iterations."""

    plan: Plan
    iteration_s: Callable[[Planned], float]
    compiling_s: Callable[[Planned], float]  # where nothing of it is kept
    compares: bool = True  # outputs are held against the CPU's
    referenced: set[tuple[str, bool]] = field(default_factory=set)  # workloads whose result by the CPU is kept
    compiled: set[Key] = field(default_factory=set)
    compared: set[Key] = field(default_factory=set)  # of a training, the output alone is compared again

    @property
    def most_s(self) -> float:
        """Seconds that a case may take at the very most."""
        return self.plan.limit_s / min(LARGEST_PART, self.plan.count * self.plan.rounds)

    @property
    def reference_most_s(self) -> float:
        """Seconds that the CPU may take for its result of a case; where that is too short, for a part of the batch."""
        return max(_REFERENCE_S, self.most_s / 2)

    def need_s(self, case: Planned) -> float:
        """Least seconds that a case needs, its comparison with the CPU included."""
        return budget.least_s(self.iteration_s(case)) + self.compile_s(case) + self.check_s(case)

    def needs_s(self, cases: Sequence[Planned]) -> float:
        """The same of many, in the order in which they are measured, and their minutes of work."""
        minutes = len(self.plan.sustained.intersection(cases))
        return sum(need for _, need in self.each(cases)) + minutes * self.plan.sustain_s

    def each(self, cases: Sequence[Planned]) -> Iterator[tuple[Planned, float]]:
        """Every case with its need, once those before it have left what they leave."""
        later = copy.copy(self)
        later.referenced, later.compiled, later.compared = set(self.referenced), set(self.compiled), set(self.compared)
        for case in cases:
            yield case, later.need_s(case)
            later.tried(case)

    def tried(self, case: Planned) -> None:
        """Remember what a case leaves for those that come after it."""
        self.referenced.add(_reference(case))
        self.compared.add(case.key)
        if case.mode is Mode.COMPILE:
            self.compiled.add(case.key)

    def compile_s(self, case: Planned) -> float:
        """Seconds of compiling a case."""
        if case.mode is not Mode.COMPILE:
            return 0.0
        return self.compiling_s(case) * (budget.COMPILED_BEFORE if case.key in self.compiled else 1.0)

    def check_s(self, case: Planned) -> float:
        """Seconds of the comparison of a case with the CPU."""
        if not self.compares:
            return 0.0
        seen = case.key in self.compared
        # A training is compared without dropout, for which it is compiled anew, once.
        again = self.compile_s(case) / 2 if case.facts.task is Task.TRAIN and not seen else 0.0
        iterations = 1.0 if seen else budget.check_iterations(case.facts)
        there = _part(case) * iterations * self.iteration_s(case)
        kept = _reference(case) in self.referenced
        return there + again + (0.0 if kept else min(self.reference_s(case), self.reference_most_s))

    def reference_s(self, case: Planned) -> float:
        """Seconds that the CPU takes for its result of the whole batch, kept or not."""
        on_cpu = msgspec.structs.replace(case, device="cpu", precision=Precision.FP32, mode=Mode.EAGER)
        double = budget.DOUBLE if is_own(case) else 1.0
        return _part(case) * double * self.iteration_s(on_cpu)


def is_own(case: Planned) -> bool:
    """Whether the CPU would be held against itself, and so against float64 on the first two samples."""
    return case.device == "cpu" and case.precision is Precision.FP32 and case.mode is Mode.EAGER


def _part(case: Planned) -> float:
    whole = case.facts.task is Task.OPERATION or not is_own(case)
    return 1.0 if whole else min(1.0, budget.OWN_SAMPLES / case.facts.batch)


def _reference(case: Planned) -> tuple[str, bool]:
    return case.workload, is_own(case)
