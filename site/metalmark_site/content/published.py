"""What others published: all sources, one page for each, every figure with its source, never ranked with ours."""

from collections.abc import Iterator, Sequence

from metalmark_db.rows import PublishedRow, SourceRow

from .. import units
from ..charts import CHARTS, published
from ..facts import Facts, grouped
from ..figures import Figure, Plot, Table
from ..page import Content
from ..text import Markdown, slug
from ..words import METRICS, TASKS, device, outcome
from .common import device_key, placeholder, present

MOST_CHARTS = 6
MOST_LINES = 40
ENOUGH = 3  # chips that make a chart worth drawing

# What a reader must know before comparing a source's figures of MPS; also in the notes of some sources.
UNSYNCHRONIZED = (
    "This source does not synchronise on MPS before it stops the clock: its GPU times may be too short, "
    "since work was still running. Do not rank them."
)
UNSTATED = (
    "This source does not say whether it synchronises on MPS before it stops the clock: its GPU times may be too short."
)
CAUTIONS = {
    "mishkin_tweets_2022": UNSYNCHRONIZED,
    "gau_nernst_mps_2022": UNSYNCHRONIZED,
    "jamescalam_pytorch_mps": UNSYNCHRONIZED,
    "lyken17_torch_mps_benchmark": UNSTATED,
    "sijunhe_blog_2022": UNSTATED,
    "purewal_m1_matmul_2023": UNSTATED,
}
# A source whose zeros are times rounded down: (unit as printed, what a zero means).
ZEROS = {"mlx_benchmark": "under 0.005 ms"}


def overview(facts: Facts) -> Iterator[Content]:
    """The page of all sources, with charts of the work that most Macs have figures for."""
    charts = [(figures[0], _chart(f"published-{slug(figures[0].source_id)}", figures)) for figures in _broadest(facts)]
    yield Content(
        path="published/as-published.md",
        title="As published",
        figures=tuple(figure for _, figure in charts),
        context={
            "total": f"{len(facts.published):,}",
            "sources": [_entry(facts, row) for row in sorted(facts.sources, key=lambda s: -s.figures)],
            "charts": [_chart_context(facts, first, figure) for first, figure in charts],
        },
    )


def each(facts: Facts) -> Iterator[Content]:
    """One page for each source: who, where, how it was timed, and every figure."""
    for source in facts.sources:
        rows = facts.by_source.get(source.id, [])
        page = facts.source_slugs[source.id]
        broadest = max(published.groups(rows), key=_breadth, default=[])
        chart = _chart(f"source-{slug(page)}", broadest) if _breadth(broadest)[0] >= ENOUGH else None
        figures = Figure(
            id=f"source-{slug(page)}-figures",
            caption=f"All {len(rows):,} figures of {source.title}",
            tables=tuple(_tables(source, rows)),
        )
        yield Content(
            path=f"published/{page}.md",
            title=source.title,
            figures=present(chart, figures),
            context={
                "source": source,
                "notes": [_note(line) for line in source.notes.splitlines() if line.strip()],
                "caution": CAUTIONS.get(source.id),
                "zero": ZEROS.get(source.id),
                "chart": placeholder(chart),
                "chart_title": published.title(broadest[0]) if chart else None,
                "figures": figures.placeholder,
                "pairs": source.id == "mlx_benchmark" and bool(facts.speed_pairs),
            },
        )


def _entry(facts: Facts, source: SourceRow) -> dict[str, object]:
    rows = facts.by_source.get(source.id, [])
    return {
        "title": source.title,
        "link": Markdown(f"{facts.source_slugs[source.id]}.md"),
        "author": source.author,
        "date": source.date,
        "figures": f"{source.figures:,}",
        "chips": len({row.chip for row in rows}),
        "licence": source.licence,
        "caution": "GPU times not synchronised" if CAUTIONS.get(source.id) == UNSYNCHRONIZED else "",
    }


def _note(line: str) -> tuple[str, str]:
    """A line of notes as (label, text); the label may be missing."""
    label, colon, text = line.partition(": ")
    return (label.replace("_", " ").capitalize(), text) if colon and label.replace("_", "").isalnum() else ("", line)


