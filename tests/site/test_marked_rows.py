"""Rows that need a word beside them: what ran partly on the CPU, and GPUs of guests."""

import msgspec
import pytest

from metalmark_db.rows import ResultRow
from metalmark_site.charts import speed, workload
from metalmark_site.content.common import failure_figure, ranked
from metalmark_site.facts import Facts
from metalmark_site.words import cores


@pytest.fixture
def row(facts: Facts) -> ResultRow:
    """A measured row of a GPU that let an operation run on the CPU."""
    measured = next(row for row in facts.results if row.device == "mps" and row.outcome == "ok")
    return msgspec.structs.replace(measured, fallback=True, fallback_ops=("aten::bincount",))


def test_a_row_with_fallback_is_never_ranked(row: ResultRow) -> None:
    assert ranked([row]) == []
    assert ranked([msgspec.structs.replace(row, fallback=False)]) != []


def test_a_row_with_fallback_is_listed_with_its_time_and_operations(row: ResultRow) -> None:
    figure = failure_figure("test", [row])
    assert figure is not None
    (cells,) = figure.tables[0].rows
    assert any("aten::bincount on the CPU; not ranked" in str(cell) for cell in cells)


def test_a_row_that_failed_even_so_says_both(row: ResultRow) -> None:
    figure = failure_figure("test", [msgspec.structs.replace(row, outcome="crash", median_s=None)])
    assert figure is not None
    assert any("with aten::bincount on the CPU" in str(cell) for cell in figure.tables[0].rows[0])


def test_a_gpu_passed_through_to_a_guest_is_ranked_with_its_mark(row: ResultRow) -> None:
    guest = msgspec.structs.replace(row, fallback=False, virtual=True, device="cuda", chip="NVIDIA H200")
    assert ranked([guest]) == [guest]
    assert cores(guest) == "in a virtual machine"
    assert "in a virtual machine" in str(speed.rows([guest])[0]["note"])
    assert str(workload.rows([guest])[0]["label"]).count("in a virtual machine") == 1


def test_a_row_beyond_the_peak_of_its_chip_is_listed_and_not_ranked(row: ResultRow) -> None:
    beyond = msgspec.structs.replace(row, fallback=False, flags=("beyond_peak",))
    assert ranked([beyond]) == []
    figure = failure_figure("test", [beyond])
    assert figure is not None
    assert any("beyond the chip's peak" in str(cell) for cell in figure.tables[0].rows[0])
