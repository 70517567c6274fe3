"""The pages of the workloads: a list of all, and a ranking for each."""

from collections.abc import Iterator

from metalmark_db.rows import ResultRow, WorkloadRow

from .. import units
from ..charts import CHARTS, workload
from ..facts import Facts
from ..figures import Figure, Plot
from ..page import Content
from ..text import Markdown, described, slug
from ..words import TASKS, chip_of
from . import tables
from .common import device_key, failure_figure, guest_figure, placeholder, present, ranked


def index(facts: Facts) -> Iterator[Content]:
    """The list of the workloads."""
    newest = {row.id: row for row in facts.workloads}  # versions come in ascending order
    entries = [
        {
            "title": row.title,
            "link": Markdown(f"{facts.workload_slugs[row.id]}.md"),
            "task": TASKS.get(row.task, row.task),
            "batch": row.batch,
            "input": row.input_shape,
            "work": units.large(row.flops_per_iteration, "FLOP"),
            "chips": len({chip_of(r) for r in ranked(facts.by_workload.get(row.id, []))}),
        }
        for row in newest.values()
    ]
    yield Content(path="workloads/index.md", title="Workloads", context={"entries": entries})


def each(facts: Facts) -> Iterator[Content]:
    """One page for each workload; an older version gets a chart of its own, below."""
    for name, page in facts.workload_slugs.items():
        versions = [row for row in reversed(facts.workloads) if row.id == name]
        results = facts.by_workload.get(name, [])
        rankings = [_ranking(page, row.version, results, row) for row in versions]
        apart = guest_figure(f"workload-{page}", results)
        failures = failure_figure(f"workload-{page}", results)
        newest = versions[0] if versions else None
        yield Content(
            path=f"workloads/{page}.md",
            title=newest.title if newest else name,
            figures=present(*rankings, apart, failures),
            context={
                "workload": newest,
                "facts": _facts(newest) if newest else [],
                "paragraphs": [
                    described(part) for part in (newest.description if newest else "").split("\n\n") if part.strip()
                ],
                "rankings": [
                    {"version": row.version, "figure": placeholder(figure)}
                    for row, figure in zip(versions, rankings, strict=True)
                ],
                "limit": workload.MOST,
                "guests": placeholder(apart),
                "failures": placeholder(failures),
            },
        )


def _ranking(page: str, version: int, results: list[ResultRow], row: WorkloadRow) -> Figure | None:
    mine = ranked(result for result in results if result.version == version)
    bars = workload.rows(mine)
    if not bars:
        return None
    plot = Plot(chart=CHARTS["workload"], rows=bars, axis=workload.axis(bars, row.item), key=device_key(bars))
    caption = f"{row.title}: {workload.plural(row.item)} in a second, newest run of each configuration"
    table = tables.measured(mine, f"All measured rows of {row.title}")
    return Figure(id=f"workload-{slug(page)}-v{version}", caption=caption, plot=plot, tables=(table,))


def _facts(row: WorkloadRow) -> list[tuple[str, str]]:
    """What is fixed about a workload: (label, value)."""
    parameters = f"{row.parameters:,}" if row.parameters else units.UNKNOWN
    return [
        ("Task", TASKS.get(row.task, row.task)),
        ("Version", str(row.version)),
        ("Batch", f"{row.batch:,}"),
        ("Input of one sample", row.input_shape),
        ("Work of one iteration", units.large(row.flops_per_iteration, "FLOP")),
        ("Least memory traffic of one iteration", units.large(row.bytes_per_iteration, "B")),
        ("Parameters", parameters),
        ("Follows", row.source),
    ]
