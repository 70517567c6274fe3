"""Pages of families: what variants share and what tells them apart, in a page that stays short."""

import html
import re
from collections.abc import Sequence
from pathlib import Path

import markdown
import msgspec
import pytest

from metalmark_db.rows import ResultRow, WorkloadRow
from metalmark_site import render
from metalmark_site.content import variants, workloads
from metalmark_site.facts import Facts
from metalmark_site.page import Content
from metalmark_site.pages import PAGES

EXTENSIONS = ["attr_list", "md_in_html", "tables", "toc"]


def page_of(facts: Facts, family: str) -> Content:
    """The page of a family."""
    (content,) = [content for content in workloads.each(facts) if content.path == f"workloads/{family}.md"]
    return content


def written(facts: Facts, family: str) -> str:
    """The same as Markdown."""
    (kind,) = [kind for kind in PAGES if kind.template == "workload.md.j2"]
    return render.markdown(render.templates(), kind.template, page_of(facts, family))


def like(facts: Facts, **changes: object) -> WorkloadRow:
    """The facts of ResNet-50's smallest inference, with some of them changed."""
    row = next(row for row in facts.workloads if row.id == "resnet50-infer-b8")
    return msgspec.structs.replace(row, **changes)


def batches(facts: Facts, *sizes: int) -> tuple[WorkloadRow, ...]:
    """Variants of one family that differ in their batch."""
    return tuple(
        like(facts, id=f"toy-b{n}", family="toy", variant=f"batch {n}", title=f"Toy, batch {n}", batch=n) for n in sizes
    )


def results_of(facts: Facts, row: WorkloadRow, count: int, **changes: object) -> tuple[ResultRow, ...]:
    """So many results of a workload, the newest first and the fastest last."""
    base = next(r for r in facts.results if r.device == "cpu" and r.outcome == "ok" and not r.virtual)
    own = {"workload": row.id, "version": row.version, "family": row.family, "title": row.title} | changes
    return tuple(
        msgspec.structs.replace(base, run_id=count - n, chip=f"Chip {n % 70}", items_per_s=1.0 + n, **own)
        for n in range(count)
    )


def test_variants_stand_smallest_first_and_those_without_a_result_are_only_named(facts: Facts) -> None:
    text = written(facts, "resnet50-infer")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == [
        "What it is { data-search-exclude }",
        "Batch 8 { #resnet50-infer-b8 }",
        "Batch 128 { #resnet50-infer-b128 }",
    ]
    assert re.findall(r"^\| (\S*batch\S*) \| (.*?) \| (\d*) ?\|$", text, re.MULTILINE) == [
        ("[batch&nbsp;8](#resnet50-infer-b8)", "65.4 GFLOP", "6"),
        ("batch&nbsp;32", "262 GFLOP", ""),
        ("[batch&nbsp;128](#resnet50-infer-b128)", "1.05 TFLOP", "6"),
    ]


def test_what_all_variants_share_is_said_once_and_what_nobody_knows_not_at_all(facts: Facts) -> None:
    text = written(facts, "resnet50-infer")
    assert text.count("torchvision resnet50") == text.count("25,557,032") == text.count("Known") == 1
    assert "Loss" not in text
    known = (like(facts, optimizer="SGD", batch=8), like(facts, optimizer=None, batch=16))
    assert ("Batch", True) in variants.columns(known)  # both are called "batch 8"
    assert ("Optimizer", False) in variants.columns(known)
    assert variants.cells(known[1], known) == ["16", "–"]
    assert "Optimizer" not in dict(variants.shared(known))


def test_what_says_nothing_of_a_workload_is_left_out(facts: Facts) -> None:
    """An operation has no batch unless it is given one, and what is our own follows nobody."""
    (product,) = [row for row in facts.workloads if row.id == "matmul-2048"]
    assert not {"Batch", "Follows"} & dict(variants.shared([product])).keys()
    copied = msgspec.structs.replace(product, batch=2, source="Apple 2022")
    assert {("Batch", "2"), ("Follows", "Apple 2022")} <= set(variants.shared([copied]))


