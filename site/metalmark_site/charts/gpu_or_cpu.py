"""GPU or CPU: for each operation and Mac, how many times as fast the GPU was as the CPU beside it."""

from collections.abc import Iterable
from functools import cache

import altair as alt

from metalmark_db.rows import SpeedPair

from .. import units
from ..text import shorten
from .base import FONT, LABELS, Axis, Chart, Row, Size, Spec, Unit, finish, notes
from .strip import named

AXIS = Axis(title="Mac", unit=Unit.NONE)
TIPS = ("operation", "mac", "answer", "cpu", "gpu", "torch")
TITLES = ("Operation", "Mac", "Answer", "CPU", "GPU", "torch")

# Named steps, since the theme's colours are variables and no scale can mix them. (class, from, words)
STEPS = (
    ("cpu2", 0.0, "CPU more than 2 × faster"),
    ("cpu1", 0.5, "CPU faster"),
    ("gpu1", 1.0, "GPU equal or up to 2 ×"),
    ("gpu2", 2.0, "GPU 2 to 5 ×"),
    ("gpu3", 5.0, "GPU 5 to 10 ×"),
    ("gpu4", 10.0, "GPU 10 × and more"),
)
NAMES = tuple(name for name, _, _ in STEPS)

SHORT = {"scaleddotproductattention": "attention"}  # its three shapes need the room

ROW = {Size.WIDE: 21, Size.NARROW: 36}
LEFT = {Size.WIDE: 308, Size.NARROW: 0}
TEN = 10  # from here on a cell has no room for a decimal
HEAD = 96  # the names of the Macs, standing


@cache
def shape(size: Size, axis: Axis) -> Spec:
    """The form of the chart, without rows."""
    cells = cell_layer(size, axis)
    texts = reading_layer(axis) if size is Size.WIDE else name_layer()
    return finish([cells, texts], size, step=ROW[size], top=HEAD, left=LEFT[size], right=2)


def across(axis: Axis) -> alt.X:
    """The column of a Mac, whose name stands above it."""
    heading = alt.Axis(
        orient="top", title=None, labelExpr=LABELS[axis.unit], labelAngle=-90, labelPadding=5, labelOverlap=False
    )
    oldest_first = alt.EncodingSortField(field="place", op="min")
    return alt.X("mac_short:N", sort=oldest_first, axis=heading, scale=alt.Scale(type="band", padding=0.06))


def down(size: Size) -> alt.Y:
    """The row of an operation; on a phone its name stands above the cells."""
    wide = size is Size.WIDE
    beside = (
        alt.Axis(title=None, labelPadding=6, labelFontSize=FONT - 2, minExtent=LEFT[size], maxExtent=LEFT[size])
        if wide
        else None
    )
    padding = 0.1 if wide else 0
    return alt.Y("operation:N", sort=None, axis=beside, scale=alt.Scale(type="band", padding=padding))


def cell_layer(size: Size, axis: Axis) -> alt.Chart:
    """One cell a pair, in the colour of its step."""
    pointed = alt.selection_point(name="pointed", on="pointerover", clear="pointerout", empty=False)
    colours = alt.Scale(domain=NAMES, range=[f"var(--mm-{name})" for name in NAMES])
    wide = size is Size.WIDE
    cells: alt.Chart = alt.Chart().mark_rect(height=alt.RelativeBandSize(1.0) if wide else 15, yOffset=0 if wide else 9)
    encoded = cells.encode(
        x=across(axis),
        y=down(size),
        color=alt.Color("step:N", legend=None, scale=colours),
        stroke=alt.when(pointed).then(alt.value("currentColor")).otherwise(alt.value(None)),
        tooltip=notes(TIPS, TITLES),
    )
    return named(encoded.add_params(pointed), "cells")


def reading_layer(axis: Axis) -> alt.Chart:
    """The ratio in each cell, in an ink that its colour can carry."""
    inks = alt.Scale(domain=NAMES, range=[f"var(--mm-{name}-ink)" for name in NAMES])
    text: alt.Chart = alt.Chart().mark_text(fontSize=FONT - 2)
    ink = alt.Fill("step:N", legend=None, scale=inks)
    return text.encode(x=across(axis), y=down(Size.WIDE), text="ratio:N", fill=ink)


def name_layer() -> alt.Chart:
    """The name of each operation above its cells."""
    heads = alt.Chart().transform_filter("datum.head")
    text: alt.Chart = heads.mark_text(align="left", fontSize=FONT - 1, yOffset=-7)
    return text.encode(x=alt.value(0), y=down(Size.NARROW), text="operation_short:N")


def rows(pairs: Iterable[SpeedPair], macs: list[str]) -> list[Row]:
    """One cell a pair, rows by operation and shape, columns in the order of ``macs``."""
    ordered = sorted(pairs, key=lambda p: (operation(p), macs.index(mac(p))))
    seen: set[str] = set()
    cells: list[Row] = []
    for pair in ordered:
        name = operation(pair)
        cells.append(_cell(pair, name) | {"place": macs.index(mac(pair)), "head": name not in seen})
        seen.add(name)
    return cells


def _cell(pair: SpeedPair, name: str) -> Row:
    step = step_of(pair.speedup)
    faster = pair.speedup >= 1
    factor = pair.speedup if faster else 1 / pair.speedup
    return {
        "operation": shorten(name, 80),
        "operation_short": shorten(name, 54),
        "mac": mac_name(pair),
        "mac_short": mac(pair),
        "step": step,
        "ratio": cell_text(pair.speedup),
        "answer": f"{'GPU' if faster else 'CPU'} {units.times(factor)} as fast",
        "cpu": units.seconds(pair.cpu_s),
        "gpu": units.seconds(pair.mps_s),
        "torch": pair.framework_version,
    }


def cell_text(ratio: float) -> str:
    """A ratio in the four characters that a cell has room for."""
    if ratio < 1:
        return f"{min(ratio, 0.99):.2f}"  # never "1.00" where the CPU was faster
    return f"{ratio:.1f}" if round(ratio, 1) < TEN else f"{ratio:.0f}"


def step_of(ratio: float) -> str:
    """The named step of a speed-up."""
    return next(name for name, start, _ in reversed(STEPS) if ratio >= start)


def operation(pair: SpeedPair) -> str:
    """Operation and shapes: "matmul 1000x64x256 256x32"."""
    name = pair.workload.removeprefix("op/")
    return f"{SHORT.get(name, name)} {pair.input_shape or ''}".strip()


def mac(pair: SpeedPair) -> str:
    """The short name of a configuration, as a column is headed: "M4 Pro, 20 GPU"."""
    cores = f", {pair.gpu_cores} GPU" if pair.gpu_cores else ""
    return f"{pair.chip.removeprefix('Apple ')}{cores}"


def mac_name(pair: SpeedPair) -> str:
    """The full name of a configuration, as far as the source says."""
    parts = (
        pair.chip,
        f"{pair.cpu_cores} CPU cores" if pair.cpu_cores else "",
        f"{pair.gpu_cores} GPU cores" if pair.gpu_cores else "",
        f"{pair.memory_gb:g} GB" if pair.memory_gb else "",
    )
    return ", ".join(filter(None, parts))


CHART = Chart(
    name="gpu_or_cpu",
    shape=shape,
    fields=("mac_short", "place", "step", "ratio", "operation_short", "head"),
    tips=TIPS,
)
