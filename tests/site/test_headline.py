"""Charts of many workloads: few lines, chosen by rules that name no workload."""

import msgspec
import pytest

from metalmark_db.rows import ResultRow, WorkloadRow
from metalmark_site.content import headline, home
from metalmark_site.content.headline import Headline, on_lines
from metalmark_site.facts import Facts
from metalmark_site.render import markdown, templates


def known(facts: Facts, name: str, **changes: object) -> WorkloadRow:
    """A workload of a family that is called like it, up to its last hyphen."""
    base = next(row for row in facts.workloads if row.id == "resnet50-infer-b8")
    own: dict[str, object] = {"id": name, "family": name.rpartition("-")[0], "model": None}
    return msgspec.structs.replace(base, **own | changes)


def measured(facts: Facts, row: WorkloadRow, cores: int = 1, **changes: object) -> ResultRow:
    """A result of it, on a machine that its number of cores tells from others."""
    base = next(r for r in facts.results if r.device == "mps" and r.outcome == "ok")
    own: dict[str, object] = {"workload": row.id, "version": row.version, "family": row.family, "task": row.task}
    return msgspec.structs.replace(base, **own | {"batch": row.batch, "cpu_cores": cores} | changes)


def lines(workloads: tuple[WorkloadRow, ...], results: tuple[ResultRow, ...]) -> list[str]:
    """The workloads that a chart of all results shows."""
    return [name for name, _ in Headline(Facts(workloads=workloads, results=results)).lines(results)]


def test_a_family_has_the_variant_that_most_machines_have_measured(facts: Facts) -> None:
    small, large = known(facts, "toy-b8", batch=8), known(facts, "toy-b32", batch=32)
    once = (measured(facts, small), measured(facts, large))
    assert lines((large, small), once) == ["toy-b8"]
    # A second run on the same machine is no second machine, and neither is its CPU beside its GPU.
    assert lines((large, small), (*once, measured(facts, large), measured(facts, large, device="cpu"))) == ["toy-b8"]
    assert lines((large, small), (*once, measured(facts, large, cores=2))) == ["toy-b32"]


def test_what_stands_in_no_ranking_makes_no_variant_popular(facts: Facts) -> None:
    small, large = known(facts, "toy-b8", batch=8), known(facts, "toy-b32", batch=32)
    odd = [measured(facts, large, cores=n, fallback=True, fallback_ops=("x",)) for n in range(5)]
    assert lines((small, large), (measured(facts, small), measured(facts, large), *odd)) == ["toy-b8"]


def test_models_with_training_and_inference_come_first_then_what_most_have_measured(facts: Facts) -> None:
    both = [known(facts, f"both-{task}-b1", task=task, model="both") for task in ("inference", "train")]
    lone = known(facts, "lone-b1", task="train", model="lone")
    popular, product = known(facts, "popular-b1"), known(facts, "product-1", task="operation")
    everything = (product, lone, popular, *both)
    results = tuple(measured(facts, row) for row in everything)
    more = tuple(measured(facts, row, cores=2) for row in (popular, product))
    assert lines(everything, (*results, *more)) == [
        "both-train-b1", "both-inference-b1", "lone-b1", "popular-b1", "product-1"
    ]  # fmt: skip


def test_the_most_measured_families_are_kept_and_no_more_than_fit(facts: Facts) -> None:
    rows = tuple(known(facts, f"toy{n}-b1") for n in range(headline.MOST + 3))
    results = tuple(measured(facts, row, cores=c) for n, row in enumerate(rows) for c in range(n + 1))
    assert lines(rows, results) == [row.id for row in reversed(rows)][: headline.MOST]


def test_a_chip_shows_what_it_has_measured_and_the_choice_of_all_chips(facts: Facts) -> None:
    small, large, other = (known(facts, f"toy-b{n}", batch=n) for n in (8, 32, 64))
    results = (measured(facts, large), measured(facts, large, cores=2), measured(facts, small), measured(facts, other))
    choice = Headline(Facts(workloads=(small, large, other), results=results))
    assert choice.lines([results[0], results[2]]) == [("toy-b32", 1)]
    assert choice.lines([results[3]]) == [("toy-b64", 1)]


def test_only_the_newest_version_is_a_line(facts: Facts) -> None:
    old, new = known(facts, "toy-b8"), known(facts, "toy-b8", version=2)
    results = (measured(facts, old), measured(facts, old, cores=2), measured(facts, new))
    assert Headline(Facts(workloads=(old, new), results=results)).lines(results) == [("toy-b8", 2)]


def test_workloads_and_tasks_that_nobody_knows_are_lines_too(facts: Facts) -> None:
    row = known(facts, "toy-b8", task="dance")
    assert lines((), (measured(facts, row),)) == ["toy-b8"]


def test_a_line_has_the_newest_dots_and_not_all(facts: Facts) -> None:
    row = known(facts, "toy-b8")
    results = [measured(facts, row, cores=n, run_id=1000 - n) for n in range(headline.DOTS + 5)]
    shown = on_lines([*results, *results], [("toy-b8", 1)], lambda r: r.cpu_cores)
    assert shown == results[: headline.DOTS]
    assert on_lines(results, [("other", 1)], lambda r: r.cpu_cores) == []


@pytest.fixture(scope="module")
def many(facts: Facts) -> Facts:
    """A database with sixty workloads in twenty families, each on a few machines and on a guest."""
    rows = tuple(
        known(facts, f"toy{n}-b{b}", batch=b, title=f"Toy {n}, batch {b}") for n in range(20) for b in (1, 2, 4)
    )
    results = tuple(measured(facts, row, gpu_cores=c) for row in rows for c in (4, 8))
    apart = tuple(measured(facts, row, device="cpu", virtual=True) for row in rows)
    return Facts(workloads=rows, results=(*results, *apart), runs=facts.runs, chips=facts.chips)


def test_the_home_page_stays_short_with_a_long_suite_and_says_by_which_rule(many: Facts) -> None:
    (content,) = home.home(many)
    chart, apart = content.figures
    assert chart.plot
    assert [str(row["row"]) for row in chart.plot.rows if row["head"]] == [
        f"toy{n}-b1 1" for n in sorted(range(20), key=str)[:10]
    ]
    assert len(chart.tables[0].rows) == len(chart.plot.rows) == 20
    assert len(apart.tables[0].rows) == 10
    assert apart.tables[0].summary == "Data: 10 measured rows"
    text = markdown(templates(), "index.md.j2", content, repository=None)
    assert "at most\n10 lines" in text
    assert "[Every workload, in 20 families](workloads/index.md)" in text


def test_guests_are_drawn_only_where_nothing_else_is(many: Facts) -> None:
    (both,) = home.home(many)
    (alone,) = home.home(Facts(workloads=many.workloads, results=tuple(row for row in many.results if row.virtual)))
    assert [(figure.id, figure.plot is not None) for figure in both.figures] == [
        ("home-speed", True),
        ("home-guests", False),
    ]
    assert [(figure.id, figure.plot is not None) for figure in alone.figures] == [("home-guests", True)]
