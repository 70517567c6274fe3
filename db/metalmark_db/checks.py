"""What has to hold of a document before it may enter a database, beyond the types of its fields."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

from .document import Document
from .record import Case, Moment, Workload
from .words import Outcome

# What makes two definitions of a workload different work, or another rate of the same time.
FACTS = ("task", "batch", "input_shape", "items_per_iteration", "flops_per_iteration", "bytes_per_iteration")
_BIGGEST = 2**63 - 1  # what a column holds
DEVICES = ("cpu", "mps", "cuda", "xpu")
MOST_ITERATIONS = 10**9
LATE_NS, LATE_SHARE = 1_000_000, 0.02  # of a block: a wait after it that is longer means that it was not over
_EARLY = timedelta(days=1)  # clocks of computers differ

Known = Mapping[tuple[str, int], Workload]


def problems(document: Document) -> list[str]:
    """What is wrong with a document, whatever database it is for."""
    return [text for check in _CHECKS for text in check(document)]


def contradictions(used: Iterable[tuple[str, int]], facts: Iterable[Workload], known: Known) -> list[str]:
    """What a document says of the workloads that it uses against what is ``known`` of them."""
    told = {(one.id, one.version): one for one in facts}
    return [text for key in dict.fromkeys(used) for text in _of_workload(key, told.get(key), known.get(key))]


def _of_workload(key: tuple[str, int], here: Workload | None, there: Workload | None) -> Iterator[str]:
    name = f"{key[0]} version {key[1]}"
    if here is None and there is None:
        yield f"workloads says nothing of {name}, and neither does the database"
    elif here is not None and there is not None:
        yield from _differences(name, here, there)


def _start(document: Document) -> Iterator[str]:
    text = document.run.head.started_at
    try:
        start = datetime.fromisoformat(text)
    except ValueError:
        yield f"run.head.started_at is {text!r}, and no time in ISO 8601"
        return
    if start.utcoffset() != timedelta(0):
        yield f"run.head.started_at is {text!r}, and not in UTC (+00:00)"
    elif text != start.isoformat(timespec="seconds"):
        yield f"run.head.started_at is {text!r}, and not written as {start.isoformat(timespec='seconds')!r}"
    elif start > datetime.now(UTC) + _EARLY:
        yield f"run.head.started_at is {text!r}, which has yet to come"


def _cases(document: Document) -> Iterator[str]:
    if not document.run.cases:
        yield "run.cases is empty: nothing was measured"
    seen = set()
    for place, case in enumerate(document.run.cases):
        key = case.key
        if key in seen:
            yield f"{_where(place, case)} is there twice"
        seen.add(key)
        yield from (f"{_where(place, case)} {text}" for text in _case(case))


def _where(place: int, case: Case) -> str:
    return f"run.cases[{place}] ({case.workload} on {case.device}, {case.precision.value} {case.mode.value})"


def _case(case: Case) -> Iterator[str]:
    numbers = [one.number for one in case.rounds]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        yield "has its rounds out of order, or one twice"
    if case.outcome is Outcome.OK and not any(one.block_ns for one in case.rounds):
        yield "is ok and has no samples"
    if case.device not in DEVICES:
        yield f"is on a device that is none of {', '.join(DEVICES)}"
    if case.fallback_ops and not case.fallback:
        yield "names operations that ran on the CPU, and does not say that it fell back"
    if case.outcome is Outcome.OK:
        yield from _right(case)
    if case.conditions == Moment():
        yield "has conditions that say nothing: leave them out"
    if any(one.block_ns and max(one.block_ns) > _BIGGEST for one in case.rounds):
        yield "has a time that no clock shows"


def _right(case: Case) -> Iterator[str]:
    """What a right case says against itself."""
    if case.reason is not None:
        yield f"is ok, with the reason {case.reason.value}"
    truth = case.truth
    if truth is not None and (truth.error_norm > truth.tolerance or truth.error_max_rms > 30 * truth.tolerance):
        yield "is ok, and its output differs from the reference by more than its tolerance"
    for one in case.rounds:
        if one.iterations > MOST_ITERATIONS:
            yield f"has {one.iterations:,} iterations in a block, which no run has"
        block = median(one.block_ns) if one.block_ns else 0
        if one.residual_ns is not None and one.residual_ns > max(LATE_NS, LATE_SHARE * block):
            yield "is ok, and its clock stopped before the device had finished (residual_ns)"


def _workloads(document: Document) -> Iterator[str]:
    if len({(one.id, one.version) for one in document.workloads}) != len(document.workloads):
        yield "workloads has one of them twice"


def _differences(name: str, here: Workload, there: Workload) -> Iterator[str]:
    for fact in FACTS:
        new, old = getattr(here, fact), getattr(there, fact)
        if new is not None and old is not None and new != old:
            yield f"workloads says that {fact} of {name} is {new}; the database knows {old}"


_CHECKS: tuple[Callable[[Document], Iterator[str]], ...] = (_start, _cases, _workloads)
