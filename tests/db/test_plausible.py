"""Results beyond what a chip can do are told from those that are merely fast."""

import csv
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_db.data import data
from metalmark_db.plausible import Kind, calibrates, is_beyond_peak, peak
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

CARD = ChipRow(
    chip="NVIDIA H200",
    variant="SXM 141 GB",
    cpu_super=None,
    cpu_performance=None,
    cpu_efficiency=None,
    gpu_cores=None,
    bandwidth_gb_s=4800,
    fp32_tflops=66.9,
    tf32_tflops=494.7,
    fp16_tflops=989.4,
    bf16_tflops=989.5,  # told apart from fp16 here
    memory_options_gb=None,
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
    ("chip", "device", "precision", "kind", "expected"),
    [
        (M1, "mps", Precision.FP32, Kind.MATMUL, 2.6),
        (M1, "mps", Precision.FP16, Kind.MODEL, 2.617),
        (M1, "mps", Precision.AMP_FP16, Kind.CONVOLUTIONS, 2.617),
        (M1, "mps", Precision.BF16, Kind.MATMUL, None),
        (M1, "mps", Precision.AMP_BF16, Kind.MODEL, None),
        (M1, "mps", Precision.TF32, Kind.MATMUL, None),
        (CARD, "cuda", Precision.FP32, Kind.MATMUL, 66.9),
        (CARD, "cuda", Precision.TF32, Kind.CONVOLUTIONS, 494.7),
        (CARD, "cuda", Precision.FP16, Kind.MATMUL, 989.4),
        (CARD, "cuda", Precision.AMP_FP16, Kind.MODEL, 989.4),
        (CARD, "cuda", Precision.BF16, Kind.MATMUL, 989.5),
        (CARD, "cuda", Precision.AMP_BF16, Kind.CONVOLUTIONS, 989.5),
        (CARD, "cuda", Precision.BF16, Kind.COPY, 4800),
        (M1, "cpu", Precision.FP32, Kind.MATMUL, None),
        (M1, "cpu", Precision.FP32, Kind.COPY, 68.3),
        (M1, "mps", Precision.FP32, Kind.COPY, 68.3),
    ],
)
def test_a_result_is_held_against_the_peak_of_its_own_precision(
    chip: ChipRow, device: str, precision: Precision, kind: Kind, expected: float | None
) -> None:
    assert peak(chip, device, precision, kind) == expected


def test_every_precision_has_a_peak_on_a_card_that_has_all() -> None:
    assert all(peak(CARD, "cuda", precision, Kind.MATMUL) for precision in Precision)


@pytest.mark.parametrize(
    ("workload", "kind"),
    [
        ("matmul-512", Kind.MATMUL),
        ("matmul-8192", Kind.MATMUL),
        ("copy-bandwidth", Kind.COPY),
        ("copy-to-device", None),
        ("matmul-2048-chain", None),
        ("resnet50-train-b8", None),
    ],
)
def test_what_calibrates_a_chip_is_known_by_its_name(workload: str, kind: Kind | None) -> None:
    assert calibrates(workload) is kind
