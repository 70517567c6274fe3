"""What a person is told after a run, beside its table: the three most useful facts, and what is next."""

import re
from collections.abc import Iterator, Sequence
from statistics import median

from metalmark_db.asides import minutes
from metalmark_db.output import command, say
from metalmark_db.plausible import BEYOND_PEAK
from metalmark_db.record import Case
from metalmark_db.terminal import significant
from metalmark_db.words import Mode, Outcome, Precision, Reason

from . import preflight
from .board import Board, Comparison, Verdict
from .explain import explain
from .plugins import KNOWN
from .preflight import Concern, Kind
from .sitting import Sitting
from .words import OUTCOMES

_FACTS = 3
_SLOWED = 1.05  # times as long after a minute: less is not worth a sentence
_NAMED = 3  # cases of one kind that are named; the table shows the others
_SIGNAL = re.compile(r"\(signal ([0-9]{1,2})\)")

# Worst first: a wrong result can mislead, the others only lack.
_FAILURES = {
    Outcome.WRONG_RESULT: "gave a wrong result",
    Outcome.CRASH: "crashed",
    Outcome.OUT_OF_MEMORY: "ran out of memory",
    Outcome.UNSUPPORTED_OP: "needed an operation that the device lacks",
    Outcome.TIMEOUT: "did not answer in time",
    Outcome.ERROR: "failed",
}
_NOT_RUN = {
    Reason.BUDGET: ("for lack of time", "Measure alone, each gets more time: metalmark run --workload NAME"),
    Reason.TIME_ESTIMATE: ("because it would take too long", "A longer effort has room for it."),
    Reason.MEMORY_ESTIMATE: ("for lack of memory", "Close programs, or try all the same with: metalmark run --force"),
    Reason.NO_COMPILER: ("for lack of a C++ compiler", "Install one (on macOS: xcode-select --install)."),
}


def after(sitting: Sitting, db: str | None = None) -> None:
    """Say on standard error what the run showed and what to do next."""
    for fact in facts(sitting):
        say(f"- {fact}", stderr=True)
    say(_next(sitting, db), stderr=True)


def facts(sitting: Sitting) -> list[str]:
    """The three most useful facts, in plain words and true to the numbers."""
    board = Board(sitting.cases)
    failures = list(_failures(sitting.cases))
    ranked = (
        *_unusable(sitting.cases),
        *_beyond_peak(sitting.cases),
        *failures[:1],
        *_against_cpu(board),
        *_spoiled(sitting),
        *failures[1:],
        *_unsteady(board),
        *_slowed_down(sitting.cases),
        *_left_out(sitting.cases),
        *_fastest(board),
        *_spread(board),
    )
    return list(ranked[:_FACTS])


def _unusable(cases: Sequence[Case]) -> Iterator[str]:
    for device, why in sorted({(c.device, c.detail or "") for c in cases if c.outcome is Outcome.NO_BACKEND}):
        yield f"{device} was not measured: {_sentence(why)} The CPU's rows are the CPU's alone."


def _beyond_peak(cases: Sequence[Case]) -> Iterator[str]:
    """Faster than the chip can be is no reason for joy."""
    beyond = [case for case in cases if BEYOND_PEAK in case.flags]
    if beyond:
        yield (
            f"{_named(beyond)} came out faster than the chip's published peak allows. Either the peak is wrong or the "
            "time is: such a number is in no chart until it is confirmed. Please report it with: metalmark doctor "
            "--bundle FOLDER"
        )


def _failures(cases: Sequence[Case]) -> Iterator[str]:
    """Cases that failed in the same way and are helped by the same advice."""
    groups: dict[tuple[Outcome, str], list[Case]] = {}
    for outcome in _FAILURES:
        for case in cases:
            if case.outcome is outcome:
                groups.setdefault((outcome, _advice(case)), []).append(case)
    for (outcome, advice), alike in groups.items():
        yield f"{_named(alike)} {_FAILURES[outcome]}. {advice}".strip()


def _advice(case: Case) -> str:
    """What `explain` advises, where it takes the text for what the run took it for."""
    text = case.detail or ""
    signal = _SIGNAL.search(text)
    told = explain(text, exit=-int(signal[1]) if signal else None, timed_out=case.outcome is Outcome.TIMEOUT)
    return told.advice if OUTCOMES[told.kind] is case.outcome else ""


def _against_cpu(board: Board) -> Iterator[str]:
    """A GPU beside the CPU, both in fp32: faster or slower only where the intervals lie apart."""
    alike = [case for case in board.cases if _is_plain(case)]
    compared = [versus for case in alike if (versus := board.comparison(case)) is not None]
    for device in dict.fromkeys(versus.case.device for versus in compared):
        mine = sorted((one for one in compared if one.case.device == device), key=lambda one: one.ratio)
        by = {verdict: [one for one in mine if one.verdict is verdict] for verdict in Verdict}
        parts = [
            _faster(by[Verdict.FASTER], len(mine)),
            _slower(by[Verdict.SLOWER]),
            f"not decided (intervals that overlap, or too few samples for one) in {_workloads(by[Verdict.OPEN])}"
            if by[Verdict.OPEN]
            else "",
        ]
        yield f"{device} in fp32, beside the CPU: {'; '.join(part for part in parts if part)}."


