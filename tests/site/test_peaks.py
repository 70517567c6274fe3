"""A chip's page tells what share of its published peaks products and copies reached."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from metalmark_db import document, store
from metalmark_db.record import Workload
from metalmark_db.rows import ResultRow
from metalmark_db.words import Task
from metalmark_site.content import chips, peaks
from metalmark_site.content.common import failure_figure, ranked
from metalmark_site.content.tables import MEASURED, measured
from metalmark_site.facts import Facts, read_facts
from metalmark_site.figures import Figure

RUN = Path(__file__).parents[1] / "data" / "runs" / "h200-standard.json"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    """The facts of a database with a run that was measured on an H200."""
    engine = store.open_database(f"sqlite:///{tmp_path_factory.mktemp('h200') / 'h200.sqlite'}")
    run = document.decode(RUN.read_bytes()).run
    number = store.begin_run(engine, run.head, [facts(name) for name in sorted({case.workload for case in run.cases})])
    for case in run.cases:
        store.save_case(engine, number, case)
    yield read_facts(engine)
    engine.dispose()


def facts(name: str) -> Workload:
    """What is counted of a workload."""
    copied = name == "copy-bandwidth"
    return Workload(
        id=name, version=1, title=name, source="x", task=Task.OPERATION, batch=1, input_shape="1", item="call",
        items_per_iteration=1, flops_per_iteration=None if copied else 2 * 2048**3,
        bytes_per_iteration=2**30 if copied else None,
    )  # fmt: skip


def page_figures(found: Facts, name: str) -> dict[str, Figure]:
    """The figures of a chip's page by what their id ends with."""
    page = next(content for content in chips.each(found) if content.title == name)
    return {figure.id.rsplit("-", 1)[1]: figure for figure in page.figures}


def product(found: Facts, precision: str = "fp32") -> ResultRow:
    """The H200's product of matrices."""
    kind = ("matmul-2048", "cuda", precision)
    return next(row for row in found.results if (row.workload, row.device, row.precision) == kind)


def beyond(row: ResultRow) -> ResultRow:
    """The row as it would be if it were faster than its chip."""
    assert row.calibration is not None
    told = msgspec.structs.replace(row.calibration, rate=100.0, share=1.5, beyond=True)
    return msgspec.structs.replace(row, calibration=told)


def test_the_page_of_the_h200_tells_the_share_of_each_of_its_peaks(recorded: Facts) -> None:
    table, sources = page_figures(recorded, "NVIDIA H200")["peaks"].tables
    assert [tuple(row[:6]) for row in table.rows] == [
        ("matmul-2048", "fp32", "74.8 %", "50.1 TFLOP/s", "66.9 TFLOP/s", "GPU (CUDA)"),
        ("matmul-2048", "tf32", "63.5 %", "314 TFLOP/s", "494.7 TFLOP/s", "GPU (CUDA)"),
        ("matmul-2048", "fp16", "65.8 %", "651 TFLOP/s", "989.4 TFLOP/s", "GPU (CUDA)"),
        ("matmul-2048", "bf16", "67.7 %", "669 TFLOP/s", "989.4 TFLOP/s", "GPU (CUDA)"),
        ("copy-bandwidth", "fp32", "87.4 %", "4,193 GB/s", "4,800 GB/s", "GPU (CUDA)"),
    ]
    assert {len(row) for row in table.rows} == {len(peaks.COLUMNS)}
    assert [row[0] for row in sources.rows] == [
        "fp32 66.9 TFLOP/s, memory 4,800 GB/s",
        "tf32 494.7 TFLOP/s, fp16 989.4 TFLOP/s, bf16 989.4 TFLOP/s",
    ]
    assert all(row[1].startswith("glennklockwood.com/") for row in sources.rows)


def test_the_facts_of_a_card_have_its_peaks_and_those_of_a_mac_no_empty_columns(recorded: Facts) -> None:
    (card,) = page_figures(recorded, "NVIDIA H200")["facts"].tables
    assert {"tf32 peak", "bf16 peak", "Source below fp32"} <= set(card.columns)
    assert "494.7 TFLOP/s" in card.rows[0]
    (mac,) = page_figures(recorded, "Apple M4")["facts"].tables
    assert mac.columns == (
        "Variant", "CPU cores", "GPU cores", "Memory bandwidth", "fp32 peak", "Memory", "Source", "Remark"
    )  # fmt: skip
    assert {len(row) for row in (*card.rows, *mac.rows)} == {len(card.columns), len(mac.columns)}


def test_a_share_beyond_the_peak_is_labelled_in_the_table_and_in_no_ranking(recorded: Facts) -> None:
    row = beyond(product(recorded))
    figure = peaks.figure("test", "NVIDIA H200", [row])
    assert figure is not None
    assert figure.tables[0].rows[0][2] == "150 %, beyond"
    assert ranked([row]) == []
    listed = failure_figure("test", [row])
    assert listed is not None
    assert any("beyond the chip's peak" in cell for cell in listed.tables[0].rows[0])
    assert ranked([product(recorded)]) == [product(recorded)]


def test_a_peak_that_nobody_published_is_said_to_be_unknown(recorded: Facts) -> None:
    row = product(recorded, "bf16")
    assert row.calibration is not None
    told = msgspec.structs.replace(row.calibration, peak=None, share=None, beyond=None, source=None)
    unknown = msgspec.structs.replace(row, calibration=told)
    assert peaks.figure("test", "x", [unknown]) is None  # a table without a single peak says nothing
    figure = peaks.figure("test", "x", [unknown, product(recorded)])
    assert figure is not None
    assert [row[2:5] for row in figure.tables[0].rows][1] == ("–", "669 TFLOP/s", "not published")
    assert len(figure.tables[1].rows) == 1


def test_the_cpu_beside_a_card_and_chips_without_a_run_have_no_such_table(recorded: Facts) -> None:
    assert "peaks" not in page_figures(recorded, "Intel(R) Xeon(R) Processor")
    assert "peaks" not in page_figures(recorded, "NVIDIA A100")


def test_sizes_stand_in_their_order_and_the_newest_run_of_each_kind_alone(recorded: Facts) -> None:
    row = product(recorded)
    older = [beyond(row)]
    sizes = [msgspec.structs.replace(row, workload=f"matmul-{side}", title=f"matmul-{side}") for side in (8192, 512)]
    figure = peaks.figure("test", "NVIDIA H200", [row, *sizes, *older])
    assert figure is not None
    assert [(cells[0], cells[2]) for cells in figure.tables[0].rows] == [
        ("matmul-512", "74.8 %"), ("matmul-2048", "74.8 %"), ("matmul-8192", "74.8 %")
    ]  # fmt: skip


def test_the_tables_of_rankings_have_the_share_too(recorded: Facts) -> None:
    table = measured(recorded.results, "all")
    place = MEASURED.index("Of the peak")
    shares = {(row[2], row[3].split()[0], row[4]): row[place] for row in table.rows}
    assert shares["matmul-2048", "GPU", "tf32"] == "63.5 %"
    assert shares["matmul-2048", "CPU", "fp32"] == "–"
    assert {share for (name, *_), share in shares.items() if name not in ("matmul-2048", "copy-bandwidth")} == {""}
