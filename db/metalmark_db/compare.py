"""Chips, machines and runs side by side: like with like, with the interval of each ratio."""

import math
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from .stats import ratio_interval
from .subjects import Key, Measured, Subject, numbers


class Ratio(Struct, frozen=True, kw_only=True):
    """How many times as fast as the first one: above 1 is faster."""

    ratio: float
    low: float | None
    high: float | None
    within_noise: bool | None  # whether the interval contains 1; None where there is none


class Line(Struct, frozen=True, kw_only=True):
    """One case on all of them."""

    key: Key
    measured: tuple[Measured, ...]
    ratios: tuple[Ratio, ...]  # of the second and those after it


class Comparison(Struct, frozen=True, kw_only=True):
    """All cases that are right on all of them."""

    names: tuple[str, ...]
    lines: tuple[Line, ...]
    geometric_means: tuple[float, ...]  # of the ratios of the second and those after it; none without lines
    versions_differ: int  # cases on all of them, but with no torch and macOS in common
    not_on_all: int  # cases that some have not measured


def compare(subjects: Sequence[Subject], *, mix: bool = False) -> Comparison:
    """The comparison of two or more: each case under the newest torch and macOS that all of them have measured.

    Systems other than macOS are taken as one. With ``mix``, each is taken under the newest torch that it has.
    """
    keys = sorted({key for subject in subjects for key in subject.rows})
    shared = [key for key in keys if all(key in subject.rows for subject in subjects)]
    lines, apart = [], 0
    for key in shared:
        chosen = _chosen([subject.rows[key] for subject in subjects], mix=mix)
        if chosen is None:
            apart += 1
        else:
            lines.append(Line(key=key, measured=chosen, ratios=tuple(_ratio(chosen[0], one) for one in chosen[1:])))
    return Comparison(
        names=tuple(subject.name for subject in subjects),
        lines=tuple(lines),
        geometric_means=_means(lines),
        versions_differ=apart,
        not_on_all=len(keys) - len(shared),
    )


def _chosen(several: Sequence[Sequence[Measured]], *, mix: bool) -> tuple[Measured, ...] | None:
    """One row of each, the newest that fit together; None if none do."""
    if mix:
        return tuple(max(rows, key=_age) for rows in several)
    shared = set.intersection(*({row.torch for row in rows if row.torch} for rows in several))  # unknown is no version
    for torch in sorted(shared, key=numbers, reverse=True):
        chosen = _on_one_system([[row for row in rows if row.torch == torch] for rows in several])
        if chosen is not None:
            return chosen
    return None


def _on_one_system(several: Sequence[Sequence[Measured]]) -> tuple[Measured, ...] | None:
    """One row of each under the newest macOS that all have which ran on macOS; None where they share none."""
    systems = {row.os for rows in several for row in rows if _is_mac(row)}
    for system in sorted(systems, key=numbers, reverse=True) or [None]:
        rows = [next((row for row in some if row.os == system or not _is_mac(row)), None) for some in several]
        fitting = tuple(row for row in rows if row is not None)
        if len(fitting) == len(several):
            return fitting
    return None


def _is_mac(row: Measured) -> bool:
    return row.os is None or row.os.startswith("macOS")


def _age(row: Measured) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return numbers(row.torch), numbers(row.os)


def _ratio(base: Measured, other: Measured) -> Ratio:
    found = ratio_interval((base.median_s, base.low_s, base.high_s), (other.median_s, other.low_s, other.high_s))
    low, high = found or (None, None)
    noise = None if low is None or high is None else low <= 1 <= high
    return Ratio(ratio=base.median_s / other.median_s, low=low, high=high, within_noise=noise)


def _means(lines: Sequence[Line]) -> tuple[float, ...]:
    columns = zip(*([one.ratio for one in line.ratios] for line in lines), strict=True)
    return tuple(math.exp(fmean(map(math.log, column))) for column in columns)