def _chart_context(facts: Facts, first: PublishedRow, figure: Figure) -> dict[str, object]:
    source = next(row for row in facts.sources if row.id == first.source_id)
    return {
        "title": published.title(first),
        "figure": figure.placeholder,
        "source": source.title,
        "author": source.author,
        "date": source.date,
        "link": Markdown(f"{facts.source_slugs[source.id]}.md"),
    }


def _breadth(figures: Sequence[PublishedRow]) -> tuple[int, int, float]:
    """What makes a group's chart worth showing: its Apple chips, its figures, and how heavy the work is."""
    apple = {row.chip for row in figures if row.chip.startswith("Apple ")}
    return len(apple), len(figures), max((row.seconds or 0.0 for row in figures), default=0.0)


def _broadest(facts: Facts) -> list[list[PublishedRow]]:
    """The broadest group of each source, those with most Apple chips first; doubtful sources are left out."""
    known = {source.id for source in facts.sources} - set(CAUTIONS)
    groups = [group for group in published.groups(facts.published) if group[0].source_id in known]
    best = [max(same, key=_breadth) for same in grouped(groups, lambda group: group[0].source_id).values()]
    wide = sorted((group for group in best if _breadth(group)[0] >= ENOUGH), key=_breadth, reverse=True)
    return wide[:MOST_CHARTS]


def _chart(name: str, figures: list[PublishedRow]) -> Figure:
    rows = published.rows(figures)
    lines = list(dict.fromkeys(row["row"] for row in rows))[:MOST_LINES]
    shown = [row for row in rows if row["row"] in lines]
    plot = Plot(chart=CHARTS["published"], rows=shown, axis=published.axis(figures), key=device_key(shown))
    caption = f"{published.title(figures[0])}, as published by the source {figures[0].source_id}"
    data = Table(
        caption=caption,
        columns=COLUMNS,
        rows=[_cells(row) for row in figures],
        numbers=NUMBERS,
        texts=TEXTS,
        summary=f"Data: {units.count(len(figures), 'published figure')}",
    )
    return Figure(id=f"{name}-chart", caption=caption, plot=plot, tables=(data,))


COLUMNS = ("Chip", "Work", "Task", "Input", "Batch", "Precision", "Device", "Figure", "Software", "Remark", "Source")
NUMBERS = frozenset({"Batch", "Figure"})
TEXTS = frozenset({"Work", "Remark"})


def _tables(source: SourceRow, rows: list[PublishedRow]) -> Iterator[Table]:
    """One folded table for each chip; columns in which the whole source says nothing are left out."""
    cells = {row.id: _cells(row)[:-1] for row in rows}
    said = [i for i in range(len(COLUMNS) - 1) if any(line[i] for line in cells.values())][
        1:
    ]  # the chip is the caption
    for chip, mine in grouped(rows, published.machine).items():
        yield Table(
            caption=f"{source.title}: {chip}",
            columns=tuple(COLUMNS[i] for i in said),
            rows=[tuple(cells[row.id][i] for i in said) for row in mine],
            numbers=NUMBERS,
            texts=TEXTS,
            summary=f"{chip}: {units.count(len(mine), 'figure')}",
        )


def _cells(row: PublishedRow) -> tuple[str, ...]:
    software = " ".join(filter(None, (row.framework, row.framework_version)))
    return (
        published.machine(row),
        row.workload if row.model in row.workload else f"{row.workload} ({row.model})",
        TASKS.get(row.task, row.task),
        row.input_shape or "",
        f"{row.batch_size:,}" if row.batch_size else "",
        row.precision or "",
        device(row.device),
        figure_text(row),
        ", ".join(filter(None, (software, row.os))),
        row.note or "",
        row.source_id,
    )


def figure_text(row: PublishedRow) -> str:
    """A figure as published; a rounded zero and a failure are said in words."""
    unit = METRICS.get(row.metric, (row.metric, True))[0]
    if row.under_s is not None:
        return f"under {row.under_s * 1e3:g} ms"
    number = f"{units.published(row.value)} {unit}" if row.value is not None else ""
    return number if row.outcome == "ok" else ": ".join(filter(None, (outcome(row.outcome), number)))
