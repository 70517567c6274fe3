"""The shared form of the charts of times: a labelled line, and on it a dot with its interval for each result.

The label stands above its line, not beside it, so that long names cost no width on a phone.
"""

import altair as alt

from .base import FONT, LABELS, Axis, Size, Spec, finish

# What every row of this form carries; `label` and `note` are drawn once a line, by the row that is its `head`.
FIELDS = ("row", "label", "label_short", "note", "note_short", "head", "value", "low", "high", "thin", "device")
SPAN = ("span_from", "span_to")

BAND = 44  # one label and one line
LABEL_AT, LINE_AT = 0.34, 0.76
TOP = 48

# Fixed for all charts of the site: a device has one colour and one form everywhere.
DEVICES = ("cpu", "mps", "cuda", "xpu", "mlx_gpu", "")
COLOURS = tuple(f"var(--mm-{name or 'none'})" for name in DEVICES)
FORMS = ("circle", "diamond", "square", "triangle-up", "triangle-down", "cross")

COLOUR = alt.Color("device:N", legend=None, scale=alt.Scale(domain=DEVICES, range=COLOURS))
FORM = alt.Shape("device:N", legend=None, scale=alt.Scale(domain=DEVICES, range=FORMS))


def band(at: float) -> alt.Y:
    """The vertical place inside a row's band; rows stand in the order of the data."""
    return alt.Y("row:N", sort=None, axis=None, scale=alt.Scale(type="band", padding=0), bandPosition=at)


def across(axis: Axis, field: str = "value") -> alt.X:
    """The horizontal place of a value, on an axis above the rows."""
    ends = [alt.ExprRef("low_end"), alt.ExprRef("high_end")]
    return alt.X(
        f"{field}:Q",
        scale=alt.Scale(type="log" if axis.log else "linear", domain=ends, nice=False),
        axis=alt.Axis(
            orient="top",
            title=axis.title,
            titleAnchor="start",
            titleAlign="left",
            titleX=0,
            titleY=-26,
            values=alt.ExprRef("ticks"),
            labelExpr=LABELS[axis.unit],
            labelFlush=18,  # a label near an end is moved inside the frame
            labelPadding=4,
        ),
    )


def labels(size: Size) -> list[alt.Chart]:
    """The two texts of a row: its name at the left, its reading at the right."""
    name, note = ("label", "note") if size is Size.WIDE else ("label_short", "note_short")
    heads = alt.Chart().transform_filter("datum.head")
    left = heads.mark_text(align="left", baseline="middle", fontWeight=600, fontSize=FONT)
    right = heads.mark_text(align="right", baseline="middle", fontSize=FONT)
    return [
        left.encode(x=alt.value(0), y=band(LABEL_AT), text=f"{name}:N"),
        right.encode(x=alt.value("width"), y=band(LABEL_AT), text=f"{note}:N"),
    ]


def track() -> alt.Chart:
    """The faint line of a row, from end to end, on which its dots lie."""
    line: alt.Chart = alt.Chart().transform_filter("datum.head").mark_rule(opacity=0.25)
    return line.encode(x=alt.value(0), x2=alt.value("width"), y=band(LINE_AT))


def span(axis: Axis) -> alt.Chart:
    """The bar from one dot of a row to another: on a chip's page, from its CPU to its GPU."""
    both = alt.Chart().transform_filter("isValid(datum.span_from) && isValid(datum.span_to)")
    line: alt.Chart = both.mark_rule(strokeWidth=6, opacity=0.16)
    return line.encode(x=across(axis, "span_from"), x2="span_to:Q", y=band(LINE_AT))


def interval(axis: Axis) -> alt.Chart:
    """The 95 % interval of a result; thinner where it comes from one process only."""
    both = alt.Chart().transform_filter("isValid(datum.low) && isValid(datum.high)")
    line: alt.Chart = both.mark_rule(opacity=0.9)
    width = alt.when("datum.thin").then(alt.value(1.5)).otherwise(alt.value(3.5))
    return line.encode(x=across(axis, "low"), x2="high:Q", y=band(LINE_AT), strokeWidth=width)


def hollow(axis: Axis, tips: list[alt.Tooltip]) -> alt.Chart:
    """One rim a figure that somebody else published, in the colour and form of its device."""
    theirs: alt.Chart = alt.Chart().transform_filter("datum.published")
    points = theirs.mark_point(filled=False, opacity=1, size=95, strokeWidth=2)
    return named(points.encode(x=across(axis), y=band(LINE_AT), color=COLOUR, shape=FORM, tooltip=tips), "published")


def dots(axis: Axis, tips: list[alt.Tooltip]) -> alt.Chart:
    """One dot a result, in the colour and form of its device; the pointed one stands out."""
    pointed = alt.selection_point(name="pointed", on="pointerover", clear="pointerout", empty=False)
    # The rim keeps neighbours apart where many machines are equally fast.
    points: alt.Chart = alt.Chart().mark_point(
        filled=True, opacity=1, stroke="var(--md-default-bg-color)", strokeWidth=1
    )
    size = alt.when(pointed).then(alt.value(190)).otherwise(alt.value(95))
    encoded = points.encode(x=across(axis), y=band(LINE_AT), color=COLOUR, shape=FORM, size=size, tooltip=tips)
    return named(encoded.add_params(pointed), "dots")


def named(chart: alt.Chart, name: str) -> alt.Chart:
    """The layer under a name of our own: Altair's names count on from chart to chart."""
    own: alt.Chart = chart.properties(name=name)
    return own


def strip(size: Size, axis: Axis, tips: list[alt.Tooltip]) -> Spec:
    """The whole form: lines, labels, spans, intervals and dots."""
    layers = [track(), *labels(size), span(axis), interval(axis), dots(axis, tips)]
    return finish(layers, size, step=BAND, top=TOP)
