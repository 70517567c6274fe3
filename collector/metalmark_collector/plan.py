"""What a run will measure: cases by device, in an order drawn from the seed."""

import difflib
import random
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from metalmark_db.errors import UsageProblem
from metalmark_db.record import Case, Key, Workload
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

from .efforts import EFFORTS, Scope
from .plugins import FLAG, KNOWN, is_own


class Planned(Struct, frozen=True, kw_only=True):
    """One case before it is measured."""

    workload: str
    device: str
    precision: Precision
    mode: Mode = Mode.EAGER
    fallback: bool = False

    @property
    def facts(self) -> Workload:
        """The workload's facts."""
        return KNOWN[self.workload].facts

    @property
    def is_own(self) -> bool:
        """Whether it comes from somebody's own file."""
        return is_own(self.workload)

    def ended(self, outcome: Outcome, reason: Reason | None = None, detail: str | None = None) -> Case:
        """The case with an outcome and no sample."""
        return Case(
            workload=self.workload,
            version=self.facts.version,
            device=self.device,
            precision=self.precision,
            mode=self.mode,
            fallback=self.fallback,
            outcome=outcome,
            reason=reason,
            detail=detail,
            flags=(FLAG,) if self.is_own else (),
        )

    @property
    def key(self) -> Key:
        """What tells it from the other cases of the run."""
        return self.ended(Outcome.NOT_RUN).key

    @property
    def label(self) -> str:
        """Name for the screen: workload, device, precision."""
        mode = "" if self.mode is Mode.EAGER else f" · {self.mode}"
        return f"{self.workload} · {self.device} · {self.precision}{mode}"


class Plan(Struct, frozen=True, kw_only=True):
    """The cases of a run and the time it may take."""

    effort: Effort
    seed: int
    rounds: int
    aimed_s: float
    limit_s: float
    cases: Mapping[str, tuple[Planned, ...]]  # by device, in the suite's order
    sustained: frozenset[Planned] = frozenset()  # those that work back to back once more after the last round ...
    sustain_s: float = 0.0  # ... for how long

    def order(self, number: int) -> list[tuple[str, list[Planned]]]:
        """Devices and their cases of one round: cases shuffled anew, devices in alternating order.

        Compiled cases come after the eager ones: what a compiler leaves in the process disturbs only its like. Own
        workloads come last: each ends the worker that was there before it.
        """
        draw = random.Random(f"{self.seed}/{number}")  # noqa: S311 - an order to measure in, no secret
        devices = list(self.cases)
        if number % 2:
            devices.reverse()
        drawn = [(device, draw.sample(self.cases[device], len(self.cases[device]))) for device in devices]
        return [
            (device, sorted(cases, key=lambda case: (case.is_own, case.mode is Mode.COMPILE)))
            for device, cases in drawn
        ]

    @property
    def count(self) -> int:
        """Cases of one round."""
        return sum(map(len, self.cases.values()))


def make_plan(
    effort: Effort,
    devices: Sequence[str],
    seed: int,
    *,
    only: Sequence[str] = (),
    precisions: Sequence[Precision] = (),
    modes: Sequence[Mode] = (),
) -> Plan:
    """The plan of an effort, or of the workloads, precisions and modes that were asked for.

    Args:
        effort: how much.
        devices: kinds, in the order of the first round.
        seed: of the order, weights and inputs.
        only: names of workloads, or patterns of names (``resnet*``), in place of the effort's own.
        precisions: in place of the effort's own, where a workload has them.
        modes: the same.

    Raises:
        UsageProblem: a workload is not in the suite, or nothing is left to measure.
    """
    settings = EFFORTS[effort]
    names = tuple(dict.fromkeys(name for wanted in only for name in named(wanted))) or settings.workloads
    cases = {device: _cases(settings, names, device, precisions, modes) for device in devices}
    plan = Plan(
        effort=effort,
        seed=seed,
        rounds=settings.rounds,
        aimed_s=settings.aimed_s,
        limit_s=settings.limit_s,
        cases={device: planned for device, planned in cases.items() if planned},
        sustained=_sustained(cases, settings.sustained),
        sustain_s=settings.sustain_s,
    )
    if not plan.count:
        raise UsageProblem(
            "Nothing is left to measure: no workload of that choice has such a precision and mode on these devices. "
            "`metalmark workloads` lists the precisions of each."
        )
    return plan


def _cases(
    settings: Scope, names: Sequence[str], device: str, precisions: Sequence[Precision], modes: Sequence[Mode]
) -> tuple[Planned, ...]:
    """The cases of one device, in the suite's order of precisions and modes."""
    return tuple(
        Planned(workload=name, device=device, precision=precision, mode=mode)
        for name in names
        for precision in KNOWN[name].precisions.get(device, ())
        if precision in (precisions or settings.precisions(name, device))
        for mode in KNOWN[name].modes
        if mode in (modes or settings.modes(name, device, precision))
    )


def named(wanted: str) -> list[str]:
    """The workloads of that name, or of that pattern, in the suite's order."""
    found = [name for name in KNOWN if fnmatchcase(name, wanted)]
    if found:
        return found
    is_pattern = any(sign in wanted for sign in "*?[")
    near = [] if is_pattern else difflib.get_close_matches(wanted, KNOWN, n=1)
    raise UsageProblem(
        (f"No workload's name fits {wanted!r}." if is_pattern else f"There is no workload {wanted!r}.")
        + (f" Did you mean {near[0]}?" if near else "")
        + (" What begins with own- comes from a file of yours: name it with --plugin FILE." if is_own(wanted) else "")
        + " `metalmark workloads` lists what there is."
    )


def _sustained(cases: Mapping[str, tuple[Planned, ...]], workloads: Sequence[str]) -> frozenset[Planned]:
    """The workloads as most people run them, on the GPU where there is one: the CPU's minutes would say little more."""
    device = next((kind for kind in cases if kind != "cpu"), "cpu")
    return frozenset(
        case
        for case in cases.get(device, ())
        if case.workload in workloads and case.precision is Precision.FP32 and case.mode is Mode.EAGER
    )
