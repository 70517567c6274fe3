"""Questions to the database, each a function from an engine to frozen rows."""

import json
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.orm import aliased

from .calibrations import with_calibrations
from .identity import fields_digest
from .models import CaseRecord, ChipRecord, MachineRow, PublishedRecord, RunRecord, SoftwareRow, SourceRecord
from .models import WorkloadRecord as W
from .record import Machine
from .rows import ChipRow, PublishedRow, ResultRow, RunRow, SourceRow, SpeedPair, WorkloadRow
from .words import Effort

_Row = TypeVar("_Row", bound=msgspec.Struct)


def results(engine: sa.Engine, run_id: int | None = None) -> list[ResultRow]:
    """Every measured case, newest run first; or those of one run. Calibrations tell what share of a peak they are."""
    names = ", ".join(f'"{name}"' for name in _fields(ResultRow) if name != "calibration")
    where = "" if run_id is None else "WHERE run_id = :run_id "
    order = "run_id DESC, workload, device, precision, mode"
    statement = sa.text(f"SELECT {names} FROM results {where}ORDER BY {order}")  # noqa: S608 - our own field names
    bound = {} if run_id is None else {"run_id": run_id}
    found = _rows(engine, ResultRow, statement.bindparams(**bound))
    return with_calibrations(found, workloads(engine), chips(engine))


def runs(engine: sa.Engine, limit: int | None = None) -> list[RunRow]:
    """The runs with their machines, newest first."""
    counts = (
        sa.select(
            CaseRecord.run_id,
            sa.func.count().label("cases"),
            sa.func.sum(sa.case((sa.column("outcome") == "ok", 1), else_=0)).label("ok_cases"),
        )
        .group_by(CaseRecord.run_id)
        .subquery()
    )
    tables = {"machines": MachineRow.__table__.c, "software": SoftwareRow.__table__.c, "runs": RunRecord.__table__.c}
    columns: list[Any] = []
    for name in _fields(RunRow):
        if name == "run_id":
            columns.append(RunRecord.id.label("run_id"))
        elif name in ("cases", "ok_cases"):
            columns.append(sa.func.coalesce(counts.c[name], 0).label(name))
        else:
            columns.append(next(c[name] for c in tables.values() if name in c))
    statement = (
        sa.select(*columns)
        .join(MachineRow, MachineRow.id == RunRecord.machine_id)
        .join(SoftwareRow, SoftwareRow.id == RunRecord.software_id)
        .outerjoin(counts, counts.c.run_id == RunRecord.id)
        .order_by(RunRecord.id.desc())
        .limit(limit)
    )
    return _rows(engine, RunRow, statement)


def run_ids(
    engine: sa.Engine, machine: Machine | None = None, effort: Effort | None = None, *, finished: bool | None = None
) -> list[int]:
    """Numbers of the runs on exactly this machine, of this effort, finished or not; newest first."""
    wanted: tuple[tuple[Any, Any], ...] = (
        (MachineRow.digest, machine and fields_digest(machine)),
        (RunRecord.__table__.c.effort, effort and effort.value),
        (RunRecord.finished, finished),
    )
    statement = sa.select(RunRecord.id).join(MachineRow, MachineRow.id == RunRecord.machine_id)
    for column, value in wanted:
        if value is not None:
            statement = statement.where(column == value)
    with engine.connect() as connection:
        return list(connection.scalars(statement.order_by(RunRecord.id.desc())))


def unfinished_run(engine: sa.Engine, machine: Machine, effort: Effort | None = None) -> int | None:
    """Number of the last run on exactly this machine that did not come to its end."""
    return next(iter(run_ids(engine, machine, effort, finished=False)), None)


def published(engine: sa.Engine) -> list[PublishedRow]:
    """Every published figure, in the order of the file."""
    return _rows(engine, PublishedRow, _select(PublishedRecord, PublishedRow).order_by(PublishedRecord.id))


def sources(engine: sa.Engine) -> list[SourceRow]:
    """The sources of the published figures, with the number of figures of each."""
    table = SourceRecord.__table__.c
    statement = (
        sa.select(*(table[name] for name in _fields(SourceRow) if name != "figures"))
        .add_columns(sa.func.count(PublishedRecord.id).label("figures"))
        .outerjoin(PublishedRecord, PublishedRecord.source_id == SourceRecord.id)
        .group_by(*table)
        .order_by(SourceRecord.id)
    )
    return _rows(engine, SourceRow, statement)


def chips(engine: sa.Engine) -> list[ChipRow]:
    """Published facts of chips, one row a bin, in the order of the file."""
    return _rows(engine, ChipRow, _select(ChipRecord, ChipRow).order_by(ChipRecord.id))


def workloads(engine: sa.Engine) -> list[WorkloadRow]:
    """The workloads that some run has planned, by name and version."""
    return _rows(engine, WorkloadRow, _select(W, WorkloadRow).order_by(W.id, W.version))


def speed_pairs(engine: sa.Engine, source_id: str | None = None) -> list[SpeedPair]:
    """Published pairs of one operation on CPU and GPU (mps) of the same Mac, by the same source.

    A figure that was rounded to zero is no divisor and makes no pair.
    """
    cpu, mps = aliased(PublishedRecord), aliased(PublishedRecord)
    same = [
        getattr(cpu, name).is_not_distinct_from(getattr(mps, name))
        for name in (
            "workload",
            "task",
            "precision",
            "batch_size",
            "input_shape",
            "chip",
            "cpu_cores",
            "gpu_cores",
            "memory_gb",
            "os",
            "framework_version",
            "metric",
        )
    ]
    shared = [getattr(cpu, name) for name in _fields(SpeedPair) if name not in ("cpu_s", "mps_s", "speedup")]
    statement = (
        sa.select(
            *shared,
            cpu.seconds.label("cpu_s"),
            mps.seconds.label("mps_s"),
            (cpu.seconds / mps.seconds).label("speedup"),
        )
        .join(mps, sa.and_(cpu.source_id == mps.source_id, *same))
        .where(cpu.device == "cpu", mps.device == "mps", cpu.outcome == "ok", mps.outcome == "ok")
        .where(cpu.seconds > 0, mps.seconds > 0)
        .order_by(cpu.id, mps.id)
    )
    if source_id is not None:
        statement = statement.where(cpu.source_id == source_id)
    return _rows(engine, SpeedPair, statement)


def _fields(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    return struct.__struct_fields__


def _select(table: type[Any], struct: type[msgspec.Struct]) -> sa.Select[Any]:
    columns = table.__table__.c
    return sa.select(*(columns[name] for name in _fields(struct)))


def _rows(engine: sa.Engine, struct: type[_Row], statement: sa.Executable) -> list[_Row]:
    with engine.connect() as connection:
        found = connection.execute(statement).mappings().all()
    # Not strict: SQLite hands out 0 and 1 where a view says true and false.
    names = [str(name) for name in found[0]] if found else []
    return [msgspec.convert({name: _plain(name, row[name]) for name in names}, struct, strict=False) for row in found]


def _plain(name: str, value: Any) -> Any:
    # A view hands JSON out as text on SQLite.
    return json.loads(value) if name in ("flags", "fallback_ops") and isinstance(value, str) else value
