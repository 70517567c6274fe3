"""The pages of the chips: a list of all, one for each well-named chip, and one that gathers the rest."""

from collections.abc import Iterator
from dataclasses import replace

from metalmark_db.rows import ChipRow, ResultRow

from .. import units
from ..charts import CHARTS, chip
from ..facts import Facts
from ..figures import Figure, Plot, Table
from ..page import Content
from ..text import Markdown
from ..words import age, is_guest_cpu
from . import peaks, tables
from .by_family import ByFamily
from .common import SHORT, cut, device_key, failure_figure, guest_figure, placeholder, present, ranked
from .headline import MOST, Headline, on_lines

SPEEDUP = ", and the GPU's speed-up over the CPU"  # what a caption says of a chart that shows any
LISTED = 60  # rows of a table of guests or of failures
OTHERS = 200  # measured rows of chips without a page

FACTS = (
    "Variant",
    "CPU cores",
    "GPU cores",
    "Memory bandwidth",
    "fp32 peak",
    "tf32 peak",
    "fp16 peak",
    "bf16 peak",
    "Memory",
    "Source",
    "Source below fp32",
    "Remark",
)
FACTS_NUMBERS = frozenset({"GPU cores", "Memory bandwidth", "fp32 peak", "tf32 peak", "fp16 peak", "bf16 peak"})
FACTS_TEXTS = frozenset({"Source", "Source below fp32", "Remark"})


def index(facts: Facts) -> Iterator[Content]:
    """The list of the chips, those of Apple first."""
    entries = [
        _entry(facts, name, page) for name, page in sorted(facts.chip_slugs.items(), key=lambda item: age(item[0]))
    ]
    apple = [entry for entry in entries if str(entry["name"]).startswith("Apple ")]
    others = [entry for entry in entries if entry not in apple]
    context = {"families": [("Apple silicon", apple), ("Others", others)], "other": bool(_unnamed(facts))}
    yield Content(path="chips/index.md", title="Chips", context=context)


def _entry(facts: Facts, name: str, page: str) -> dict[str, object]:
    variants = [row for row in facts.chips if row.chip == name]
    gpu_cores = sorted({row.gpu_cores for row in variants if row.gpu_cores})
    bandwidths = sorted({row.bandwidth_gb_s for row in variants if row.bandwidth_gb_s})
    return {
        "name": name,
        "link": Markdown(f"{page}.md"),
        "gpu_cores": ", ".join(map(str, gpu_cores)),
        "bandwidth": ", ".join(f"{value:,.0f}" for value in bandwidths),
        "measured": len({row.run_id for row in facts.measured.get(name, [])}),
        "published": len(facts.published_by_chip.get(name, [])),
    }


def each(facts: Facts) -> Iterator[Content]:
    """One page for each chip."""
    headline, families = Headline(facts), ByFamily(facts)
    for name, page in facts.chip_slugs.items():
        results = facts.measured.get(name, [])
        variants = [row for row in facts.chips if row.chip == name]
        known = _facts(page, name, variants)
        mine = ranked(results)
        chart = _chart(page, name, mine, headline)
        every = list(families.figures(f"chip-{page}", name, mine))
        reached = peaks.figure(f"chip-{page}", name, results)
        apart = guest_figure(f"chip-{page}", results, LISTED)
        failures = _failures(page, results)
        yield Content(
            path=f"chips/{page}.md",
            title=name,
            figures=present(chart, reached, *every, apart, failures, known),
            context={
                "name": name,
                "chart": placeholder(chart),
                "most": MOST,
                "peaks": placeholder(reached),
                "speedups": chart is not None and SPEEDUP in chart.caption,
                "every": [figure.placeholder for figure in every],
                "guests": placeholder(apart),
                "failures": placeholder(failures),
                "known": placeholder(known),
                "only_guests": bool(results) and all(is_guest_cpu(row) for row in results),
                "published": _published(facts, name),
                "pairs": any(pair.chip == name for pair in facts.speed_pairs if pair.source_id == "mlx_benchmark"),
            },
        )


