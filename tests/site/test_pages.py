"""The table of pages is complete, and each page says what it must."""

import re
from collections.abc import Iterable

import msgspec
import pytest

from metalmark_site.content import chips, gpu_or_cpu, home, published, workloads
from metalmark_site.content.common import guests, ranked
from metalmark_site.data import data
from metalmark_site.facts import Facts
from metalmark_site.page import Content
from metalmark_site.pages import PAGES
from metalmark_site.render import markdown, templates


def written(facts: Facts) -> dict[str, str]:
    """All generated pages as Markdown, by path."""
    environment = templates()
    return {
        content.path: markdown(environment, kind.template, content, repository=None)
        for kind in PAGES
        for content in kind.contents(facts)
    }


@pytest.fixture(scope="module")
def pages(facts: Facts) -> dict[str, str]:
    """The pages of the filled database."""
    return written(facts)


def only(contents: Iterable[Content]) -> Content:
    """The one page that a function gives."""
    (content,) = contents
    return content


def test_every_template_has_a_row_in_the_table() -> None:
    """A template that no row names would never be seen."""
    assert {kind.template for kind in PAGES} == {path.name for path in data("templates").iterdir()}


def test_every_page_lies_where_its_row_says(facts: Facts) -> None:
    """Paths hold our own slugs only, so that no contributed name becomes a folder."""
    for kind in PAGES:
        pattern = re.sub(r"<\w+>", "[a-z0-9_-]+", re.escape(kind.path).replace(r"\<", "<").replace(r"\>", ">"))
        paths = [content.path for content in kind.contents(facts)]
        assert all(re.fullmatch(pattern, path) for path in paths)
        assert len(set(paths)) == len(paths)


def test_every_figure_has_a_place_and_a_name_of_its_own(facts: Facts, pages: dict[str, str]) -> None:
    """Each figure's placeholder stands once in the page that owns it."""
    names = []
    for kind in PAGES:
        for content in kind.contents(facts):
            for figure in content.figures:
                assert pages[content.path].count(figure.placeholder) == 1
                names.append(figure.id)
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in names)


def test_an_empty_database_makes_every_fixed_page() -> None:
    """No rows at all: the pages exist and say so."""
    pages = written(Facts())
    assert pages.keys() == {kind.path for kind in PAGES if "<" not in kind.path}
    assert "holds no measured run yet" in pages["index.md"]
    assert "No run has measured a workload yet" in pages["workloads/index.md"]
    assert "no published pairs" in pages["published/gpu-or-cpu.md"]


def test_few_machines_are_called_a_beginning(facts: Facts) -> None:
    """The home page does not call two machines a comparison."""
    assert "a beginning, not yet a comparison" in home.standing(Facts(runs=facts.runs[-2:]))
    assert home.standing(facts) == "This database holds 9 runs on 9 machine configurations."


def test_a_run_is_called_by_the_chip_that_has_a_page(facts: Facts) -> None:
    """Of a PC only the card may have been measured; its processor then leads nowhere."""
    run = msgspec.structs.replace(facts.runs[0], chip="Some CPU", gpu_name="NVIDIA H200")
    (content,) = home.home(Facts(runs=(run,), chips=facts.chips))
    text = markdown(templates(), "index.md.j2", content, repository=None)
    assert "**[NVIDIA H200](chips/nvidia-h200.md)**" in text
    assert text.count("NVIDIA H200") == text.count("Some CPU") == 1


def test_one_older_run_is_one(facts: Facts) -> None:
    """The number and its words agree."""
    (content,) = home.home(Facts(runs=facts.runs[: home.NEWEST + 1]))
    assert "1 older run is in the database" in markdown(templates(), "index.md.j2", content, repository=None)


def test_a_guest_is_shown_apart_and_never_ranked(facts: Facts, pages: dict[str, str]) -> None:
    """The virtual machine's CPU rows are in the table of guests, not in the ranking."""
    assert {row.chip for row in guests(facts.results)} == {"AMD EPYC 7B13"}
    assert "AMD EPYC 7B13" not in {row.chip for row in ranked(facts.results)}
    page = only(content for content in workloads.each(facts) if content.path == "workloads/matmul-2048.md")
    ranking = next(figure for figure in page.figures if figure.plot)
    assert ranking.plot
    assert "EPYC" not in str(ranking.plot.rows)
    (apart,) = [figure for figure in page.figures if figure.id.endswith("-guests")]
    assert apart.tables[0].rows[0][0] == "4 virtual cores of AMD EPYC 7B13"
    assert "Only virtual machines" in pages["chips/amd-epyc-7b13.md"]


def test_a_workload_without_a_time_still_has_a_page(facts: Facts) -> None:
    """It says that no machine has measured it."""
    pages = written(Facts(workloads=facts.workloads[:1]))
    (path,) = [path for path in pages if path.startswith("workloads/") and path != "workloads/index.md"]
    assert "No machine that can be ranked has measured this version yet" in pages[path]


