"""What all charts share: their frame, their look, and how rows enter a shape.

A shape is built and validated by Altair once for each size and axis; afterwards only rows are
swapped in, which is a thousand times cheaper. Frames are fixed (no automatic size), so that a
drawing keeps its place when it becomes interactive under another font.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import altair as alt

Value = str | float | bool | None
Row = dict[str, Value]
Spec = dict[str, Any]

FONT = 12
ANY = "any title"


class Size(StrEnum):
    """The two drawings of a chart; the page shows the one that fits."""

    WIDE = "wide"
    NARROW = "narrow"


WIDTHS = {Size.WIDE: 740, Size.NARROW: 330}
TICKS = {Size.WIDE: 9, Size.NARROW: 4}


class Unit(StrEnum):
    """What the numbers of an axis are, which decides how they are written."""

    SECONDS = "seconds"
    NUMBER = "number"
    NONE = "none"


LABELS = {
    Unit.SECONDS: (
        "datum.value == 0 ? '0' : datum.value >= 1 ? format(datum.value, ',~r') + ' s'"
        " : datum.value >= 9.99e-4 ? format(datum.value * 1e3, '~r') + ' ms' : format(datum.value * 1e6, '~r') + ' µs'"
    ),
    Unit.NUMBER: "format(datum.value, ',~r')",
    Unit.NONE: "datum.label",
}


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The horizontal axis: what it shows, in which unit, and whether equal steps are equal ratios."""

    title: str
    unit: Unit
    log: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One kind of chart: its shape, and the fields of its rows."""

    name: str
    shape: Callable[[Size, Axis], Spec]
    fields: tuple[str, ...]  # what the marks are drawn from
    tips: tuple[str, ...]  # what the note beside a mark says

    def spec(self, rows: Sequence[Row], size: Size, axis: Axis) -> Spec:
        """A complete Vega-Lite specification of these rows."""
        spec = titled(self.shape(size, replace(axis, title=ANY)), axis.title)
        spec["data"] = {"values": [self._values(row) for row in rows]}
        if axis.unit is not Unit.NONE:
            low, high, ticks = extent(rows, log=axis.log, most=TICKS[size])
            bounds = {"low_end": low, "high_end": high, "ticks": ticks}
            spec["params"] = [*({"name": n, "value": v} for n, v in bounds.items()), *spec.get("params", [])]
        return spec

    def _values(self, row: Row) -> Row:
        # Vega would write the word "null" for a text that is not known; an empty one is left out of the note.
        said: Row = {name: row.get(name) or "" for name in self.tips}
        return {name: row.get(name) for name in self.fields} | said


def titled(shape: Spec, title: str) -> Spec:
    """A copy of the shape with this title on its axis; titles would else multiply the shapes to validate."""
    spec = copy.deepcopy(shape)
    for layer in spec["layer"]:
        axis = layer["encoding"]["x"].get("axis")
        if axis and axis["title"] == ANY:
            axis["title"] = title
    return spec


DRAWN = ("low", "value", "high", "span_from", "span_to")  # fields that have a place on the axis


def extent(rows: Sequence[Row], *, log: bool, most: int) -> tuple[float, float, list[float]]:
    """The ends of the axis and its ticks: round numbers that hold all values, intervals and spans."""
    values = [float(row[n]) for row in rows for n in DRAWN if isinstance(row.get(n), int | float)]  # type: ignore[arg-type]
    return log_extent(min(values), max(values), most) if log else linear_extent(max(values), most)


def linear_extent(highest: float, most: int) -> tuple[float, float, list[float]]:
    """From zero to just above the highest value, at most ``most`` ticks."""
    rough = highest / max(1, most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
    ticks = [_clean(step * i) for i in range(math.floor(highest * 1.001 / step) + 1)]
    return 0.0, max(highest * 1.02, ticks[-1]), ticks


def log_extent(lowest: float, highest: float, most: int) -> tuple[float, float, list[float]]:
    """A little beyond the lowest and highest value, with ticks at 1, 2, 5 or at powers of ten."""
    low, high = lowest / 1.15, highest * 1.15
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [_clean(step * 10.0**decade) for decade in decades for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= most and (len(inside) > 1 or steps == (1, 2, 5)):
            return low, high, inside
    every = math.ceil(len(inside) / most)
    return low, high, inside[::every]


def _clean(value: float) -> float:
    return float(f"{value:.6g}")  # 0.30000000000000004 is no tick


def notes(names: Sequence[str], titles: Sequence[str]) -> list[alt.Tooltip]:
    """What the note beside a mark says: texts under their titles."""
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in zip(names, titles, strict=True)]


def finish(layers: Sequence[alt.Chart], size: Size, *, step: int, top: int, left: int = 0, right: int = 8) -> Spec:
    """The validated shape of a chart in its fixed frame, in colours that follow the page's theme."""
    framed = alt.LayerChart(layer=list(layers)).properties(
        height=alt.Step(step),
        width=WIDTHS[size] - left - right,
        padding={"left": left, "right": right, "top": top, "bottom": 4},
        autosize=alt.AutoSizeParams(type="none"),
    )
    spec: Spec = framed.properties(config=config()).to_dict()
    for layer in (spec, *spec["layer"]):
        layer.pop("data", None)  # the rows come later, once for all layers
    return spec


def config() -> alt.Config:
    """The look of all charts."""
    ink = "currentColor"
    return alt.Config(
        aria=False,  # one name on the drawing says more than sixty on its parts; the table has the data
        background="transparent",
        font="inherit",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=ink,
            titleColor=ink,
            gridColor=ink,
            gridOpacity=0.13,
            domain=False,
            ticks=False,
            labelFontSize=FONT - 1,
            titleFontSize=FONT,
            titleFontWeight="normal",
            labelLimit=0,
            titleLimit=0,
            labelOpacity=0.85,
        ),
        text=alt.MarkConfig(fill=ink, fontSize=FONT, limit=0),
        rule=alt.MarkConfig(stroke=ink),
    )