def other(facts: Facts) -> Iterator[Content]:
    """The page of the measured rows whose chip has no page of its own."""
    results = [row for name in _unnamed(facts) for row in facts.measured[name]]
    caption = "Measured rows of chips without a page of their own"
    rows, failures = ranked(results), failure_figure("chip-other", results, LISTED)
    caption += cut(rows, OTHERS)
    table = tables.measured(rows[:OTHERS], caption, fold=len(rows) > SHORT)
    figure = Figure(id="chip-other", caption=caption, tables=(table,)) if rows else None
    apart = guest_figure("chip-other", results, LISTED)
    yield Content(
        path="chips/other.md",
        title="Other chips",
        figures=present(figure, apart, failures),
        context={
            "table": placeholder(figure),
            "guests": placeholder(apart),
            "failures": placeholder(failures),
            "names": _unnamed(facts),
        },
    )


def _unnamed(facts: Facts) -> list[str]:
    return sorted(set(facts.measured) - set(facts.chip_slugs))


def _chart(page: str, name: str, rows: list[ResultRow], headline: Headline) -> Figure | None:
    lines = headline.lines(rows)
    kinds = on_lines(rows, lines, chip.kind)
    dots = chip.rows(kinds, lines)
    if not dots:
        return None
    compared = any("span_to" in row for row in dots)
    caption = f"{name}: time of one iteration{SPEEDUP if compared else ''}"
    plot = Plot(chart=CHARTS["chip"], rows=dots, axis=chip.AXIS, key=device_key(dots))
    table = tables.without(tables.measured(kinds, caption), "Chip")
    return Figure(id=f"chip-{page}-times", caption=caption, plot=plot, tables=(table,))


def _failures(page: str, rows: list[ResultRow]) -> Figure | None:
    """What failed on a chip; guests excepted, its name would be the same in every row."""
    figure = failure_figure(f"chip-{page}", rows, LISTED)
    if figure is None or any(is_guest_cpu(row) for row in rows):
        return figure
    return replace(figure, tables=tuple(tables.without(table, "Chip") for table in figure.tables))


def _facts(page: str, name: str, variants: list[ChipRow]) -> Figure | None:
    if not variants:
        return None
    caption = f"Published facts of {name}"
    every = [_variant(row) for row in variants]
    # Most chips have no peak of some formats: a column of nothing is left out.
    kept = [place for place in range(len(FACTS)) if any(row[place] not in ("", units.UNKNOWN) for row in every)]
    columns = tuple(FACTS[place] for place in kept)
    rows = [[row[place] for place in kept] for row in every]
    table = Table(caption=caption, columns=columns, rows=rows, numbers=FACTS_NUMBERS, texts=FACTS_TEXTS)
    return Figure(id=f"chip-{page}-facts", caption=caption, tables=(table,))


def _variant(row: ChipRow) -> tuple[str, ...]:
    tiers = (
        f"{row.cpu_super} super" if row.cpu_super else "",
        f"{row.cpu_performance} performance" if row.cpu_performance else "",
        f"{row.cpu_efficiency} efficiency" if row.cpu_efficiency else "",
    )
    return (
        row.variant,
        " + ".join(filter(None, tiers)) or units.UNKNOWN,
        str(row.gpu_cores or units.UNKNOWN),
        f"{row.bandwidth_gb_s:,g} GB/s" if row.bandwidth_gb_s else units.UNKNOWN,
        *(
            f"{peak:,g} TFLOP/s" if peak else units.UNKNOWN
            for peak in (row.fp32_tflops, row.tf32_tflops, row.fp16_tflops, row.bf16_tflops)
        ),
        f"{', '.join(row.memory_options_gb.split())} GB" if row.memory_options_gb else units.UNKNOWN,
        row.source,
        row.low_precision_source or "",
        row.note or "",
    )


def _published(facts: Facts, name: str) -> list[dict[str, object]]:
    """The sources that published figures of this chip, with their number."""
    counts: dict[str, int] = {}
    for row in facts.published_by_chip.get(name, []):
        counts[row.source_id] = counts.get(row.source_id, 0) + 1
    titles = {row.id: row for row in facts.sources}
    return [
        {
            "title": titles[source].title,
            "author": titles[source].author,
            "link": Markdown(f"../published/{facts.source_slugs[source]}.md"),
            "count": units.count(number, "figure"),
        }
        for source, number in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if source in titles
    ]
