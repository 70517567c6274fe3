"""The page of a chip on which a long suite was measured often: short at first, bounded below."""

import msgspec
import pytest

from metalmark_db.rows import Calibration, ResultRow
from metalmark_site.charts import chip as drawn
from metalmark_site.content import by_family, chips, common, headline, peaks
from metalmark_site.facts import Facts
from metalmark_site.figures import Figure, Table
from metalmark_site.page import Content
from metalmark_site.render import markdown, templates

NAME = "Apple M4"


@pytest.fixture(scope="module")
def rows(facts: Facts) -> list[ResultRow]:
    """Twenty families of three variants, each in many versions of torch, which are kinds of their own."""
    base = next(row for row in facts.measured[NAME] if row.device == "mps")
    return [
        msgspec.structs.replace(
            base,
            workload=f"toy{n}-b{b}",
            family=f"toy{n}",
            title=f"Toy {n}, batch {b}",
            batch=b,
            torch_version=f"2.{t}",
        )
        for t in range(30, 0, -1)
        for n in range(20)
        for b in (32, 1, 8)
    ]


def page_of(results: list[ResultRow]) -> Content:
    """The page of the chip."""
    (content,) = [content for content in chips.each(Facts(results=tuple(results))) if content.title == NAME]
    return content


def ending(page: Content, end: str) -> Figure:
    """One of its figures."""
    (figure,) = [figure for figure in page.figures if figure.id.endswith(end)]
    return figure


def column(table: Table, name: str) -> list[str]:
    """The cells under a heading."""
    return [row[table.columns.index(name)] for row in table.rows]


def test_the_first_chart_has_few_lines_and_its_table_their_rows(rows: list[ResultRow]) -> None:
    chart = ending(page_of(rows), "-times")
    assert chart.plot
    assert len([row for row in chart.plot.rows if row["head"]]) == headline.MOST
    assert len(chart.plot.rows) == len(chart.tables[0].rows) == headline.MOST


def test_every_family_has_a_folded_table_that_is_bounded_and_says_so(rows: list[ResultRow]) -> None:
    tables = ending(page_of(rows), "-inference").tables
    assert len(tables) == 20
    assert {len(table.rows) for table in tables} == {by_family.LISTED}
    assert {table.summary for table in tables} >= {"toy0: the newest 40 of 90"}
    small = ending(page_of(rows[:3]), "-inference").tables
    assert [table.summary for table in small] == ["toy0: 3 rows"]


def test_variants_stand_in_their_order_and_the_newest_is_never_left_out(rows: list[ResultRow]) -> None:
    table = ending(page_of(rows), "-inference").tables[0]
    assert list(dict.fromkeys(column(table, "Workload"))) == ["Toy 0, batch 1", "Toy 0, batch 8", "Toy 0, batch 32"]
    assert "2.30" in column(table, "torch")
    assert "2.1" not in column(table, "torch")
    assert "Chip" not in table.columns


def test_a_second_run_of_the_same_kind_is_no_second_row(rows: list[ResultRow]) -> None:
    older = [msgspec.structs.replace(row, started_at="2020-01-01") for row in rows[:60]]
    tables = ending(page_of([*rows[:60], *older]), "-inference").tables
    assert {len(table.rows) for table in tables} == {3}
    assert {day for table in tables for day in column(table, "Run of")} == {rows[0].started_at[:10]}


def test_failures_are_folded_when_they_are_many_and_shown_when_few(rows: list[ResultRow]) -> None:
    failed = [msgspec.structs.replace(row, outcome="crash", median_s=None) for row in rows]
    (table,) = ending(page_of(failed), "-failures").tables
    assert len(table.rows) == chips.LISTED
    assert table.summary == "Data: 60 cases"
    assert "the newest 60 of 1,800" in table.caption
    (short,) = ending(page_of(failed[: common.SHORT]), "-failures").tables
    assert short.summary is None


def test_the_rows_of_unnamed_chips_are_bounded_too(rows: list[ResultRow]) -> None:
    odd = tuple(msgspec.structs.replace(row, chip="?!") for row in rows)
    (page,) = chips.other(Facts(results=odd))
    (table,) = page.figures[0].tables
    assert len(table.rows) == chips.OTHERS
    assert table.caption.endswith(": the newest 200 of 1,800")


def products(rows: list[ResultRow], sizes: int, **changes: object) -> list[ResultRow]:
    """Products of matrices of so many sizes in three precisions, the largest the nearest to the peak."""
    return [
        msgspec.structs.replace(
            rows[0],
            workload=f"matmul-{size}",
            title=f"Product {size}",
            batch=1,
            precision=precision,
            calibration=Calibration(rate=size, unit="TFLOP/s", peak=100.0, share=size / 100, beyond=False, source="x"),
            **changes,
        )
        for size in range(1, sizes + 1)
        for precision in ("fp32", "fp16", "bf16")
    ]


def test_of_many_products_the_best_is_seen_and_all_are_folded_below(rows: list[ResultRow]) -> None:
    best, every, sources = ending(page_of(products(rows, 8)), "-peaks").tables
    assert column(best, "Workload") == ["Product 8"] * 3
    assert column(best, "Precision") == ["fp32", "fp16", "bf16"]
    assert best.summary is None
    assert (len(every.rows), every.summary) == (24, "All sizes: 24 rows")
    assert sources.summary


def test_what_is_beyond_the_peak_is_never_folded_away(rows: list[ResultRow]) -> None:
    odd = products(rows, 1)[0]
    assert odd.calibration
    told = msgspec.structs.replace(odd.calibration, rate=150.0, share=1.5, beyond=True)
    best = ending(page_of([msgspec.structs.replace(odd, calibration=told), *products(rows, 8)[1:]]), "-peaks").tables[0]
    assert column(best, "Share") == ["150 %, beyond", "8.00 %", "8.00 %", "8.00 %"]


def test_memory_alone_makes_no_second_row_and_many_rows_are_cut(rows: list[ResultRow]) -> None:
    twice = [*products(rows, 2), *products(rows, 2, memory_bytes=1)]
    assert len(ending(page_of(twice), "-peaks").tables[0].rows) == 6
    every = ending(page_of(products(rows, 50)), "-peaks").tables[1]
    assert len(every.rows) == peaks.LISTED
    assert every.summary == "All sizes: the newest 120 of 150"


def test_a_page_speaks_of_speed_ups_only_where_it_shows_one(facts: Facts, rows: list[ResultRow]) -> None:
    def text(results: list[ResultRow]) -> str:
        return markdown(templates(), "chip.md.j2", page_of(results))

    lone = [msgspec.structs.replace(row, speedup=None) for row in rows]
    assert "The broad line joins" in text(facts.measured[NAME])
    assert "The broad line joins" not in text(lone)
    assert "speed-up" not in ending(page_of(lone), "-times").caption


def test_a_line_of_several_times_says_that_it_names_the_fastest(rows: list[ResultRow]) -> None:
    slow = msgspec.structs.replace(rows[0], speedup=None, median_s=2.0)
    quick = msgspec.structs.replace(slow, precision="fp16", median_s=1.0)
    assert [row["note"] for row in drawn.rows([slow, quick])] == ["fastest 1.00 s"] * 2
    assert [row["note"] for row in drawn.rows([slow])] == ["2.00 s"]
