"""Speed across machines: for each workload, the time of one iteration on every machine and device."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from metalmark_db.rows import ResultRow

from .. import units
from ..text import natural, shorten, shorten_inside
from ..words import DEVICES, chip_of, cores, device, way, work
from .base import Axis, Chart, Row, Size, Spec, Unit, notes
from .strip import FIELDS, strip

TIPS = ("workload", "machine", "on", "time", "interval", "speedup", "torch", "run")
TITLES = ("Workload", "Chip", "Device", "One iteration", "95 % interval", "Over the CPU", "torch", "Run of")
AXIS = Axis(title="Time of one iteration (logarithmic; left is faster)", unit=Unit.SECONDS, log=True)


@cache
def shape(size: Size, axis: Axis) -> Spec:
    """The form of the chart, without rows."""
    return strip(size, axis, notes(TIPS, TITLES))


def rows(results: Iterable[ResultRow], order: Sequence[tuple[str, int]] = ()) -> list[Row]:
    """One dot a result; the results of a workload stand on one line, which names the fastest.

    Lines stand in this order of workloads and versions, others behind them by their names.
    """
    lines: dict[tuple[str, int], list[ResultRow]] = {}
    for result in results:
        if result.outcome == "ok" and result.median_s:
            lines.setdefault((result.workload, result.version), []).append(result)
    return [dot for key in sorted(lines, key=placed(order)) for dot in _line(lines[key])]


def placed(order: Sequence[tuple[str, int]]) -> Callable[[tuple[str, int]], tuple[object, ...]]:
    """A key that sorts lines: first those that have a place, then the others by their names."""
    places = {line: place for place, line in enumerate(order)}
    return lambda line: (places.get(line, len(places)), natural(line[0]), line[1])


def _line(results: list[ResultRow]) -> list[Row]:
    fastest = min(results, key=lambda r: r.median_s or 0.0)
    several = len(results) > 1
    note = f"{'fastest ' if several else ''}{units.seconds(fastest.median_s)}"
    guest = ", in a virtual machine" if fastest.virtual and fastest.device != "cpu" else ""
    shared: Row = {
        "row": f"{fastest.workload} {fastest.version}",
        "label": shorten(work(fastest), 60),
        "label_short": shorten_inside(work(fastest), 30),
        "note": f"{note} on {shorten(chip_of(fastest), 30)}, {device(fastest.device)}{guest}",
        "note_short": units.seconds(fastest.median_s),
    }
    return [shared | dot(result) | {"head": index == 0} for index, result in enumerate(results)]


def dot(result: ResultRow) -> Row:
    """The fields of one result that all charts of times share."""
    interval = None
    if result.low_s and result.high_s:
        interval = f"{units.seconds(result.low_s)} to {units.seconds(result.high_s)}"
    return {
        "value": result.median_s,
        "low": result.low_s,
        "high": result.high_s,
        "thin": within_one_process(result),
        "device": result.device if result.device in DEVICES else "",
        "workload": shorten(work(result), 60),
        "machine": shorten(", ".join(filter(None, (chip_of(result), cores(result)))), 60),
        "on": f"{device(result.device)}, {way(result)}",
        "time": units.seconds(result.median_s),
        "interval": f"{interval}, within one process" if interval and within_one_process(result) else interval,
        "speedup": None if result.speedup is None or result.device == "cpu" else units.times(result.speedup),
        "torch": shorten(result.torch_version or "", 30) or None,
        "run": result.started_at[:10],
    }


def within_one_process(result: ResultRow) -> bool:
    """Whether the interval speaks for one process only, and is therefore drawn thinner."""
    return result.interval == "within one process"


CHART = Chart(name="speed", shape=shape, fields=FIELDS, tips=TIPS)
