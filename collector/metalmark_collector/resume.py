"""An unfinished run to go on with: found, compared with the machine as it is now, planned again."""

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from metalmark_db import queries, store
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Case, Key, Machine, RunHead, Software
from metalmark_db.terminal import harmless
from metalmark_db.words import Effort, Outcome, Reason

from .devices import DEVICES
from .look import Seen
from .plan import Plan, Planned, make_plan
from .plugins import KNOWN, is_own

# Never tried, for want of time alone: what a second sitting is for.
_TO_TRY = (Reason.INTERRUPTED, Reason.BUDGET)


class Earlier(Struct, frozen=True, kw_only=True):
    """A run that did not come to its end, and what of it stands."""

    run_id: int
    head: RunHead
    plan: Plan
    cases: tuple[Case, ...]  # with an outcome that stands

    @property
    def done(self) -> set[tuple[Key, int]]:
        """The case and number of every round that need not be measured again."""
        return {(case.key, number) for case in self.cases for number in _rounds(case, self.plan.rounds)}


def find(engine: sa.Engine, seen: Seen, effort: Effort | None = None) -> Earlier:
    """The last unfinished run of this machine, of ``effort`` where one is named.

    Raises:
        UsageProblem: there is none, or what runs on this machine has changed since.
    """
    run_id = queries.unfinished_run(engine, seen.machine, effort)
    if run_id is None:
        raise UsageProblem(_nothing(engine, seen.machine, effort))
    head = store.load_head(engine, run_id)
    require_same(run_id, head, seen.software)
    stored = store.load_cases(engine, run_id)
    kept = tuple(case for case in stored if _stands(case))
    return Earlier(run_id=run_id, head=head, plan=_plan(run_id, head, stored), cases=kept)


def require_same(run_id: int, head: RunHead, software: Software) -> None:
    """Nothing, where a run's software is this one.

    Raises:
        UsageProblem: it is not: numbers of one run must come from one software.
    """
    changed = changes(head.software, software)
    if changed:
        raise UsageProblem(
            f"Run {run_id} cannot be continued, because what runs on this machine has changed since: "
            f"{'; '.join(changed)}. All numbers of a run must come from the same software. What it measured stays "
            f"stored (metalmark show {run_id}). Measure anew with: metalmark run --effort {head.effort.value}"
        )


def changes(before: Software, now: Software) -> list[str]:
    """What differs between two software states, each in words; what one of them does not know is no difference."""
    found = []
    for name in Software.__struct_fields__:
        then, today = getattr(before, name), getattr(now, name)
        if isinstance(then, dict) and isinstance(today, dict):
            found += [
                f"{variable}: {_told(then.get(variable))} then, {_told(today.get(variable))} now"
                for variable in sorted(then.keys() | today.keys())
                if then.get(variable) != today.get(variable)
            ]
        elif None not in (then, today) and not _same_version(str(then), str(today)):
            found.append(f"{name.removesuffix('_version').replace('_', ' ')}: {_told(then)} then, {_told(today)} now")
    return found


def _same_version(then: str, today: str) -> bool:
    """Packages tell 2.14.1 where the running torch says 2.14.1+cu130."""
    if "+" in then and "+" in today:
        return then == today
    return then.partition("+")[0] == today.partition("+")[0]


def _told(value: object) -> str:
    return "not set" if value is None else harmless(value)


def _stands(case: Case) -> bool:
    return not (case.outcome is Outcome.NOT_RUN and case.reason in _TO_TRY)


def _rounds(case: Case, planned: int) -> Sequence[int]:
    """The rounds of a case that are done: those with samples, or all of them where it did not work."""
    return [one.number for one in case.rounds] if case.outcome is Outcome.OK else range(planned)


def _plan(run_id: int, head: RunHead, stored: Sequence[Case]) -> Plan:
    """The plan of a run again, from its cases: every one of them was stored when it began."""
    cases = [case for case in stored if not case.fallback]
    unknown = [case for case in cases if case.version != _version(case.workload)]
    absent = next((case.workload for case in unknown if is_own(case.workload) and case.workload not in KNOWN), None)
    if absent:
        raise UsageProblem(
            f"Run {run_id} measures the workload {absent}, which comes from a file of your own. Name the file again: "
            "metalmark run --resume --plugin FILE"
        )
    if unknown or not cases:
        why = f"the workload {unknown[0].workload} has changed" if unknown else "it does not say what it planned"
        raise UsageProblem(f"Run {run_id} cannot be continued: {why}. Measure anew with: metalmark run")
    suite, kinds = list(KNOWN), [kind for kind in DEVICES if any(case.device == kind for case in cases)]
    cases.sort(key=lambda case: suite.index(case.workload))
    plan = make_plan(
        head.effort,
        kinds,
        head.seed,
        only=[case.workload for case in cases],
        precisions=[case.precision for case in cases],
        modes=[case.mode for case in cases],
    )
    again = {kind: tuple(_planned(case) for case in cases if case.device == kind) for kind in kinds}
    return msgspec.structs.replace(plan, cases=again)


def _planned(case: Case) -> Planned:
    return Planned(workload=case.workload, device=case.device, precision=case.precision, mode=case.mode)


def _version(workload: str) -> int | None:
    return KNOWN[workload].facts.version if workload in KNOWN else None


def _nothing(engine: sa.Engine, machine: Machine, effort: Effort | None) -> str:
    """Why there is nothing to continue, and what to do instead."""
    wanted = f" {effort.value}" if effort else ""
    start = f"Start one with: metalmark run{f' --effort {effort.value}' if effort else ''}"
    another = queries.unfinished_run(engine, machine)
    if another is not None:
        head = store.load_head(engine, another)
        return (
            f"There is no unfinished{wanted} run to continue, but run {another} is an unfinished {head.effort.value} "
            f"run. Continue it with: metalmark run --resume --effort {head.effort.value}"
        )
    elsewhere = queries.run_ids(engine, effort=effort, finished=False)
    if elsewhere:
        chip = harmless(store.load_head(engine, elsewhere[0]).machine.chip or "an unknown chip")
        return (
            f"There is no unfinished{wanted} run of this machine. The last unfinished run, {elsewhere[0]}, comes from "
            f"another one ({chip}), or this machine has changed since. {start}"
        )
    return f"There is no unfinished{wanted} run to continue. {start}"
