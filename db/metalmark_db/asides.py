"""What a median leaves out of a case: one call at a time, and a minute of work back to back."""

from collections.abc import Iterator, Sequence
from statistics import median

from msgspec import Struct

from .record import Case
from .stats import summarize, sustained_ratio


class ShortCall(Struct, frozen=True, kw_only=True):
    """A short case in both ways of calling it."""

    workload: str
    device: str
    precision: str
    mode: str
    chained_s: float  # call after call, waited for once: what a loop over many sees
    alone_s: float  # each waited for: what somebody sees who needs the result at once


class Minute(Struct, frozen=True, kw_only=True):
    """A case that was worked at back to back."""

    workload: str
    device: str
    precision: str
    mode: str
    burst_s: float  # an iteration in the short blocks
    ratio: float  # of an iteration at the end of the minute to that: above 1 it has slowed down
    watts: float | None  # mean power of the device over the minute, where it has a counter


def short_calls(cases: Sequence[Case]) -> list[ShortCall]:
    """The cases whose single calls were timed, with the median over rounds of the rounds' medians."""
    return list(_short_calls(cases))


def minutes(cases: Sequence[Case]) -> list[Minute]:
    """The cases that were worked at back to back."""
    return list(_minutes(cases))


def _short_calls(cases: Sequence[Case]) -> Iterator[ShortCall]:
    for case in cases:
        alone = [median(one.per_call_ns) for one in case.rounds if one.per_call_ns]
        summary = summarize(case.rounds)
        if alone and summary is not None:
            yield ShortCall(
                workload=case.workload,
                device=case.device,
                precision=case.precision,
                mode=case.mode,
                chained_s=summary.median_s,
                alone_s=median(alone) / 1e9,
            )


def _minutes(cases: Sequence[Case]) -> Iterator[Minute]:
    for case in cases:
        summary = summarize(case.rounds)
        ratio = None if case.sustained is None else sustained_ratio(case.rounds, case.sustained)
        if case.sustained is None or summary is None or ratio is None:
            continue
        energy, seconds = case.sustained.energy_j, case.sustained.energy_s
        yield Minute(
            workload=case.workload,
            device=case.device,
            precision=case.precision,
            mode=case.mode,
            burst_s=summary.median_s,
            ratio=ratio,
            watts=energy / seconds if energy is not None and seconds else None,
        )
