"""One chip: the time of each workload on its CPU and its GPU, joined by a line whose length is the speed-up."""

from collections.abc import Iterable, Sequence

from metalmark_db.rows import ResultRow

from .. import units
from ..text import shorten, shorten_inside
from ..words import device, work
from .base import Chart, Row
from .speed import AXIS, TIPS, dot, placed, shape
from .strip import FIELDS, SPAN

__all__ = ["AXIS", "CHART", "rows"]


def rows(results: Iterable[ResultRow], order: Sequence[tuple[str, int]] = ()) -> list[Row]:
    """One dot a result, newest run of each kind; the results of a workload stand on one line, lines in this order."""
    lines: dict[tuple[str, int], dict[tuple[object, ...], ResultRow]] = {}
    for result in results:  # newest first
        if result.outcome == "ok" and result.median_s:
            lines.setdefault((result.workload, result.version), {}).setdefault(kind(result), result)
    return [row for key in sorted(lines, key=placed(order)) for row in _line(list(lines[key].values()))]


def kind(result: ResultRow) -> tuple[object, ...]:
    """What tells the dots of a line apart."""
    return result.device, result.cpu_cores, result.gpu_cores, result.precision, result.mode


def _line(results: list[ResultRow]) -> list[Row]:
    first = results[0]
    note, short, ends = _reading(results)
    shared: Row = {
        "row": f"{first.workload} {first.version}",
        "label": shorten(work(first), 60),
        "label_short": shorten_inside(work(first), 30),
        "note": note,
        "note_short": short,
    }
    return [
        shared | dot(result) | (ends if index == 0 else {}) | {"head": index == 0}
        for index, result in enumerate(results)
    ]


def _reading(results: list[ResultRow]) -> tuple[str, str, dict[str, float | None]]:
    """What the line says, at length and shortly, and the ends of its span, where one run has both in fp32."""
    for gpu in sorted(
        (r for r in results if r.device != "cpu" and r.precision == "fp32"), key=lambda r: r.median_s or 0.0
    ):
        if gpu.speedup and gpu.median_s:
            ratio = f"{units.times(gpu.speedup)} the CPU"
            return (
                f"{device(gpu.device)} {ratio}",
                ratio,
                {"span_from": gpu.median_s, "span_to": gpu.median_s * gpu.speedup},
            )
    fastest = units.seconds(min(r.median_s or 0.0 for r in results))
    return f"fastest {fastest}" if len(results) > 1 else fastest, fastest, {}


CHART = Chart(name="chip", shape=shape, fields=(*FIELDS, *SPAN), tips=TIPS)