def _is_plain(case: Case) -> bool:
    return case.precision is Precision.FP32 and case.mode is Mode.EAGER and not case.fallback and _is_possible(case)


def _is_possible(case: Case) -> bool:
    return BEYOND_PEAK not in case.flags


def _faster(found: Sequence[Comparison], count: int) -> str:
    if not found:
        return ""
    span = f"{significant(found[0].ratio, 2)} times ({found[0].case.workload})"
    if len(found) > 1:
        span = f"from {span} to {significant(found[-1].ratio, 2)} times ({found[-1].case.workload})"
    return f"faster in {len(found)} of {count} workloads, {span}"


def _slower(found: Sequence[Comparison]) -> str:
    if not found:
        return ""
    return f"slower in {_workloads(found)}, where it took up to {significant(1 / found[0].ratio, 2)} times as long"


def _workloads(found: Sequence[Comparison]) -> str:
    return _some([one.case.workload for one in found])


def _spoiled(sitting: Sitting) -> Iterator[str]:
    """Conditions at the beginning, and at the end all but the load: that is the run's own by then."""
    head = sitting.head
    found: dict[Kind, Concern] = {}
    for place, conditions in enumerate(sitting.conditions):
        at_the_end = place == len(sitting.conditions) - 1
        for concern in preflight.concerns(head.machine, head.software, conditions):
            if not (at_the_end and concern.kind is Kind.LOAD):
                found.setdefault(concern.kind, concern)
    if found:
        kinds = ", ".join(found)
        yield f"Measured {kinds}, which can spoil numbers. {next(iter(found.values())).todo}"


def _unsteady(board: Board) -> Iterator[str]:
    slept = [case for case in board.cases if "slept" in case.flags]
    if slept:
        yield f"The machine slept while {_named(slept)} ran. Keep the lid open and the power plugged in."
    bimodal = [case for case in board.cases if (found := board.summary(case)) is not None and found.bimodal]
    if bimodal:
        yield f"{_named(bimodal)} ran at clearly different speeds in different processes: no one figure describes that."


def _slowed_down(cases: Sequence[Case]) -> Iterator[str]:
    """What a minute of work did, where it did something."""
    slowest = max(minutes(cases), key=lambda one: one.ratio, default=None)
    if slowest is not None and slowest.ratio >= _SLOWED:
        yield (
            f"After a minute of work {slowest.workload} on {slowest.device} took {significant(slowest.ratio)} times as "
            "long as in the short blocks: the machine cannot hold its first speed."
        )


def _left_out(cases: Sequence[Case]) -> Iterator[str]:
    for reason, (why, todo) in _NOT_RUN.items():
        alike = [case for case in cases if case.outcome is Outcome.NOT_RUN and case.reason is reason]
        if alike:
            yield f"Not run {why}: {_named(alike)}. {todo}"


def _fastest(board: Board) -> Iterator[str]:
    rates = [
        (flops / found.median_s, case)
        for case in board.cases
        if _is_possible(case)
        and (found := board.summary(case))
        and (flops := KNOWN[case.workload].facts.flops_per_iteration)
    ]
    if rates:
        rate, case = max(rates, key=lambda pair: pair[0])
        yield f"The most arithmetic a second was done by {_name(case)}: {significant(rate / 1e12)} TFLOP/s."


def _spread(board: Board) -> Iterator[str]:
    widths = [
        ((found.high_s - found.low_s) / 2 / found.median_s, case)
        for case in board.cases
        if (found := board.summary(case)) and found.low_s is not None and found.high_s is not None
    ]
    if widths:
        widest, case = max(widths, key=lambda pair: pair[0])
        usual = median(width for width, _ in widths)
        told = (significant(100 * usual, 2), significant(100 * widest, 2))
        yield f"The 95 % intervals reach ±{told[0]} % in the middle of the table and ±{told[1]} % for {_name(case)}."


def _name(case: Case) -> str:
    precision = "" if case.precision is Precision.FP32 else f" in {case.precision}"
    mode = "" if case.mode is Mode.EAGER else f" ({case.mode})"
    return f"{case.workload} on {case.device}{precision}{mode}"


def _named(cases: Sequence[Case]) -> str:
    return _some([_name(case) for case in cases])


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more"


def _sentence(text: str) -> str:
    plain = " ".join(text.split())
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def _next(sitting: Sitting, db: str | None) -> str:
    run_id, effort = sitting.run_id, sitting.head.effort.value
    if not sitting.finished:
        measured = sum(case.outcome is Outcome.OK for case in sitting.cases)
        return (
            f"Interrupted: the {measured} cases measured so far are stored as run {run_id}. "
            f"Go on with: {command('run', '--resume', '--effort', effort, db=db)}"
        )
    return (
        f"Stored as run {run_id}. Look at it again: {command('show', str(run_id), db=db)}. "
        f"Build the site: {command('build', db=db)}; see it: {command('serve', takes_db=False)}."
    )