def test_a_workload_of_which_no_family_is_known_has_a_page_by_its_own_name(facts: Facts) -> None:
    page = page_of(facts, "matmul-2048")
    assert page.title == "Square matrix product, 2048"
    assert "## Ranking { #matmul-2048 }" in written(facts, "matmul-2048")


def test_a_newer_version_tells_the_family_of_an_older_one(facts: Facts) -> None:
    old, new = like(facts, id="toy", family=None), like(facts, id="toy", version=2, family="toys")
    rows = (*results_of(facts, new, 1), *results_of(facts, old, 1))
    both = Facts(workloads=(old, new), results=rows)
    assert both.families == {"toys": ["toy"]}
    assert "### Version 1 { #toy--v1 }" in written(both, "toys")


@pytest.mark.parametrize(
    ("title", "variant", "expected"),
    [
        ("ResNet-50 training, batch 8", "batch 8", "ResNet-50 training"),
        ("BERT base training, 128 tokens, batch 4", "128 tokens, batch 4", "BERT base training"),
        ("BERT base training, 128 tokens", "128 tokens, batch 4", "BERT base training"),
        ("Language model, prefill, 512 tokens", "512 tokens", "Language model, prefill"),
        ("Copy, 512 MiB", None, "Copy, 512 MiB"),
        ("ResNet-50 training", "batch 8", "ResNet-50 training"),
        (", batch 8", "batch 8", ", batch 8"),
        ("Odd, ", "", "Odd, "),
    ],
)
def test_a_family_is_called_by_the_title_without_the_variant(
    facts: Facts, title: str, variant: str | None, expected: str
) -> None:
    assert variants.title([like(facts, title=title, variant=variant)]) == expected


def test_one_title_that_names_its_variant_is_enough(facts: Facts) -> None:
    known = [like(facts, title="Old name", variant="2048 x 2048"), *batches(facts, 4)]
    assert variants.title(known) == "Toy"


def test_descriptions_that_differ_name_their_variant(facts: Facts) -> None:
    first, second, third = batches(facts, 1, 2, 3)
    known = Facts(
        workloads=(
            msgspec.structs.replace(first, description="One."),
            msgspec.structs.replace(second, description="One."),
            msgspec.structs.replace(third, description="Another."),
        )
    )
    text = written(known, "toy")
    assert "**Batch 1.** One&#46;\n" in text
    assert "**Batch 3.** Another&#46;\n" in text
    assert "Batch 2" not in text


def test_the_index_lists_families_by_what_they_do(facts: Facts, hostile: tuple[str, ...]) -> None:
    (content,) = workloads.index(facts)
    groups = dict(content.context["groups"])  # type: ignore[call-overload]
    lines = {name: [(e["title"], e["variants"], e["chips"]) for e in entries] for name, entries in groups.items()}
    assert lines == {
        "Training": [("ResNet-50 training", 1, 6)],
        "Inference": [
            ("BERT base inference, 128 tokens", 1, 6),
            ("ResNet-50 inference", 3, 6),
            (hostile[-1], 2, 3),
        ],
        "Operations": [("Square matrix product, 2048", 1, 6)],
        "Others": [],
    }


def test_work_of_an_unknown_kind_is_listed_too(facts: Facts) -> None:
    (content,) = workloads.index(Facts(workloads=(like(facts, task="dance"),)))
    assert [len(entries) for _, entries in content.context["groups"]] == [0, 0, 0, 1]  # type: ignore[attr-defined]


def test_the_index_has_one_line_for_a_family_however_many_variants_it_has(facts: Facts) -> None:
    (content,) = workloads.index(Facts(workloads=batches(facts, *range(1, 61))))
    text = render.markdown(render.templates(), "workloads.md.j2", content)
    assert re.findall(r"^\| \[.*", text, re.MULTILINE) == ["| [Toy](toy.md) | 60 |  |"]


def rows_in(page: Content) -> list[int]:
    """How many rows each table of a page has."""
    return [len(table.rows) for figure in page.figures for table in figure.tables]


