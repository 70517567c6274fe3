"""Documents made ready for the tables: read, checked, every statistic computed, rows laid out.

It is half of the work of taking documents in, and needs no database: with many documents, a second process does it
while this one writes (``ahead``).
"""

from collections.abc import Iterable

from msgspec import Struct

from .checks import problems
from .document import decode
from .errors import DataProblem
from .packing import Packer, Row
from .record import Case, Conditions, Key, Round, RunHead, Workload
from .stats import summarize
from .words import Outcome

CASE_ROWS, ROUND_ROWS = Packer(Case, leave_out=("rounds",)), Packer(Round)
SUMMARY = ("median_s", "low_s", "high_s", "interval", "samples")

_NOTHING: Row = [None, None, None, None, 0]

Source = Iterable[tuple[str, bytes | DataProblem]]


class Prepared(Struct, frozen=True, kw_only=True):
    """A document as the database takes it."""

    digest: str
    handle: str | None
    finished: bool
    head: RunHead
    conditions_after: Conditions | None
    workloads: tuple[Workload, ...]
    keys: tuple[Key, ...]  # of the cases, in their order
    cases: tuple[Row, ...]  # columns SUMMARY and those of CASE_ROWS
    rounds: tuple[tuple[int, Row], ...]  # number of the case, and columns of ROUND_ROWS


def prepare(data: bytes) -> Prepared:
    """The document in these bytes, ready for the tables.

    Raises:
        DataProblem: it is no document, or says what cannot be.
    """
    document = decode(data)
    if found := problems(document):
        raise DataProblem(told(found))
    run = document.run
    return Prepared(
        digest=document.digest,
        handle=document.handle,
        finished=run.finished,
        head=run.head,
        conditions_after=run.conditions_after,
        workloads=document.workloads,
        keys=tuple(case.key for case in run.cases),
        cases=tuple([*_said(case), *CASE_ROWS.row(case)] for case in run.cases),
        rounds=tuple((place, ROUND_ROWS.row(one)) for place, case in enumerate(run.cases) for one in case.rounds),
    )


def told(found: list[str], most: int = 5) -> str:
    """Reasons as one text, no more than so many of them."""
    return "; ".join(found[:most]) + (f"; and {len(found) - most} more" if len(found) > most else "")


def _said(case: Case) -> Row:
    summary = summarize(case.rounds) if case.outcome is Outcome.OK else None  # wrong work has no speed
    if summary is None:
        return _NOTHING
    return [summary.median_s, summary.low_s, summary.high_s, summary.interval, summary.samples]


def made_ready(data: bytes | DataProblem) -> Prepared | DataProblem:
    """The document made ready, or why it cannot be."""
    if isinstance(data, DataProblem):
        return data
    try:
        return prepare(data)
    except DataProblem as problem:
        return problem
