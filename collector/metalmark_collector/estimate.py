"""How long a run would take, said before anything runs: from FLOPs, or from this machine's newest run."""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from metalmark_db import output, queries
from metalmark_db.record import Key, Machine
from metalmark_db.terminal import roughly, seconds
from metalmark_db.words import Mode

from . import budget
from .costs import Costs
from .plan import Plan, Planned

START_S = 6.0  # a worker imports torch and measures a small matmul
_BLOCKS = 26  # warm-up and samples of a case that has the time
_BLOCK_S = 0.1
# FLOP/s of a small matmul; a run replaces them by what its workers measure.
_APPLE_CPU = 1.0e12  # its matrix units, from the M1 on
_CPU_CORE = 5e10
_APPLE_GPU_CORE = 2.5e11
_CUDA_MULTIPROCESSOR = 3.5e11
_SOME_GPU = 2e12

_COLUMNS = ("workload", "device", "precision", "one iteration", "time")


class Expected(Struct, frozen=True, kw_only=True):
    """What one case is thought to take, all rounds together."""

    workload: str
    device: str
    precision: str
    mode: str
    iteration_s: float
    time_s: float


class Estimate(Struct, frozen=True, kw_only=True):
    """What a run is thought to take."""

    cases: tuple[Expected, ...]
    rounds: int
    time_s: float
    limit_s: float  # it ends by then in any case
    from_run: int | None  # the run that the times come from; None where they are a guess


def estimate(engine: sa.Engine, plan: Plan, machine: Machine, done: Collection[tuple[Key, int]] = ()) -> Estimate:
    """The estimate of a plan on this machine, without what is done already."""
    known = queries.run_ids(engine, machine)
    for run_id in known:
        rows = [row for row in queries.results(engine, run_id) if row.median_s]
        medians = {
            (row.workload, row.version, row.device, row.precision, row.mode, row.fallback): row.median_s
            for row in rows
            if row.median_s
        }
        if medians:
            return expect(plan, machine, medians, done, run_id)
    return expect(plan, machine, {}, done)


def expect(
    plan: Plan,
    machine: Machine,
    medians: Mapping[Key, float],
    done: Collection[tuple[Key, int]] = (),
    from_run: int | None = None,
) -> Estimate:
    """The estimate from what is known: seconds of one iteration of cases that this machine has measured."""
    left = {
        case: sum((case.key, number) not in done for number in range(plan.rounds))
        for cases in plan.cases.values()
        for case in cases
    }
    iterations = _iterations(list(left), machine, medians)
    least = _least(plan, machine, iterations, done)
    beyond = {
        case: max(0.0, _wanted_s(iterations[case]) - least[case] / rounds) for case, rounds in left.items() if rounds
    }
    fixed = START_S * len({case.device for case in left if left[case]}) * plan.rounds
    fixed += plan.sustain_s * sum(case in plan.sustained for case in left if left[case])
    # The runner gives every case its least need, and shares out what the aim leaves over.
    spare = max(0.0, plan.aimed_s - fixed - sum(least.values()))
    each = budget.level(spare, [wish for case, wish in beyond.items() for _ in range(left[case])])
    expected = tuple(
        Expected(
            workload=case.workload,
            device=case.device,
            precision=case.precision.value,
            mode=case.mode.value,
            iteration_s=iterations[case],
            time_s=min(plan.limit_s, least[case] + left[case] * min(wish, each)),
        )
        for case, wish in beyond.items()
    )
    total = min(plan.limit_s, fixed + sum(case.time_s for case in expected)) if expected else 0.0
    return Estimate(cases=expected, rounds=plan.rounds, time_s=total, limit_s=plan.limit_s, from_run=from_run)


def _least(
    plan: Plan, machine: Machine, iterations: Mapping[Planned, float], done: Collection[tuple[Key, int]]
) -> dict[Planned, float]:
    """Least seconds of each case, all rounds that are left together, as the runner reckons them."""

    def iteration_s(case: Planned) -> float:
        # The CPU computes what a GPU is held against, whether it is measured itself or not.
        return iterations.get(case) or budget.iteration_s(case.facts, guessed_rate(case.device, machine))

    costs = Costs(plan, iteration_s, lambda case: budget.compile_s(case.facts))
    order = [
        case
        for number in range(plan.rounds)
        for cases in plan.cases.values()
        for case in cases
        if (case.key, number) not in done
    ]
    least: dict[Planned, float] = dict.fromkeys((case for cases in plan.cases.values() for case in cases), 0.0)
    for case, need in costs.each(order):
        least[case] += need
    return least


def show(found: Estimate, *, as_json: bool = False) -> None:
    """Print it."""
    if as_json:
        print(json.dumps(msgspec.to_builtins(found), indent=1))  # noqa: T201 - this is the command's output
        return
    rows = [
        (case.workload, case.device, _format(case), seconds(case.iteration_s), seconds(case.time_s))
        for case in found.cases
    ]
    output.table(None, _COLUMNS, rows, right=_COLUMNS[3:], shed=("precision", "one iteration"))
    counted = f"{len(found.cases)} case{'' if len(found.cases) == 1 else 's'}"
    rounds = f"{found.rounds} round{'' if found.rounds == 1 else 's'}"
    source = (
        "a guess of how fast this machine is"
        if found.from_run is None
        else f"what run {found.from_run} measured on this machine"
    )
    output.say(
        f"{counted} in {rounds}: about {roughly(found.time_s)}, and never more than "
        f"{roughly(found.limit_s)}; what does not fit is left out and said to be. This is an estimate, from the "
        f"FLOPs of each workload and {source}. Nothing was run."
    )


def guessed_rate(kind: str, machine: Machine) -> float:
    """FLOP/s that a device of this kind may do on a small matmul."""
    if kind == "cpu":
        return _APPLE_CPU if machine.vendor == "apple" else _CPU_CORE * (machine.cpu_cores or 1)
    core = {"mps": _APPLE_GPU_CORE, "cuda": _CUDA_MULTIPROCESSOR}.get(kind)
    return core * machine.gpu_cores if core and machine.gpu_cores else _SOME_GPU


def _iterations(cases: Sequence[Planned], machine: Machine, medians: Mapping[Key, float]) -> dict[Planned, float]:
    """Seconds of one iteration of each case: measured, or guessed and corrected by what was measured."""
    guessed = {case: budget.iteration_s(case.facts, guessed_rate(case.device, machine)) for case in cases}
    ratios: dict[str, list[float]] = {}
    for case in cases:
        if case.key in medians and budget.is_telling(case.facts):
            ratios.setdefault(case.device, []).append(math.log(medians[case.key] / guessed[case]))
    slowness = {device: math.exp(fmean(logs)) for device, logs in ratios.items()}
    return {
        case: medians[case.key] if case.key in medians else guessed[case] * slowness.get(case.device, 1.0)
        for case in cases
    }


def _format(case: Expected) -> str:
    return case.precision if case.mode == Mode.EAGER else f"{case.precision} {case.mode}"


def _wanted_s(iteration_s: float) -> float:
    """Seconds of a case that can take its time, and ends as soon as its samples tell enough."""
    return max(budget.least_s(iteration_s), budget.BUILD_S + _BLOCKS * max(iteration_s, _BLOCK_S))
