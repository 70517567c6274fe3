"""Everything the pages are made from: read once, then only looked at."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import sqlalchemy as sa

from metalmark_db import queries
from metalmark_db.dictionary import Described, described
from metalmark_db.rows import ChipRow, PublishedRow, ResultRow, RunRow, SourceRow, SpeedPair, WorkloadRow

from .text import natural, slug
from .words import chip_of

_Row = TypeVar("_Row")
_Key = TypeVar("_Key")

# A contributed name that looks like a chip's gets a page; anything else stands on the page "Other".
CHIP_NAME = re.compile(r"[A-Za-z0-9 ()+-]{2,40}")
RESERVED = ("index", "other")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The rows of a database, and the names of the pages that they get."""

    results: tuple[ResultRow, ...] = ()  # newest run first
    runs: tuple[RunRow, ...] = ()  # newest first
    published: tuple[PublishedRow, ...] = ()
    sources: tuple[SourceRow, ...] = ()
    chips: tuple[ChipRow, ...] = ()
    workloads: tuple[WorkloadRow, ...] = ()
    speed_pairs: tuple[SpeedPair, ...] = ()
    dictionary: tuple[Described, ...] = ()

    @cached_property
    def chip_slugs(self) -> dict[str, str]:
        """Chip -> the name of its page, for chips with published facts or a run of a well-formed name."""
        known = {row.chip for row in self.chips}
        measured = {name for name in self.measured if CHIP_NAME.fullmatch(name)}
        return slugs(sorted(known) + sorted(measured - known))

    @cached_property
    def workload_slugs(self) -> dict[str, str]:
        """Workload -> the name of its section and of its figures."""
        return slugs(sorted({row.id for row in self.workloads} | {row.workload for row in self.results}))

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """Family -> its workloads, smallest first; one of which no family is known is a family of its own."""
        told = {row.workload: row.family for row in self.results if row.family}
        told |= {row.id: row.family for row in self.workloads if row.family}  # the newest version has the last word
        variants = {row.id: row.variant or "" for row in self.workloads}
        names = sorted(self.workload_slugs, key=lambda name: (natural(variants.get(name, "")), natural(name)))
        return dict(sorted(grouped(names, lambda name: told.get(name, name)).items()))

    @cached_property
    def family_slugs(self) -> dict[str, str]:
        """Family -> the name of its page."""
        return slugs(self.families)

    @cached_property
    def source_slugs(self) -> dict[str, str]:
        """Source -> the name of its page; an underscore marks it off from the fixed pages."""
        return {name: page.replace("-", "_") for name, page in slugs(row.id for row in self.sources).items()}

    @cached_property
    def measured(self) -> dict[str, list[ResultRow]]:
        """Chip -> its measured rows, newest first."""
        return grouped(self.results, chip_of)

    @cached_property
    def by_workload(self) -> dict[str, list[ResultRow]]:
        """Workload -> its measured rows, newest first."""
        return grouped(self.results, lambda row: row.workload)

    @cached_property
    def by_source(self) -> dict[str, list[PublishedRow]]:
        """Source -> its published figures, in their order."""
        return grouped(self.published, lambda row: row.source_id)

    @cached_property
    def beside(self) -> dict[tuple[str | None, int | None], list[PublishedRow]]:
        """Our workload and its version -> the published figures that can be held beside it."""
        return grouped((row for row in self.published if row.ours), lambda row: (row.ours, row.ours_version))

    @cached_property
    def published_by_chip(self) -> dict[str, list[PublishedRow]]:
        """Chip -> the figures published of it."""
        return grouped(self.published, lambda row: row.chip)


def read_facts(engine: sa.Engine) -> Facts:
    """The facts of a database."""
    with engine.connect() as connection:
        dictionary = tuple(described(connection))
    return Facts(
        dictionary=dictionary,
        results=tuple(queries.results(engine)),
        runs=tuple(queries.runs(engine)),
        published=tuple(queries.published(engine)),
        sources=tuple(queries.sources(engine)),
        chips=tuple(queries.chips(engine)),
        workloads=tuple(queries.workloads(engine)),
        speed_pairs=tuple(queries.speed_pairs(engine)),
    )


def grouped(rows: Iterable[_Row], key: Callable[[_Row], _Key]) -> dict[_Key, list[_Row]]:
    """The rows by a key, in their order."""
    groups: defaultdict[_Key, list[_Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A page name for each name, all different; later names that look alike get a number."""
    taken, given = set(RESERVED), {}
    for name in names:
        base = candidate = slug(name)[:60]
        number = 2
        while candidate in taken:
            candidate, number = f"{base}-{number}", number + 1
        taken.add(candidate)
        given[name] = candidate
    return given
