"""One chip: the time of each workload on its CPU and its GPU, joined by a line whose length is the speed-up."""

from collections.abc import Iterable

from metalmark_db.rows import ResultRow

from .. import units
from ..text import natural, shorten
from ..words import device, work
from .base import Chart, Row
from .speed import AXIS, TIPS, dot, shape
from .strip import FIELDS, SPAN

__all__ = ["AXIS", "CHART", "rows"]


def rows(results: Iterable[ResultRow]) -> list[Row]:
    """One dot a result, newest run of each kind; the results of a workload stand on one line."""
    lines: dict[tuple[str, int], dict[tuple[object, ...], ResultRow]] = {}
    for result in results:  # newest first
        if result.outcome == "ok" and result.median_s:
            kind = (result.device, result.cpu_cores, result.gpu_cores, result.precision, result.mode)
            lines.setdefault((result.workload, result.version), {}).setdefault(kind, result)
    return [
        row
        for key in sorted(lines, key=lambda key: (natural(key[0]), key[1]))
        for row in _line(list(lines[key].values()))
    ]


def _line(results: list[ResultRow]) -> list[Row]:
    first = results[0]
    note, ends = _reading(results)
    shared: Row = {
        "row": f"{first.workload} {first.version}",
        "label": shorten(work(first), 60),
        "label_short": shorten(work(first), 28),
        "note": note,
        "note_short": note,
    }
    return [
        shared | dot(result) | (ends if index == 0 else {}) | {"head": index == 0}
        for index, result in enumerate(results)
    ]


def _reading(results: list[ResultRow]) -> tuple[str, dict[str, float | None]]:
    """What the line says in words, and the ends of its span, where one run has both CPU and GPU in fp32."""
    for gpu in sorted(
        (r for r in results if r.device != "cpu" and r.precision == "fp32"), key=lambda r: r.median_s or 0.0
    ):
        if gpu.speedup and gpu.median_s:
            words = f"{device(gpu.device)} {units.times(gpu.speedup)} the CPU"
            return words, {"span_from": gpu.median_s, "span_to": gpu.median_s * gpu.speedup}
    return units.seconds(min(r.median_s or 0.0 for r in results)), {}


CHART = Chart(name="chip", shape=shape, fields=(*FIELDS, *SPAN), tips=TIPS)
