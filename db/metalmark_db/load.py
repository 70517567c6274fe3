"""Runs out of the database again, as the records they were stored from."""

import sqlalchemy as sa
from msgspec import Struct

from .columns import unflat
from .errors import UsageProblem
from .models import CaseRecord, ConditionsRow, MachineRow, RoundRecord, RunRecord, SoftwareRow, WorkloadRecord
from .record import Case, Conditions, Machine, Round, Run, RunHead, Software, Workload


def load_head(engine: sa.Engine, run_id: int) -> RunHead:
    """What was known of a run before its first case.

    Raises:
        UsageProblem: there is no such run.
    """
    runs = RunRecord.__table__
    parts = (
        (Machine, MachineRow, "machine", runs.c.machine_id),
        (Software, SoftwareRow, "software", runs.c.software_id),
        (Conditions, ConditionsRow, "conditions_before", runs.c.conditions_before_id),
    )
    with engine.connect() as connection:
        run = connection.execute(sa.select(runs).where(runs.c.id == run_id)).mappings().first()
        if run is None:
            raise UsageProblem(f"There is no run {run_id}. `metalmark show` shows the newest.")
        held: dict[str, Struct] = {}
        for struct, table, name, key in parts:
            columns = table.__table__
            row = connection.execute(sa.select(columns).where(columns.c.id == run[key.name])).mappings().one()
            held[name] = unflat(struct, row)
    return unflat(RunHead, run, elsewhere=held)


def load_cases(engine: sa.Engine, run_id: int) -> tuple[Case, ...]:
    """The cases of a run with their raw samples, in the order in which they were stored."""
    cases, rounds = CaseRecord.__table__, RoundRecord.__table__
    of_run = sa.select(cases).where(cases.c.run_id == run_id).order_by(cases.c.id)
    of_cases = (
        sa.select(rounds)
        .join(cases, cases.c.id == rounds.c.case_id)
        .where(cases.c.run_id == run_id)
        .order_by(rounds.c.case_id, rounds.c.number)
    )
    with engine.connect() as connection:
        rows = connection.execute(of_run).mappings().all()
        samples: dict[int, list[Round]] = {row["id"]: [] for row in rows}
        for row in connection.execute(of_cases).mappings():
            samples[row["case_id"]].append(unflat(Round, row))
    return tuple(unflat(Case, row, elsewhere={"rounds": tuple(samples[row["id"]])}) for row in rows)


def load_run(engine: sa.Engine, run_id: int) -> tuple[Run, tuple[Workload, ...]]:
    """A run with all its samples, and the facts of the workloads that it names.

    Raises:
        UsageProblem: there is no such run.
    """
    head, cases = load_head(engine, run_id), load_cases(engine, run_id)
    runs, states, facts = RunRecord.__table__, ConditionsRow.__table__, WorkloadRecord.__table__
    used = {case.workload for case in cases}
    with engine.connect() as connection:
        run = connection.execute(sa.select(runs).where(runs.c.id == run_id)).mappings().one()
        after = (
            connection.execute(sa.select(states).where(states.c.id == run["conditions_after_id"])).mappings().first()
        )
        known = connection.execute(sa.select(facts).where(facts.c.id.in_(used))).mappings().all()
    conditions = None if after is None else unflat(Conditions, after)
    whole = Run(head=head, conditions_after=conditions, finished=bool(run["finished"]), cases=cases)
    return whole, tuple(unflat(Workload, row) for row in known)
