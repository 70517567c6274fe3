"""The tables of measured rows, the same on every page."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from metalmark_db.rows import ResultRow

from .. import units
from ..figures import Table
from ..words import chip_of, cores, device, guest_name, is_beyond_peak, is_guest_cpu, outcome, way, work

MEASURED = (
    "Chip",
    "Cores",
    "Workload",
    "Device",
    "Precision",
    "One iteration",
    "95 % interval",
    "Items/s",
    "TFLOP/s",
    "Of the peak",
    "Over the CPU",
    "torch",
    "System",
    "Run of",
)
TEXTS = frozenset({"Chip", "Workload", "Outcome"})
MEASURED_NUMBERS = frozenset({"One iteration", "95 % interval", "Items/s", "TFLOP/s", "Of the peak", "Over the CPU"})


def measured(rows: Iterable[ResultRow], caption: str, *, fold: bool = True) -> Table:
    """The rows that have a time, with everything a reader needs to judge it."""
    cells = [_measured(row) for row in rows if row.outcome == "ok" and row.median_s]
    summary = f"Data: {units.count(len(cells), 'measured row')}" if fold else None
    return Table(caption=caption, columns=MEASURED, rows=cells, numbers=MEASURED_NUMBERS, texts=TEXTS, summary=summary)


def _measured(row: ResultRow) -> tuple[str, ...]:
    return (
        guest_name(row) if is_guest_cpu(row) else chip_of(row),
        cores(row),
        work(row),
        f"{device(row.device)}{' in a virtual machine' if row.virtual and row.device != 'cpu' else ''}",
        way(row),
        units.seconds(row.median_s),
        interval(row),
        units.digits(row.items_per_s),
        units.digits(row.tflops),
        units.percent(row.calibration.share) if row.calibration else "",
        units.times(row.speedup) if row.device != "cpu" else "",
        row.torch_version or units.UNKNOWN,
        " ".join(filter(None, (row.os_name, row.os_version))) or units.UNKNOWN,
        row.started_at[:10],
    )


def interval(row: ResultRow) -> str:
    """The interval of a row, and what it speaks for where that is less than the rounds."""
    if row.low_s is None or row.high_s is None:
        return "two speeds" if "bimodal" in row.flags else units.UNKNOWN
    ends = f"{units.seconds(row.low_s)} to {units.seconds(row.high_s)}"
    return f"{ends}, {row.interval}" if row.interval == "within one process" else ends


# A page leaves out its own name of the first two, and a phone shows two columns: the outcome is one of them.
FAILED = ("Workload", "Chip", "Outcome", "Device", "Precision", "torch", "System", "Run of")


def failed(rows: Sequence[ResultRow], caption: str, *, fold: bool = False) -> Table | None:
    """The rows without a ranked time, by name: a failure is a result too, and never a bar."""
    cells = [
        (
            work(row),
            guest_name(row) if is_guest_cpu(row) else chip_of(row),
            _not_ranked(row),
            device(row.device),
            way(row),
            row.torch_version or units.UNKNOWN,
            " ".join(filter(None, (row.os_name, row.os_version))) or units.UNKNOWN,
            row.started_at[:10],
        )
        for row in rows
        if row.outcome != "ok" or row.fallback or is_beyond_peak(row)
    ]
    summary = f"Data: {units.count(len(cells), 'case')}" if fold else None
    return Table(caption=caption, columns=FAILED, rows=cells, texts=TEXTS, summary=summary) if cells else None


def without(table: Table, column: str) -> Table:
    """The table without a column that would say the same in every row."""
    kept = [place for place, name in enumerate(table.columns) if name != column]
    rows = [tuple(row[place] for place in kept) for row in table.rows]
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)


def _not_ranked(row: ResultRow) -> str:
    """What became of a case that stands in no ranking: a failure, help of the CPU, or more than the chip can do."""
    if not row.fallback:
        beyond = f"{units.seconds(row.median_s)}, beyond the chip's peak; not ranked until it is confirmed"
        return beyond if row.outcome == "ok" else outcome(row.outcome, row.reason)
    missing = ", ".join(row.fallback_ops) or "some operations"
    if row.outcome != "ok":
        return f"{outcome(row.outcome, row.reason)}, with {missing} on the CPU"
    return f"{units.seconds(row.median_s)} with {missing} on the CPU; not ranked"
