"""The suite's calibrations: known to the database by name, and flagged by the peak of their own precision."""

import msgspec
import pytest

from metalmark_collector.plan import make_plan
from metalmark_collector.progress import flagged
from metalmark_collector.workloads import WORKLOADS
from metalmark_db import chips
from metalmark_db.plausible import BEYOND_PEAK, Kind, calibrates
from metalmark_db.record import Case, Machine, Round
from metalmark_db.words import Effort, Outcome, Precision

H200 = chips.facts(Machine(chip="Intel(R) Xeon(R)", gpu_name="NVIDIA H200"))


def test_the_database_knows_every_calibration_of_the_suite_by_its_name() -> None:
    """Kinds are the suite's; a run in a database has names alone."""
    for name, entry in WORKLOADS.items():
        expected = entry.bound if entry.bound in (Kind.MATMUL, Kind.COPY) else None
        assert calibrates(name) is expected, name
        if expected is Kind.MATMUL:
            assert entry.facts.flops_per_iteration
        if expected is Kind.COPY:
            assert entry.facts.bytes_per_iteration


@pytest.mark.parametrize(
    ("precision", "microseconds", "beyond"),
    [
        (Precision.FP32, 300, False),  # 57 TFLOP/s of 66.9
        (Precision.FP32, 230, True),
        (Precision.TF32, 50, False),  # 344 of 494.7
        (Precision.TF32, 30, True),
        (Precision.FP16, 30, False),  # what TF32 cannot do, fp16 can
        (Precision.FP16, 15, True),
        (Precision.BF16, 30, False),
        (Precision.BF16, 15, True),
    ],
)
def test_a_time_is_held_against_the_peak_of_its_own_precision(
    precision: Precision, microseconds: int, beyond: bool
) -> None:
    assert (BEYOND_PEAK in flagged(_product(precision, microseconds), H200).flags) is beyond


def test_a_precision_without_a_peak_is_never_flagged() -> None:
    unknown = msgspec.structs.replace(H200, bf16_tflops=None, tf32_tflops=None)
    for precision in (Precision.TF32, Precision.BF16):
        assert flagged(_product(precision, 1), unknown).flags == ()


def _product(precision: Precision, microseconds: int) -> Case:
    (planned,) = make_plan(Effort.QUICK, ["cuda"], 3, only=["matmul-2048"], precisions=[precision]).cases["cuda"]
    samples = Round(number=0, iterations=1, block_ns=(1000 * microseconds,) * 10)
    return msgspec.structs.replace(planned.ended(Outcome.OK), rounds=(samples,))
