"""All measured rows of a chip: a folded table for each family, under what the families do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from metalmark_db.rows import ResultRow

from .. import units
from ..facts import Facts, grouped
from ..figures import Figure, Table
from ..words import way
from . import tables, variants
from .common import cut, newest
from .workloads import GROUPS, REST

LISTED = 40  # rows of a table; a chip has one for each family


class ByFamily:
    """The families of a database, in an order that all chips share."""

    def __init__(self, facts: Facts) -> None:
        """Look up once what every chip's page needs."""
        self._family: dict[str, str] = {}
        self._title: dict[str, str] = {}
        self._place: dict[str, int] = {}
        known = {row.id: row for row in facts.workloads}  # the newest version, since they come in ascending order
        for family, names in facts.families.items():
            self._title[family] = variants.title([known[name] for name in names if name in known]) or family
            for name in names:
                self._family[name] = family
                self._place[name] = len(self._place)

    def figures(self, name: str, chip: str, rows: Sequence[ResultRow]) -> Iterator[Figure]:
        """The tables of each kind of work that the chip has done."""
        found = grouped(rows, lambda row: GROUPS.get(row.task, REST))
        for words in (*GROUPS.values(), REST):
            if words in found:
                families = grouped(found[words], lambda row: self._family.get(row.workload, row.workload))
                listed = sorted(families.items(), key=lambda item: self._title.get(item[0], item[0]).casefold())
                every = tuple(self._table(chip, self._title.get(family, family), mine) for family, mine in listed)
                yield Figure(id=f"{name}-{words.lower()}", caption=f"{words} on {chip}", tables=every)

    def _table(self, chip: str, title: str, rows: Sequence[ResultRow]) -> Table:
        kinds = newest(rows, _kind)
        listed = sorted(kinds[:LISTED], key=self._order)
        left_out = cut(kinds, LISTED)
        table = tables.without(tables.measured(listed, f"{title} on {chip}{left_out}"), "Chip")
        return replace(table, summary=f"{title}{left_out or ': ' + units.count(len(kinds), 'row')}")

    def _order(self, row: ResultRow) -> tuple[object, ...]:
        """Small variants first, and of each the fastest device and precision."""
        return self._place.get(row.workload, len(self._place)), row.version, row.median_s or 0.0


def _kind(row: ResultRow) -> tuple[object, ...]:
    # No memory: the table could not say which row is which.
    machine = row.cpu_cores, row.gpu_cores, row.virtual
    return row.workload, row.version, row.device, way(row), row.torch_version, machine
