"""The table of a chip's calibrations: what products of matrices and copies reached of its published peaks."""

import re
from collections.abc import Iterable, Sequence

from metalmark_db.rows import ResultRow
from metalmark_db.words import Precision

from .. import units
from ..figures import Figure, Table
from ..words import cores, device, is_beyond_peak, is_guest_cpu, way, work
from .common import SHORT, cut, newest

COLUMNS = ("Workload", "Precision", "Share", "Measured", "Published peak", "Device", "Cores", "Run of")
NUMBERS = frozenset({"Share", "Measured", "Published peak"})
TEXTS = frozenset({"Workload"})
LISTED = 120  # sizes, precisions and bins; a Mac with two bins has 42
SOURCES = ("Published peak", "Source")
_PRECISIONS = list(Precision)


def figure(name: str, chip: str, results: Iterable[ResultRow]) -> Figure | None:
    """The table, if the chip has calibrations with a peak; one beyond the peak is labelled and never hidden."""
    kinds = newest((row for row in results if _belongs(row)), _kind)
    mine = sorted(kinds[:LISTED], key=_order)
    if not any(row.calibration and row.calibration.peak for row in mine):
        return None
    caption = f"{chip}: products of matrices and copies against the published peak"
    some = _best(mine) if len(mine) > SHORT else mine
    number = cut(kinds, LISTED) or f": {units.count(len(mine), 'row')}"
    every = [_table(f"All sizes{number}", mine, fold=True)] if len(some) < len(mine) else []
    named = "Where these peaks come from"
    sources = Table(caption=named, columns=SOURCES, rows=_sources(mine), texts=frozenset(SOURCES), summary=named)
    shares = _table(f"{caption}, the best of each precision" if every else caption, some)
    return Figure(id=f"{name}-peaks", caption=shares.caption, tables=(shares, *every, sources))


def _table(caption: str, rows: Sequence[ResultRow], *, fold: bool = False) -> Table:
    cells, summary = [_cells(row) for row in rows], caption if fold else None
    return Table(caption=caption, columns=COLUMNS, rows=cells, numbers=NUMBERS, texts=TEXTS, summary=summary)


def _best(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """The size that comes nearest to each peak, and whatever is beyond one: that is never folded away."""
    best: dict[tuple[object, ...], ResultRow] = {}
    for row in rows:
        peak = row.device, row.precision, row.mode, row.gpu_cores, row.virtual, row.calibration and row.calibration.unit
        if not is_beyond_peak(row) and (peak not in best or _rate(row) > _rate(best[peak])):
            best[peak] = row
    kept = set(map(id, best.values()))
    return [row for row in rows if id(row) in kept or is_beyond_peak(row)]


def _rate(row: ResultRow) -> float:
    return row.calibration.rate if row.calibration else 0.0


def _belongs(row: ResultRow) -> bool:
    """Nobody publishes a peak of arithmetic for a CPU; a GPU's row without one says that it is not published."""
    found = row.calibration
    return found is not None and not is_guest_cpu(row) and (found.peak is not None or row.device != "cpu")


def _kind(row: ResultRow) -> tuple[object, ...]:
    # No memory: a chip has the same peaks with any, and the table could not say which row is which.
    return row.workload, row.version, row.device, row.precision, row.mode, row.gpu_cores, row.virtual


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
