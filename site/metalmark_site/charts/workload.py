"""One workload: what each chip does in a second, the fastest first, as bars from zero or dots on ratios."""

from collections.abc import Iterable
from functools import cache

import altair as alt

from metalmark_db.rows import PublishedRow, ResultRow, WorkloadRow

from .. import units
from ..text import shorten
from ..words import DEVICES, chip_of, cores, device, way
from .base import Axis, Chart, Row, Size, Spec, Unit, finish, notes
from .speed import TIPS, TITLES, dot
from .strip import BAND, COLOUR, FIELDS, LINE_AT, TOP, across, band, dots, hollow, interval, labels, named, track

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
    ours = dots(axis, tips).transform_filter("!datum.published")
    marks = [track(), interval(axis), ours] if axis.log else [bars(axis, tips), interval(axis)]
    marks.append(hollow(axis, tips))
    return finish([*marks, *labels(size)], size, step=BAND, top=TOP)


def bars(axis: Axis, tips: list[alt.Tooltip]) -> alt.Chart:
    """A bar from zero for each result; the others fade while one is pointed at."""
    pointed = alt.selection_point(name="pointed", on="pointerover", clear="pointerout")
    bar: alt.Chart = (
        alt.Chart().transform_filter("!datum.published").mark_bar(height=14, yOffset=BAND * (LINE_AT - 0.5))
    )
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


def rows(
    results: Iterable[ResultRow], published: Iterable[PublishedRow] = (), of: WorkloadRow | None = None
) -> list[Row]:
    """One bar for each of the fastest results, and one mark for each figure that others published of the same work."""
    drawn = [_row(result) for result in fastest(results)]
    if of is not None:
        drawn += [_published(figure, of) for figure in published if figure.seconds]
    drawn.sort(key=lambda row: -float(row["value"] or 0.0))
    return [row | {"row": str(index)} for index, row in enumerate(drawn[:MOST])]


def _published(figure: PublishedRow, of: WorkloadRow) -> Row:
    rate = of.items_per_iteration / (figure.seconds or 1.0)
    name = shorten(", ".join(filter(None, (figure.chip, cores(figure)))), 60)
    kind = figure.precision or ""
    form = kind if figure.ours_mode != "compile" else f"{kind}, compiled"
    return {
        "head": True,
        "published": True,
        "label": f"{name} · {device(figure.device)} {form} · published",
        "label_short": f"{shorten(figure.chip.removeprefix('Apple '), 20)} · published",
        "note": f"{units.digits(rate)} {plural(of.item)}/s",
        "note_short": f"{units.digits(rate)}/s",
        "rate": f"{units.digits(rate)} {plural(of.item)}",
        "value": rate,
        "device": figure.device if figure.device in DEVICES else "",
        "machine": name,
        "on": f"{device(figure.device)}, {form}",
        "time": units.seconds(figure.seconds),
        "torch": shorten(figure.framework_version or "", 30) or None,
        "run": f"published by {shorten(figure.source_id, 40)}",
    }


def _row(result: ResultRow) -> Row:
    rate = result.items_per_s or 0.0
    items = rate * (result.median_s or 0.0)
    ends = (result.low_s, result.high_s) if result.low_s and result.high_s else (None, None)
    name = shorten(", ".join(filter(None, (chip_of(result), cores(result)))), 60)
    marks = f"{device(result.device)} {way(result)}"
    own: Row = {
        "head": True,
        "published": False,
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


CHART = Chart(name="workload", shape=shape, fields=(*FIELDS, "published"), tips=RANK_TIPS)
