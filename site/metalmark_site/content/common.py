"""What several pages share: keys of colours, the newest result of each kind, figures of measured rows."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from metalmark_db.rows import ResultRow

from ..charts.base import Row
from ..figures import Figure
from ..text import Markdown
from ..words import DEVICES, device, is_beyond_peak, is_guest_cpu
from . import tables

SHORT = 12  # rows that a table shows at once; a longer one is folded away


def device_key(rows: Sequence[Row]) -> tuple[tuple[str, str], ...]:
    """The key of the devices that a chart shows, in their fixed order."""
    present = {str(row.get("device") or "") for row in rows}
    known = [name for name in DEVICES if name in present]
    others = [("none", device(None))] if present - set(DEVICES) else []
    return (*((name, device(name)) for name in known), *others)


def newest(rows: Iterable[ResultRow], key: Callable[[ResultRow], Hashable]) -> list[ResultRow]:
    """The first row of each kind; rows come newest first."""
    found: dict[Hashable, ResultRow] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return list(found.values())


def ranked(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The rows that may stand in a ranking: measured, all on the device, plausible, no CPU of a virtual machine."""
    return [row for row in rows if _is_plain(row) and not is_guest_cpu(row)]


def _is_plain(row: ResultRow) -> bool:
    return row.outcome == "ok" and bool(row.median_s) and not row.fallback and not is_beyond_peak(row)


def guests(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """The measured CPU rows of virtual machines, which are listed apart."""
    return [row for row in rows if row.outcome == "ok" and row.median_s and is_guest_cpu(row)]


def guest_figure(name: str, rows: Sequence[ResultRow], most: int | None = None, short: int = SHORT) -> Figure | None:
    """The table of virtual machines, if there are any; at most so many rows, folded away if it is not short."""
    found = guests(rows)
    if not found:
        return None
    caption = f"CPU rows of virtual machines: measured and shown, never ranked{cut(found, most)}"
    table = tables.measured(found[:most], caption, fold=len(found[:most]) > short)
    return Figure(id=f"{name}-guests", caption=caption, tables=(table,))


def failure_figure(name: str, rows: Sequence[ResultRow], most: int | None = None) -> Figure | None:
    """The table of what did not work, if anything; at most so many rows."""
    found = [row for row in rows if not _is_plain(row)]
    caption = f"Cases that stand in no ranking, and why{cut(found, most)}"
    table = tables.failed(found[:most], caption, fold=len(found[:most]) > SHORT)
    return Figure(id=f"{name}-failures", caption=caption, tables=(table,)) if table else None


def cut(rows: Sequence[ResultRow], most: int | None) -> str:
    """What a caption says of rows that are left out."""
    return f": the newest {most:,} of {len(rows):,}" if most is not None and len(rows) > most else ""


def present(*figures: Figure | None) -> tuple[Figure, ...]:
    """The figures that there are."""
    return tuple(figure for figure in figures if figure)


def placeholder(figure: Figure | None) -> Markdown | None:
    """The placeholder of a figure that may not be there."""
    return figure.placeholder if figure else None
