"""One workload: what each chip does in a second, the fastest first, as bars from zero or dots on ratios."""

from collections.abc import Iterable
from functools import cache

import altair as alt

from metalmark_db.rows import ResultRow

from .. import units
from ..text import shorten
from ..words import chip_of, cores, device, way
from .base import Axis, Chart, Row, Size, Spec, Unit, finish, notes
from .speed import TIPS, TITLES, dot
from .strip import BAND, COLOUR, FIELDS, LINE_AT, TOP, across, band, dots, interval, labels, named, track

MOST = 60  # bars; the table below has the rest
WIDE_RANGE = 60  # beyond this ratio the short bars could not be told apart
RANK_TIPS, RANK_TITLES = ("rate", *TIPS[1:]), ("In a second", *TITLES[1:])


def axis(rows: Iterable[Row], item: str) -> Axis:
    """Bars from zero while they can be compared; ratios where the fastest is far ahead of the slowest."""
    values = [float(row["value"] or 0) for row in rows]
    log = max(values) > WIDE_RANGE * min(values)
    scale = "logarithmic; right is faster" if log else "longer is faster"
    return Axis(title=f"{plural(item).capitalize()} in a second ({scale})", unit=Unit.NUMBER, log=log)


@cache
def shape(size: Size, axis: Axis) -> Spec:
    """The form of the chart, without rows."""
    tips = notes(RANK_TIPS, RANK_TITLES)
    marks = [track(), interval(axis), dots(axis, tips)] if axis.log else [bars(axis, tips), interval(axis)]
    return finish([*marks, *labels(size)], size, step=BAND, top=TOP)


def bars(axis: Axis, tips: list[alt.Tooltip]) -> alt.Chart:
    """A bar from zero for each result; the others fade while one is pointed at."""
    pointed = alt.selection_point(name="pointed", on="pointerover", clear="pointerout")
    bar: alt.Chart = alt.Chart().mark_bar(height=14, yOffset=BAND * (LINE_AT - 0.5))
    strength = alt.when(pointed).then(alt.value(1)).otherwise(alt.value(0.45))
    encoded = bar.encode(x=across(axis), y=band(0.5), color=COLOUR, opacity=strength, tooltip=tips)
    return named(encoded.add_params(pointed), "bars")


def fastest(results: Iterable[ResultRow]) -> list[ResultRow]:
    """The newest result of each chip, device, core count, precision and mode, the fastest first."""
    newest: dict[tuple[object, ...], ResultRow] = {}
    for result in results:  # newest first
        if result.outcome == "ok" and result.items_per_s:
            kind = (chip_of(result), cores(result), result.device, result.precision, result.mode)
            newest.setdefault(kind, result)
    return sorted(newest.values(), key=lambda r: -(r.items_per_s or 0.0))[:MOST]


def rows(results: Iterable[ResultRow]) -> list[Row]:
    """One bar for each of the fastest results."""
    return [_row(index, result) for index, result in enumerate(fastest(results))]


def _row(index: int, result: ResultRow) -> Row:
    rate = result.items_per_s or 0.0
    items = rate * (result.median_s or 0.0)
    ends = (result.low_s, result.high_s) if result.low_s and result.high_s else (None, None)
    name = shorten(", ".join(filter(None, (chip_of(result), cores(result)))), 60)
    marks = f"{device(result.device)} {way(result)}"
    own: Row = {
        "row": str(index),
        "head": True,
        "label": f"{name} · {marks}",
        "label_short": f"{_shortly(result)} {way(result)}",
        "note": f"{units.digits(rate)} {plural(result.item)}/s",
        "note_short": f"{units.digits(rate)}/s",
        "rate": f"{units.digits(rate)} {plural(result.item)}",
        "value": rate,
        "low": items / ends[1] if ends[1] else None,
        "high": items / ends[0] if ends[0] else None,
    }
    return dot(result) | own


def _shortly(result: ResultRow) -> str:
    """Chip and device in few letters; cores tell the bins of a chip apart, and with them the device."""
    name = chip_of(result).removeprefix("Apple ")
    if result.device == "mps" and result.gpu_cores:
        return f"{shorten(name, 20)}, {result.gpu_cores} GPU ·"
    if result.device == "cpu" and result.cpu_cores:
        return f"{shorten(name, 20)}, {result.cpu_cores} CPU ·"
    return f"{shorten(name, 20)} · {shorten(result.device.upper(), 8)}"


def plural(item: str) -> str:
    """The item of a workload in the plural: images, sequences, calls."""
    return f"{shorten(item, 20)}{'' if item.endswith('s') else 's'}"


CHART = Chart(name="workload", shape=shape, fields=FIELDS, tips=RANK_TIPS)
