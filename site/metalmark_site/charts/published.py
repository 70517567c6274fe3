"""As published: one author's figures for one piece of work, a line for each chip, a dot for each figure."""

from collections.abc import Iterable
from functools import cache

from metalmark_db.rows import PublishedRow

from .. import units
from ..text import shorten
from ..words import METRICS, TASKS, device
from .base import Axis, Chart, Row, Size, Spec, Unit, notes
from .strip import FIELDS, strip

TIPS = ("machine", "on", "figure", "framework", "note_text", "source")
TITLES = ("Chip", "Device", "Published", "Software", "Remark", "Source")
WIDE_RANGE = 20  # between the smallest and the largest figure; beyond it equal steps are ratios

# Figures can stand on one axis only if all of this is equal: same author, same work, same measure.
GROUP = ("source_id", "workload", "model", "task", "precision", "batch_size", "input_shape", "metric")


@cache
def shape(size: Size, axis: Axis) -> Spec:
    """The form of the chart, without rows."""
    return strip(size, axis, notes(TIPS, TITLES))


def groups(figures: Iterable[PublishedRow]) -> list[list[PublishedRow]]:
    """The figures that may be compared with each other, in the order of their first figure."""
    found: dict[tuple[object, ...], list[PublishedRow]] = {}
    for figure in figures:
        if figure.outcome == "ok" and figure.value and figure.device:
            found.setdefault(tuple(getattr(figure, name) for name in GROUP), []).append(figure)
    return list(found.values())


def axis(figures: list[PublishedRow]) -> Axis:
    """An axis for one group: its unit, which side is better, and ratios where the range is wide."""
    unit, smaller_is_better = METRICS.get(figures[0].metric, (figures[0].metric, True))
    values = [figure.value or 0.0 for figure in figures]
    log = max(values) > WIDE_RANGE * min(values)
    better = "left is faster" if smaller_is_better else "right is faster"
    return Axis(title=f"{unit} ({'logarithmic; ' if log else ''}{better})", unit=Unit.NUMBER, log=log)


def rows(figures: list[PublishedRow]) -> list[Row]:
    """One dot a figure; the figures of a chip stand on one line, the line with the best figure first."""
    smaller_is_better = METRICS.get(figures[0].metric, ("", True))[1]
    lines: dict[str, list[PublishedRow]] = {}
    for figure in figures:
        lines.setdefault(machine(figure), []).append(figure)
    for line in lines.values():
        line.sort(key=lambda f: f.value or 0.0, reverse=not smaller_is_better)
    ordered = sorted(lines.items(), key=lambda item: item[1][0].value or 0.0, reverse=not smaller_is_better)
    return [row for name, line in ordered for row in _line(name, line)]


def _line(name: str, figures: list[PublishedRow]) -> list[Row]:
    best = figures[0]
    reading = f"{'best ' if len(figures) > 1 else ''}{value(best)}"
    shared = {
        "row": name,
        "label": shorten(name, 60),
        "label_short": shorten(f"{best.chip}, {best.gpu_cores} GPU" if best.gpu_cores else best.chip, 28),
        "note": f"{reading}, {device(best.device)}",
        "note_short": reading,
    }
    return [shared | _dot(figure) | {"head": index == 0} for index, figure in enumerate(figures)]


def _dot(figure: PublishedRow) -> Row:
    software = " ".join(filter(None, (figure.framework, figure.framework_version, figure.os)))
    return {
        "value": figure.value,
        "device": figure.device or "",
        "machine": shorten(machine(figure), 60),
        "on": device(figure.device),
        "figure": value(figure),
        "framework": shorten(software, 60) or None,
        "note_text": shorten(figure.note or "", 120) or None,
        "source": figure.source_id,
    }


def value(figure: PublishedRow) -> str:
    """A published figure with its unit, as its author printed it."""
    unit = METRICS.get(figure.metric, (figure.metric, True))[0]
    return f"{units.published(figure.value or 0.0)} {unit}"


def machine(figure: PublishedRow) -> str:
    """Chip, cores and memory of a published figure, as far as its source says."""
    cores = (
        f"{figure.cpu_cores} CPU" if figure.cpu_cores else "",
        f"{figure.gpu_cores} GPU" if figure.gpu_cores else "",
    )
    counted = " + ".join(filter(None, cores))
    memory = f"{figure.memory_gb:g} GB" if figure.memory_gb else ""
    return ", ".join(filter(None, (figure.chip, f"{counted} cores" if counted else "", memory)))


def title(figure: PublishedRow) -> str:
    """What a group of figures is about: model, task, precision, batch and input."""
    batch = f"batch {figure.batch_size}" if figure.batch_size else ""
    shape_of_input = f"input {figure.input_shape}" if figure.input_shape else ""
    parts = (figure.model, TASKS.get(figure.task, figure.task), figure.precision, batch, shape_of_input)
    return ", ".join(part for part in parts if part)


CHART = Chart(name="published", shape=shape, fields=FIELDS, tips=TIPS)
