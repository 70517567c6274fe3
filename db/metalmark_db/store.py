"""Runs into the database, case by case, so that nothing measured is lost."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects import postgresql, sqlite

from .columns import flat
from .derived import bin_of, os_major, torch_minor
from .document import document_of
from .engine import open_database
from .identity import fields_digest, machine_id
from .load import load_cases, load_head, load_run
from .models import (
    CaseRecord,
    ConditionsRow,
    MachineRow,
    RoundRecord,
    RunRecord,
    SoftwareRow,
    TouchedRecord,
    WorkloadRecord,
)
from .record import Case, Conditions, Machine, RunHead, Software, Workload
from .stats import summarize
from .words import Outcome

CASE_KEY = ("workload", "version", "device", "precision", "mode", "fallback")

__all__ = ["begin_run", "finish_run", "load_cases", "load_head", "open_database", "save_case"]


def begin_run(engine: sa.Engine, head: RunHead, workloads: Sequence[Workload], cases: Sequence[Case] = ()) -> int:
    """Number of a new run whose machine, software, conditions, workloads and first ``cases`` are now stored."""
    with _write(engine) as connection:
        # In one order everywhere: two writers that wait for each other's rows would wait for ever.
        for workload in sorted(workloads, key=lambda one: (one.id, one.version)):
            put_workload(connection, workload)
        run_id = put_head(connection, head)
        for case in cases:
            _put_case(connection, run_id, case)
    return run_id


def put_head(connection: sa.Connection, head: RunHead, more: Mapping[str, Any] = MappingProxyType({})) -> int:
    """Number of a new run with its machine, software and conditions; ``more`` are further columns of ``runs``."""
    row = {
        "started_at": head.started_at,
        "effort": head.effort.value,
        "seed": head.seed,
        "reporter": head.reporter,
        "machine_id": _shared(connection, MachineRow, head.machine, _told_of_machine(head.machine)),
        "software_id": _shared(connection, SoftwareRow, head.software, _told_of_software(head.software)),
        "conditions_before_id": put_conditions(connection, head.conditions_before),
    }
    return _insert(connection, RunRecord, {**row, **more})


def put_conditions(connection: sa.Connection, conditions: Conditions) -> int:
    """Number of a new row of conditions."""
    return _insert(connection, ConditionsRow, flat(conditions))


def save_case(engine: sa.Engine, run_id: int, case: Case) -> None:
    """Store a case with all its rounds so far, in one transaction; an earlier state of it is replaced."""
    with _write(engine) as connection:
        _put_case(connection, run_id, case)
        connection.execute(sa.insert(TouchedRecord).values(run_id=run_id))


def _put_case(connection: sa.Connection, run_id: int, case: Case) -> None:
    summary = summarize(case.rounds) if case.outcome is Outcome.OK else None  # wrong work has no speed
    row = flat(case, leave_out=("rounds",)) | {"run_id": run_id}
    if summary is not None:
        row |= {
            "median_s": summary.median_s,
            "low_s": summary.low_s,
            "high_s": summary.high_s,
            "interval": summary.interval,
            "samples": summary.samples,
        }
    same = [getattr(CaseRecord, name) == row[name] for name in CASE_KEY]
    connection.execute(sa.delete(CaseRecord).where(CaseRecord.run_id == run_id, *same))
    case_id = _insert(connection, CaseRecord, row)
    if case.rounds:
        connection.execute(sa.insert(RoundRecord), [flat(r) | {"case_id": case_id} for r in case.rounds])


def finish_run(engine: sa.Engine, run_id: int, conditions: Conditions, *, finished: bool) -> None:
    """Store the conditions after a run, in place of an earlier sitting's, and whether it came to its planned end."""
    with _write(engine) as connection:
        earlier = connection.scalar(sa.select(RunRecord.conditions_after_id).where(RunRecord.id == run_id))
        after = put_conditions(connection, conditions)
        connection.execute(
            sa.update(RunRecord).where(RunRecord.id == run_id).values(conditions_after_id=after, finished=finished)
        )
        connection.execute(sa.delete(ConditionsRow).where(ConditionsRow.id == earlier))
    name_run(engine, run_id)


def name_run(engine: sa.Engine, run_id: int) -> str:
    """The digest of a run's document, stored beside it, so that its document is known when it comes back.

    Of two runs that say exactly the same, the first one has it.
    """
    digest = document_of(*load_run(engine, run_id)).digest
    other = sa.select(RunRecord.id).where(RunRecord.digest == digest, RunRecord.id != run_id)
    with _write(engine) as connection:
        if connection.scalar(other) is None:
            connection.execute(sa.update(RunRecord).where(RunRecord.id == run_id).values(digest=digest))
    return digest


def _told_of_machine(machine: Machine) -> dict[str, Any]:
    return {"machine_id": machine_id(machine), "bin": bin_of(machine)}


def _told_of_software(software: Software) -> dict[str, Any]:
    return {"torch_minor": torch_minor(software), "os_major": os_major(software)}


def _write(engine: sa.Engine) -> Any:
    # IMMEDIATE: a transaction that reads first and writes then cannot wait for another writer.
    return engine.execution_options(metalmark_write=True).begin()


def _insert(connection: sa.Connection, table: type[Any], row: Mapping[str, Any]) -> int:
    # Values beside the statement, not in it: SQLAlchemy then compiles it once and for all.
    key = connection.execute(sa.insert(table.__table__), dict(row)).inserted_primary_key
    return int(key[0]) if key else 0


def _shared(connection: sa.Connection, table: type[Any], value: Struct, extra: Mapping[str, Any]) -> int:
    """The row that holds exactly this value; made if it is new."""
    rows, digest = table.__table__, fields_digest(value)
    known = sa.select(rows.c.id).where(rows.c.digest == digest)
    found = connection.scalar(known)
    if found is None:
        _insert_new(connection, rows, {**flat(value), "digest": digest, **extra})
        found = connection.scalar(known)
    return int(found or 0)


def _insert_new(connection: sa.Connection, table: Any, row: Mapping[str, Any]) -> bool:
    """Whether the row is a new one; one that is there already, perhaps from another writer this moment, is no error."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[connection.dialect.name]
    return connection.execute(insert(table).on_conflict_do_nothing(), dict(row)).rowcount > 0


def put_workload(connection: sa.Connection, workload: Workload) -> None:
    """The facts of a workload stored: as they are where it is new, else what they tell in place of what was there."""
    row = flat(workload)
    if _insert_new(connection, WorkloadRecord.__table__, row):
        return
    # An older program knows fewer facts: what it does not say stays as a newer one has said it.
    told = {name: value for name, value in row.items() if value not in (None, "")}
    here = (WorkloadRecord.id == workload.id, WorkloadRecord.version == workload.version)
    connection.execute(sa.update(WorkloadRecord).where(*here).values(**told))
