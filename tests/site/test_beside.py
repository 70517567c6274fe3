"""What others published beside our workloads: the same work as hollow marks, what is near in tables alone."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from metalmark_db.engine import open_database
from metalmark_db.ingest import ingest
from metalmark_site.charts.base import Axis, Size, Unit
from metalmark_site.charts.workload import shape
from metalmark_site.content import published, workloads
from metalmark_site.facts import Facts, read_facts
from metalmark_site.figures import Figure

RUN = Path(__file__).parents[1] / "data" / "runs" / "h200-core.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    """The facts of a database with a run that was measured on an H200."""
    engine = open_database(str(tmp_path_factory.mktemp("beside") / "h200.sqlite"))
    ingest(engine, [(RUN.name, RUN.read_bytes())])
    yield read_facts(engine)
    engine.dispose()


def figures(facts: Facts, family: str) -> dict[str, Figure]:
    """The figures of a family's page."""
    page = next(content for content in workloads.each(facts) if content.path == f"workloads/{family}.md")
    return {figure.id: figure for figure in page.figures}


def test_the_same_work_stands_on_the_chart_as_a_hollow_mark_among_ours(recorded: Facts) -> None:
    plot = figures(recorded, "matmul")["workload-matmul-1024-v1"].plot
    assert plot is not None
    theirs = [row for row in plot.rows if row["published"]]
    assert [(row["label"], row["note"]) for row in theirs] == [
        ("Apple M1 Pro, 16 GPU cores · GPU (MPS) fp16 · published", "1,928 calls/s"),
        ("Apple M1 Pro, 16 GPU cores · GPU (MPS) fp32 · published", "1,709 calls/s"),
        ("Apple M1 Pro, 16 GPU cores · GPU (MPS) bf16 · published", "1,015 calls/s"),
    ]
    values = [float(row["value"] or 0) for row in plot.rows]
    assert values == sorted(values, reverse=True)
    assert len(theirs) < len(plot.rows)


@pytest.mark.parametrize("log", [False, True])
def test_a_published_mark_is_a_rim_and_no_bar(log: bool) -> None:
    layers = shape(Size.WIDE, Axis(title="x", unit=Unit.NUMBER, log=log))["layer"]
    marked = {layer.get("name"): layer for layer in layers}
    assert marked["published"]["mark"] == {"type": "point", "filled": False, "opacity": 1, "size": 95, "strokeWidth": 2}
    assert marked["published"]["transform"] == [{"filter": "datum.published"}]
    assert marked["dots" if log else "bars"]["transform"] == [{"filter": "!datum.published"}]


def test_what_is_only_near_stands_in_the_table_with_what_it_is(recorded: Facts) -> None:
    found = figures(recorded, "matmul")
    table = found["workload-matmul-4096-published"].tables[0]
    at = table.columns.index("Comparable")
    grades = [row[at] for row in table.rows]
    assert grades[:3] == ["the same work"] * 3
    assert set(grades[3:]) == {"near, with a difference"}
    plot = found["workload-matmul-512-v1"].plot
    assert plot is not None
    assert not any(row["published"] for row in plot.rows)
    assert "workload-matmul-512-published" in found


def test_a_variant_that_nobody_measured_shows_what_was_published_of_it(recorded: Facts) -> None:
    other = msgspec.structs.replace(next(row for row in recorded.workloads if row.id == "matmul-1024"), version=1)
    alone = Facts(workloads=(other,), published=recorded.published, sources=recorded.sources, chips=recorded.chips)
    found = figures(alone, "matmul")
    plot = found["workload-matmul-1024-v1"].plot
    assert plot is not None
    assert len(plot.rows) == 3


def test_a_time_that_was_printed_as_zero_says_what_it_lies_under(recorded: Facts) -> None:
    zero = next(row for row in recorded.published if row.value == 0)
    assert published.figure_text(zero) == "under 0.005 ms"
