"""A whole run into the database at once, as fast as the drivers take rows."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from .models import CaseRecord, RunRecord, TouchedRecord
from .packing import insert_many
from .prepare import CASE_ROWS, ROUND_ROWS, SUMMARY, Prepared
from .record import Workload
from .store import CASE_KEY, put_conditions, put_head, put_workload

_CASES = CaseRecord.__table__.c
_CASES_OF_RUN = sa.select(_CASES.id, *(_CASES[name] for name in CASE_KEY)).where(_CASES.run_id == sa.bindparam("run"))
_RUN_OF_DIGEST = sa.select(RunRecord.id).where(RunRecord.digest == sa.bindparam("digest"))
_TOUCH = sa.insert(TouchedRecord)


def put_run(connection: sa.Connection, run: Prepared, workloads: Iterable[Workload]) -> int:
    """Number of the new run of a document; ``workloads`` are those whose facts are to be written."""
    for workload in sorted(workloads, key=lambda one: (one.id, one.version)):  # as begin_run does, and for its reason
        put_workload(connection, workload)
    after = None if run.conditions_after is None else put_conditions(connection, run.conditions_after)
    more = {"conditions_after_id": after, "finished": run.finished, "digest": run.digest, "handle": run.handle}
    run_id = put_head(connection, run.head, more)
    insert_many(connection, "cases", ("run_id", *SUMMARY, *CASE_ROWS.names), [(run_id, *row) for row in run.cases])
    numbers = _numbers(connection, run_id)
    cases = [numbers[key] for key in run.keys]
    rounds = [(cases[place], *row) for place, row in run.rounds]
    insert_many(connection, "rounds", ("case_id", *ROUND_ROWS.names), rounds)
    connection.execute(_TOUCH, {"run_id": run_id})
    return run_id


def find_run(connection: sa.Connection, digest: str) -> int | None:
    """Number of the run with this document, if there is one."""
    found: int | None = connection.scalar(_RUN_OF_DIGEST, {"digest": digest})
    return found


def _numbers(connection: sa.Connection, run_id: int) -> dict[Any, int]:
    return {tuple(key): number for number, *key in connection.execute(_CASES_OF_RUN, {"run": run_id})}
