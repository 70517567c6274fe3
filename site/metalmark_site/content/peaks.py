"""The table of a chip's calibrations: what products of matrices and copies reached of its published peaks."""

import re
from collections.abc import Iterable, Sequence

from metalmark_db.rows import ResultRow
from metalmark_db.words import Precision

from .. import units
from ..figures import Figure, Table
from ..words import cores, device, is_beyond_peak, is_guest_cpu, way, work
from .common import newest

COLUMNS = ("Workload", "Precision", "Share", "Measured", "Published peak", "Device", "Cores", "Run of")
NUMBERS = frozenset({"Share", "Measured", "Published peak"})
TEXTS = frozenset({"Workload"})
SOURCES = ("Published peak", "Source")
_PRECISIONS = list(Precision)


def figure(name: str, chip: str, results: Iterable[ResultRow]) -> Figure | None:
    """The table, if the chip has calibrations with a peak; one beyond the peak is labelled and never hidden."""
    mine = sorted(newest((row for row in results if _belongs(row)), _kind), key=_order)
    if not any(row.calibration and row.calibration.peak for row in mine):
        return None
    caption = f"{chip}: products of matrices and copies against the published peak"
    shares = Table(caption=caption, columns=COLUMNS, rows=[_cells(row) for row in mine], numbers=NUMBERS, texts=TEXTS)
    named = "Where these peaks come from"
    sources = Table(caption=named, columns=SOURCES, rows=_sources(mine), texts=frozenset(SOURCES), summary=named)
    return Figure(id=f"{name}-peaks", caption=caption, tables=(shares, sources))


def _belongs(row: ResultRow) -> bool:
    """Nobody publishes a peak of arithmetic for a CPU; a GPU's row without one says that it is not published."""
    found = row.calibration
    return found is not None and not is_guest_cpu(row) and (found.peak is not None or row.device != "cpu")


def _kind(row: ResultRow) -> tuple[object, ...]:
    return row.workload, row.version, row.device, row.precision, row.mode, row.gpu_cores, row.memory_bytes, row.virtual


def _order(row: ResultRow) -> tuple[object, ...]:
    """Small products before large ones, copies behind them; precisions as the vocabulary has them."""
    sizes = [int(digits) for digits in re.findall(r"[0-9]+", row.workload)]
    place = _PRECISIONS.index(Precision(row.precision))
    return row.workload.startswith("copy"), sizes, row.version, row.device, place, row.mode, row.gpu_cores or 0


def _cells(row: ResultRow) -> tuple[str, ...]:
    found = row.calibration
    if found is None:
        raise ValueError(f"{row.workload} is no calibration")
    return (
        work(row),
        way(row),
        units.percent(found.share) + (", beyond" if is_beyond_peak(row) else ""),
        f"{units.digits(found.rate)} {found.unit}",
        f"{found.peak:,g} {found.unit}" if found.peak is not None else "not published",
        device(row.device),
        cores(row),
        row.started_at[:10],
    )


def _sources(rows: Sequence[ResultRow]) -> list[tuple[str, str]]:
    """Each source once, with the peaks that it gives."""
    given: dict[str, dict[str, None]] = {}
    for row in rows:
        found = row.calibration
        if found is not None and found.peak is not None:
            what = "memory" if found.unit == "GB/s" else row.precision
            given.setdefault(found.source or units.UNKNOWN, {})[f"{what} {found.peak:,g} {found.unit}"] = None
    return [(", ".join(peaks), source) for source, peaks in given.items()]
