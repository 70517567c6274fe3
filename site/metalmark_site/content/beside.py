"""What others published of work that is one of our workloads, or near one."""

from collections.abc import Sequence

from metalmark_db.rows import PublishedRow

from .. import units
from ..facts import Facts
from ..figures import Figure, Table
from ..words import GRADES, cores, device
from .published import figure_text

COLUMNS = ("Chip", "Device", "Precision", "Batch", "As published", "One iteration", "Comparable", "torch", "Source")
NUMBERS = frozenset({"Batch", "As published", "One iteration"})
TEXTS = frozenset({"Chip", "Comparable", "Source"})
MOST = 60


def figure(facts: Facts, name: str, workload: str, version: int) -> Figure | None:
    """The table of the published figures beside a workload, the comparable ones first; None where there are none."""
    rows = facts.beside.get((workload, version), [])
    if not rows:
        return None
    titles = {source.id: source.title for source in facts.sources}
    ordered = sorted(rows, key=lambda row: (row.grade != "same", row.seconds is None, row.seconds or 0.0, row.id))
    some = f": the first {MOST} of {len(rows)}" if len(rows) > MOST else ""
    caption = f"Published by others{some}"
    table = Table(
        caption=caption,
        columns=COLUMNS,
        rows=[_cells(row, titles) for row in ordered[:MOST]],
        numbers=NUMBERS,
        texts=TEXTS,
        summary=f"Published by others: {units.count(len(rows), 'figure')}",
    )
    return Figure(id=f"{name}-published", caption=caption, tables=(table,))


def same(facts: Facts, workload: str, version: int) -> Sequence[PublishedRow]:
    """The figures that may stand on the workload's chart."""
    return [row for row in facts.beside.get((workload, version), []) if row.grade == "same" and row.outcome == "ok"]


def _cells(row: PublishedRow, titles: dict[str, str]) -> tuple[str, ...]:
    return (
        ", ".join(filter(None, (row.chip, cores(row)))),
        device(row.device),
        row.precision or units.UNKNOWN,
        f"{row.batch_size:,}" if row.batch_size else units.UNKNOWN,
        figure_text(row),
        units.seconds(row.seconds),
        GRADES.get(row.grade or "", ""),
        row.framework_version or units.UNKNOWN,
        titles.get(row.source_id, row.source_id),
    )
