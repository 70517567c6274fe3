"""The pages of the workloads: a list of the families, and for each of them a ranking of every variant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from metalmark_db.rows import ResultRow, WorkloadRow

from ..charts import CHARTS, workload
from ..facts import Facts
from ..figures import Figure, Plot
from ..page import Content
from ..text import Markdown, described, inert, plain
from ..words import chip_of
from . import beside, tables, variants
from .common import device_key, failure_figure, guest_figure, placeholder, present, ranked

LISTED = 200  # rows of a table; a family has several of them, and popular work is measured by many
UNBROKEN = 32  # characters of a name that still fit beside another column on a phone
GROUPS = {"train": "Training", "inference": "Inference", "operation": "Operations"}
REST = "Others"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One workload of a family."""

    page: str  # its name in anchors and figures
    versions: Sequence[WorkloadRow]  # newest first
    results: Sequence[ResultRow]  # newest first
    name: str


def index(facts: Facts) -> Iterator[Content]:
    """The list of the families, by what they do."""
    groups: dict[str, list[dict[str, object]]] = {words: [] for words in (*GROUPS.values(), REST)}
    for family, page in facts.family_slugs.items():
        members = _members(facts, family)
        known = variants.newest([one.versions for one in members])
        entry = {
            "title": variants.title(known) or family,
            "link": Markdown(f"{page}.md"),
            "variants": len(members),
            "chips": len({chip_of(row) for one in members for row in ranked(one.results)}),
        }
        groups[GROUPS.get(known[0].task, REST) if known else REST].append(entry)
    for entries in groups.values():
        entries.sort(key=lambda entry: str(entry["title"]).casefold())
    yield Content(path="workloads/index.md", title="Workloads", context={"groups": list(groups.items())})


def each(facts: Facts) -> Iterator[Content]:
    """One page for each family, with a section for each variant that some run has tried."""
    for family, page in facts.family_slugs.items():
        members = _members(facts, family)
        known = variants.newest([one.versions for one in members])
        sections = [_section(facts, one) for one in members if one.results or _same(facts, one)]
        figures = [figure for _, found in sections for figure in found]
        yield Content(
            path=f"workloads/{page}.md",
            title=variants.title(known) or family,
            figures=tuple(figures),
            context={
                "paragraphs": _paragraphs(known),
                "shared": variants.shared(known),
                "columns": variants.columns(known),
                "rows": [_row(one, known, has_marks=_same(facts, one)) for one in members if one.versions],
                "sections": [context for context, _ in sections],
                "limit": workload.MOST,
            },
        )


def _members(facts: Facts, family: str) -> list[Variant]:
    return [
        Variant(
            page=facts.workload_slugs[name],
            versions=[row for row in reversed(facts.workloads) if row.id == name],  # they come in ascending order
            results=facts.by_workload.get(name, []),
            name=name,
        )
        for name in facts.families[family]
    ]


def _paragraphs(known: Sequence[WorkloadRow]) -> list[Markdown]:
    """What the variants are; most families say it once for all."""
    texts: dict[str, str] = {}
    for row in known:
        texts.setdefault(row.description, row.variant or row.title)
    paragraphs: list[Markdown] = []
    for text, name in texts.items():
        parts = [described(part) for part in text.split("\n\n") if part.strip()]
        if parts and len(texts) > 1:
            parts[0] = Markdown(f"**{plain(_capital(name))}.** {parts[0]}")
        paragraphs += parts
    return paragraphs


def _row(one: Variant, known: Sequence[WorkloadRow], *, has_marks: bool) -> dict[str, object]:
    """A line of the table of variants."""
    newest = one.versions[0]
    chips = len({chip_of(row) for row in ranked(one.results)})
    return {
        "name": _unbroken(newest.variant or newest.title),
        "anchor": Markdown(one.page) if one.results or has_marks else None,
        "cells": variants.cells(newest, known),
        "chips": chips,
    }


def _same(facts: Facts, one: Variant) -> bool:
    return any(beside.same(facts, row.id, row.version) for row in one.versions)


def _section(facts: Facts, one: Variant) -> tuple[dict[str, object], tuple[Figure, ...]]:
    """What stands under the heading of a variant, and its figures."""
    rankings = [(row.version, _own(one, _ranking(facts, one, row))) for row in one.versions]
    newest = one.versions[0] if one.versions else None
    theirs = beside.figure(facts, f"workload-{one.page}", newest.id, newest.version) if newest else None
    apart = _own(one, guest_figure(f"workload-{one.page}", one.results, LISTED))
    failures = _own(one, failure_figure(f"workload-{one.page}", one.results, LISTED))
    name = one.versions[0].variant if one.versions else None
    context: dict[str, object] = {
        "title": Markdown(plain(_capital(name)) if name else "Ranking"),
        "anchor": Markdown(one.page),
        "rankings": [{"version": version, "figure": placeholder(figure)} for version, figure in rankings],
        "guests": placeholder(apart),
        "failures": placeholder(failures),
        "published": placeholder(theirs),
        "hollow": _same(facts, one),
    }
    return context, present(*(figure for _, figure in rankings), apart, failures, theirs)


def _own(one: Variant, figure: Figure | None) -> Figure | None:
    """The figure as it stands under the heading of its workload, which has only to be named where versions differ."""
    if figure is None or len(one.versions) > 1:
        return figure
    return replace(figure, tables=tuple(tables.without(table, "Workload") for table in figure.tables))


def _ranking(facts: Facts, one: Variant, row: WorkloadRow) -> Figure | None:
    mine = ranked(result for result in one.results if result.version == row.version)
    bars = workload.rows(mine, beside.same(facts, row.id, row.version), row)
    if not bars:
        return None
    plot = Plot(chart=CHARTS["workload"], rows=bars, axis=workload.axis(bars, row.item), key=device_key(bars))
    caption = f"{row.title}: {workload.plural(row.item)} in a second, newest run of each configuration"
    some = len(mine) > LISTED
    words = f"{LISTED} of the {len(mine):,} measured rows" if some else "All measured rows"
    table = tables.measured(_listed(mine) if some else mine, f"{words} of {row.title}")
    shown = (table,) if mine else ()
    return Figure(id=f"workload-{one.page}-v{row.version}", caption=caption, plot=plot, tables=shown)


def _listed(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """As many rows as a page can hold: those of the chart and the newest others, in their order."""
    drawn = set(map(id, workload.fastest(rows)))
    others = [row for row in rows if id(row) not in drawn][: LISTED - len(drawn)]
    kept = drawn | set(map(id, others))
    return [row for row in rows if id(row) in kept]


def _unbroken(name: str) -> Markdown:
    """The name inert and, if it is short, on one line of its narrow column."""
    return Markdown(inert(name).replace(" ", "&nbsp;")) if len(name) <= UNBROKEN else inert(name)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