def test_the_page_of_popular_work_stays_bounded_and_says_so(facts: Facts) -> None:
    """A table of a hundred thousand rows would be no page."""
    (row,) = batches(facts, 8)
    many = results_of(facts, row, 1000)
    failed = results_of(facts, row, 1000, outcome="crash", median_s=None)
    guests = results_of(facts, row, 1000, virtual=True)
    page = page_of(Facts(workloads=(row,), results=(*many, *failed, *guests)), "toy")
    assert rows_in(page) == [workloads.LISTED] * 3
    captions = [figure.tables[0].caption for figure in page.figures]
    assert captions[0] == "200 of the 1,000 measured rows of Toy, batch 8"
    assert captions[1].endswith("never ranked: the newest 200 of 1,000")
    assert captions[2].endswith("and why: the newest 200 of 1,000")


def test_all_rows_are_there_while_they_are_few(facts: Facts) -> None:
    (row,) = batches(facts, 8)
    page = page_of(Facts(workloads=(row,), results=results_of(facts, row, 3)), "toy")
    assert rows_in(page) == [3]
    assert page.figures[0].tables[0].caption == "All measured rows of Toy, batch 8"


def test_the_old_fast_row_of_the_chart_is_in_its_table(facts: Facts) -> None:
    """The newest result of a chip may be older than two hundred others."""
    (row,) = batches(facts, 8)
    old = results_of(facts, row, 1)[0]
    old = msgspec.structs.replace(old, chip="Old", items_per_s=1e9)
    page = page_of(Facts(workloads=(row,), results=(*results_of(facts, row, 500), old)), "toy")
    assert "Old" in {cells[0] for cells in page.figures[0].tables[0].rows}


def test_a_table_under_its_variant_does_not_repeat_the_workload(facts: Facts) -> None:
    (old,) = batches(facts, 8)
    new = msgspec.structs.replace(old, version=2)

    def columns(known: Sequence[WorkloadRow]) -> tuple[str, ...]:
        page = page_of(Facts(workloads=tuple(known), results=results_of(facts, known[-1], 2)), "toy")
        return page.figures[0].tables[0].columns

    assert "Workload" not in columns([old])
    assert "Workload" in columns([old, new])


def test_hostile_facts_are_text_on_the_page_of_their_family(facts: Facts, hostile: tuple[str, ...]) -> None:
    """Names, variants, models and optimizers come from contributed documents; so may any other word."""
    for text in (*hostile, "x](javascript:alert(1)) | y { #taken onclick=alert(1) }"):
        fields = ("variant", "title", "source", "input_shape", "item", "model", "loss", "optimizer", "task")
        first = like(facts, id="bad-1", family="bad", description=f"{text}\n\n{text}", **dict.fromkeys(fields, text))
        second = like(facts, id="bad-2", family="bad", variant=f"{text}!", title=text, model="m")
        bad = Facts(workloads=(first, second), results=results_of(facts, first, 1))
        page = markdown.markdown(written(bad, "bad").split("---", 2)[2], extensions=EXTENSIONS)
        tags = set(re.findall(r"<(\w+)", page))
        assert tags == {"h1", "h2", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "a", "figure"} | (
            {"code"} if "`b`" in text else set()
        )
        assert set(re.findall(r'href="([^"]*)"', page)) == {"#bad-1", "../method.md"}
        assert set(re.findall(r"<h2 (.*?)>", page)) == {'data-search-exclude id="what-it-is"', 'id="bad-1"'}
        assert f">{text}<" in html.unescape(page)


def test_names_of_pages_and_sections_are_safe_whatever_the_family_is_called(facts: Facts) -> None:
    known = Facts(workloads=(like(facts, id="../a b", family="../../etc/passwd"), like(facts, id="index", family=None)))
    assert known.family_slugs == {"../../etc/passwd": "etc-passwd", "index": "index-2"}
    assert {content.path for content in workloads.each(known)} == {"workloads/etc-passwd.md", "workloads/index-2.md"}


def test_the_search_knows_what_a_family_is_and_not_what_all_pages_say(html: Path) -> None:
    """The theme loads the index with every first view."""
    index = msgspec.json.decode((html / "search" / "search_index.json").read_bytes())
    entries = [entry for entry in index["docs"] if entry["location"].startswith("workloads/resnet50-infer/")]
    assert [entry["title"] for entry in entries] == ["ResNet-50 inference", "Batch 8", "Batch 128"]
    assert [entry["text"] for entry in entries] == ["<p>Known.</p>", "", ""]