def test_failures_are_named_with_their_reason(facts: Facts) -> None:
    """What did not work is a row with words, on the page of the workload and of the chip."""
    page = only(content for content in chips.each(facts) if content.path == "chips/apple-m1.md")
    (failures,) = [figure for figure in page.figures if figure.id.endswith("-failures")]
    (table,) = failures.tables
    assert {row[table.columns.index("Outcome")] for row in table.rows} == {"wrong result", "not run: time budget spent"}
    assert "Chip" not in table.columns


def test_every_published_figure_stands_on_the_page_of_its_source(facts: Facts) -> None:
    """4,761 figures, each once, none in Markdown (the search index stays small)."""
    rows = 0
    for content in published.each(facts):
        (figures,) = [figure for figure in content.figures if figure.id.endswith("-figures")]
        rows += sum(len(table.rows) for table in figures.tables)
    assert rows == len(facts.published) == 4761


def test_sources_without_a_synchronise_carry_the_remark(facts: Facts, pages: dict[str, str]) -> None:
    """Their GPU times may be too short, and no chart of the overview uses them."""
    for source in ("mishkin_tweets_2022", "gau_nernst_mps_2022"):
        assert "does not synchronise on MPS" in pages[f"published/{source}.md"]
    overview = only(published.overview(facts))
    shown = {str(chart["source"]) for chart in overview.context["charts"]}  # type: ignore[attr-defined]
    doubtful = {row.title for row in facts.sources if row.id in published.CAUTIONS}
    assert shown
    assert not shown & doubtful


def test_a_zero_of_mlx_benchmark_is_a_bound_not_a_time(facts: Facts) -> None:
    """Under 0.005 ms; other sources' zeros are not reinterpreted."""
    zeros = [row for row in facts.published if row.source_id == "mlx_benchmark" and row.value == 0]
    assert zeros
    assert {published.figure_text(row) for row in zeros} == {"under 0.005 ms"}


def test_failures_of_others_are_said_in_words(facts: Facts) -> None:
    """A figure that was never printed is no number."""
    texts = {published.figure_text(row) for row in facts.published if row.outcome == "unsupported_op"}
    assert texts == {"operation not supported"}
    wrong = [row for row in facts.published if row.outcome == "wrong_result" and row.value is not None]
    assert all(published.figure_text(row).startswith("wrong result: ") for row in wrong)


def test_the_page_gpu_or_cpu_counts_its_pairs(pages: dict[str, str]) -> None:
    """The lead sentence holds the two numbers of the source."""
    assert "In 165 of 974 published pairs (17 %) the CPU of a Mac beat its own GPU" in pages["published/gpu-or-cpu.md"]


def test_macs_stand_in_the_order_of_their_age(facts: Facts) -> None:
    """M1, M1 Pro, M1 Max, M1 Ultra, M2 and so on."""
    page = only(gpu_or_cpu.page(facts))
    plot = page.figures[0].plot
    assert plot
    macs = [name for _, name in sorted({(row["place"], str(row["mac_short"])) for row in plot.rows})]
    assert macs[:4] == ["M1, 8 GPU", "M1 Pro, 16 GPU", "M1 Max", "M1 Ultra, 48 GPU"]
    assert macs[-1] == "M4 Pro, 20 GPU"


def test_operations_unknown_to_the_table_stand_under_the_last_heading(facts: Facts) -> None:
    """A new operation of the source is not lost."""
    pair = msgspec.structs.replace(facts.speed_pairs[-1], source_id="mlx_benchmark", workload="op/fft")
    page = only(gpu_or_cpu.page(Facts(speed_pairs=(pair,), sources=facts.sources)))
    assert [section["title"] for section in page.context["sections"]] == ["Other operations"]  # type: ignore[attr-defined]


def test_hand_written_pages_are_in_the_navigation() -> None:
    """Each of them is an entry of mkdocs.yml, or said to be none and reached from one that is."""
    config = data("mkdocs.yml").read_text(encoding="utf-8")
    for page in data("pages").iterdir():
        linked = f"]({page.name})" in (data("pages") / "method.md").read_text(encoding="utf-8")
        assert f": {page.name}" in config or (f"\n  /{page.name}\n" in config and linked)


def test_a_title_cannot_leave_the_front_matter(facts: Facts, pages: dict[str, str]) -> None:
    """Hostile titles are plain words by the time the theme prints them."""
    page = pages["workloads/hostile.md"]
    title = page.splitlines()[1]
    assert re.fullmatch(r'title: "[\w .,()+/×·?:-]+"', title)
    assert "<" not in page.split("---", 2)[1]


def test_the_repository_is_named_only_where_it_is_known(facts: Facts) -> None:
    """Nothing points to an invented address."""
    (content,) = home.home(facts)
    without = markdown(templates(), "index.md.j2", content, repository=None)
    known = markdown(templates(), "index.md.j2", content, repository="https://example.org/metalmark")
    assert "its source" not in without
    assert "<https://example.org/metalmark>" in known
