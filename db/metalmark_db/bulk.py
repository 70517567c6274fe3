"""A whole run into the database at once, as fast as the drivers take rows."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from .document import Document
from .models import CaseRecord, RunRecord, TouchedRecord
from .packing import Packer, Row, insert_many
from .record import Case, Round, Workload
from .stats import Summary, summarize
from .store import CASE_KEY, put_conditions, put_head, put_workload
from .words import Outcome

CASE_ROWS, ROUND_ROWS = Packer(Case, leave_out=("rounds",)), Packer(Round)
_SUMMARY = ("median_s", "low_s", "high_s", "interval", "samples")
_CASES = CaseRecord.__table__.c
_CASES_OF_RUN = sa.select(_CASES.id, *(_CASES[name] for name in CASE_KEY)).where(_CASES.run_id == sa.bindparam("run"))
_RUN_OF_DIGEST = sa.select(RunRecord.id).where(RunRecord.digest == sa.bindparam("digest"))
_TOUCH = sa.insert(TouchedRecord)
_NOTHING: Row = [None, None, None, None, 0]


def put_document(connection: sa.Connection, document: Document, workloads: Iterable[Workload]) -> int:
    """Number of the new run of a document; ``workloads`` are those whose facts are to be written.

    Every statistic is computed anew from the raw samples.
    """
    run = document.run
    for workload in sorted(workloads, key=lambda one: (one.id, one.version)):  # as begin_run does, and for its reason
        put_workload(connection, workload)
    after = None if run.conditions_after is None else put_conditions(connection, run.conditions_after)
    more = {"conditions_after_id": after, "finished": run.finished, "digest": document.digest}
    run_id = put_head(connection, run.head, more | {"handle": document.handle})
    cases = [[run_id, *_said(case), *CASE_ROWS.row(case)] for case in run.cases]
    insert_many(connection, "cases", ("run_id", *_SUMMARY, *CASE_ROWS.names), cases)
    numbers = _numbers(connection, run_id)
    rounds = [[numbers[case.key], *ROUND_ROWS.row(one)] for case in run.cases for one in case.rounds]
    insert_many(connection, "rounds", ("case_id", *ROUND_ROWS.names), rounds)
    connection.execute(_TOUCH, {"run_id": run_id})
    return run_id


def find_run(connection: sa.Connection, digest: str) -> int | None:
    """Number of the run with this document, if there is one."""
    found: int | None = connection.scalar(_RUN_OF_DIGEST, {"digest": digest})
    return found


def _said(case: Case) -> Row:
    summary: Summary | None = summarize(case.rounds) if case.outcome is Outcome.OK else None
    if summary is None:
        return _NOTHING
    return [summary.median_s, summary.low_s, summary.high_s, summary.interval, summary.samples]


def _numbers(connection: sa.Connection, run_id: int) -> dict[Any, int]:
    return {tuple(key): number for number, *key in connection.execute(_CASES_OF_RUN, {"run": run_id})}
