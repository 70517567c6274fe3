"""Results beyond what a chip can do are told from those that are merely fast."""

import csv
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_db.data import data
from metalmark_db.plausible import Kind, is_beyond_peak, peak
from metalmark_db.rows import ChipRow
from metalmark_db.words import Precision

REPORTED = Path(__file__).parents[1] / "data" / "fixtures" / "timings" / "002.json"
POSITIVE = st.floats(min_value=1e-3, max_value=1e6)
M1 = ChipRow(
    chip="Apple M1",
    variant="8-core CPU, 8-core GPU",
    cpu_super=None,
    cpu_performance=4,
    cpu_efficiency=4,
    gpu_cores=8,
    bandwidth_gb_s=68.3,
    fp32_tflops=2.6,
    fp16_tflops=2.617,
    memory_options_gb="8 16",
    source="somebody's table",
    note=None,
)


def test_seventeen_petaflops_on_an_m2_ultra_are_beyond_its_peak() -> None:
    """What a benchmark printed that did not wait for the device."""
    reported = json.loads(REPORTED.read_text())
    tflops = reported["values"][0] * 1000
    assert is_beyond_peak(tflops, reported["expected"]["peak_fp32_tflops"], Kind.MATMUL) is True


def test_that_peak_is_the_one_of_our_table_of_chips() -> None:
    with (data("published") / "chips.csv").open(newline="") as lines:
        peaks = [float(row["fp32_tflops"]) for row in csv.DictReader(lines) if row["chip"] == "Apple M2 Ultra"]
    assert max(peaks) == pytest.approx(json.loads(REPORTED.read_text())["expected"]["peak_fp32_tflops"], rel=0.001)


@pytest.mark.parametrize(
    ("kind", "room"), [(Kind.MATMUL, 1.1), (Kind.COPY, 1.1), (Kind.CONVOLUTIONS, 2.5), (Kind.MODEL, 1.1)]
)
def test_each_kind_has_the_room_that_is_stated(kind: Kind, room: float) -> None:
    assert is_beyond_peak(10 * room * 0.999, 10, kind) is False
    assert is_beyond_peak(10 * room * 1.001, 10, kind) is True


@given(POSITIVE, POSITIVE, st.sampled_from(Kind), st.floats(min_value=1.0, max_value=100.0))
def test_what_is_beyond_stays_beyond_when_it_is_faster(rate: float, most: float, kind: Kind, faster: float) -> None:
    if is_beyond_peak(rate, most, kind):
        assert is_beyond_peak(rate * faster, most, kind)


@given(POSITIVE, POSITIVE, st.sampled_from(Kind), st.integers(min_value=-20, max_value=20))
def test_units_do_not_matter_as_long_as_they_are_the_same(rate: float, most: float, kind: Kind, power: int) -> None:
    assert is_beyond_peak(math.ldexp(rate, power), math.ldexp(most, power), kind) is is_beyond_peak(rate, most, kind)


@given(POSITIVE)
def test_nothing_is_said_of_single_operations_and_of_what_is_not_known(rate: float) -> None:
    assert is_beyond_peak(rate, 1e-9, Kind.OPERATION) is None
    for kind in Kind:
        assert is_beyond_peak(rate, None, kind) is None
        assert is_beyond_peak(None, rate, kind) is None


@pytest.mark.parametrize(
    ("device", "precision", "kind", "expected"),
    [
        ("mps", Precision.FP32, Kind.MATMUL, 2.6),
        ("mps", Precision.FP16, Kind.MODEL, 2.617),
        ("mps", Precision.AMP_FP16, Kind.CONVOLUTIONS, 2.617),
        ("mps", Precision.BF16, Kind.MATMUL, None),
        ("mps", Precision.AMP_BF16, Kind.MODEL, None),
        ("cuda", Precision.TF32, Kind.MATMUL, None),
        ("cpu", Precision.FP32, Kind.MATMUL, None),
        ("cpu", Precision.FP32, Kind.COPY, 68.3),
        ("mps", Precision.FP32, Kind.COPY, 68.3),
    ],
)
def test_a_result_is_held_against_the_peak_of_its_own_precision(
    device: str, precision: Precision, kind: Kind, expected: float | None
) -> None:
    assert peak(M1, device, precision, kind) == expected
