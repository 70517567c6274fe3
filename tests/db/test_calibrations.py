"""Products and copies beside the published peaks of their chips, in recorded runs and in rows made up."""

from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import document, queries, store
from metalmark_db.calibrations import with_calibrations
from metalmark_db.record import Workload
from metalmark_db.rows import Calibration, ResultRow, WorkloadRow
from metalmark_db.words import Task

RUN = Path(__file__).parents[1] / "data" / "runs" / "h200-standard.json"


def facts(name: str, flops: float | None = None, size: float | None = None) -> Workload:
    """What is counted of an operation."""
    return Workload(
        id=name, version=1, title=name, source="x", task=Task.OPERATION, batch=1, input_shape="1", item="call",
        items_per_iteration=1, flops_per_iteration=flops, bytes_per_iteration=size,
    )  # fmt: skip


COUNTED = {
    "matmul-2048": facts("matmul-2048", flops=2 * 2048**3),
    "copy-bandwidth": facts("copy-bandwidth", size=2**30),
}


@pytest.fixture
def recorded(engine: sa.Engine) -> list[ResultRow]:
    """The rows of a run that was measured on an H200."""
    run = document.decode(RUN.read_bytes()).run
    names = {case.workload for case in run.cases}
    run_id = store.begin_run(engine, run.head, [COUNTED.get(name) or facts(name, flops=1e9) for name in names])
    for case in run.cases:
        store.save_case(engine, run_id, case)
    return queries.results(engine, run_id)


def found(rows: list[ResultRow], workload: str, device: str, precision: str = "fp32") -> Calibration:
    """The calibration of the one row of that kind."""
    (row,) = (one for one in rows if (one.workload, one.device, one.precision) == (workload, device, precision))
    assert row.calibration is not None
    return row.calibration


@pytest.mark.parametrize(
    ("workload", "precision", "peak", "share"),
    [
        ("matmul-2048", "fp32", 66.9, 0.748),
        ("matmul-2048", "tf32", 494.7, 0.635),
        ("matmul-2048", "fp16", 989.4, 0.658),
        ("matmul-2048", "bf16", 989.4, 0.677),
        ("copy-bandwidth", "fp32", 4800, 0.874),
    ],
)
def test_a_recorded_h200_reached_a_share_of_each_of_its_peaks(
    recorded: list[ResultRow], workload: str, precision: str, peak: float, share: float
) -> None:
    one = found(recorded, workload, "cuda", precision)
    assert (one.peak, one.beyond) == (peak, False)
    assert one.share == pytest.approx(share, abs=0.0006)
    assert one.rate == pytest.approx(peak * share, rel=0.001)


def test_each_peak_names_its_own_source(recorded: list[ResultRow]) -> None:
    plain, short = (found(recorded, "matmul-2048", "cuda", precision).source for precision in ("fp32", "tf32"))
    assert plain == found(recorded, "copy-bandwidth", "cuda").source
    assert "bandwidth" in (plain or "")
    assert "TF32" in (short or "")


def test_a_cpu_has_a_rate_and_no_peak_of_arithmetic_or_of_the_card_beside_it(recorded: list[ResultRow]) -> None:
    for workload, unit in (("matmul-2048", "TFLOP/s"), ("copy-bandwidth", "GB/s")):
        one = found(recorded, workload, "cpu")
        assert one.rate > 0
        assert one == Calibration(rate=one.rate, unit=unit)


def test_nothing_else_is_held_against_a_peak(recorded: list[ResultRow]) -> None:
    assert {row.workload for row in recorded if row.calibration} == set(COUNTED)
    assert len({row.workload for row in recorded}) > 5


@pytest.fixture
def product(recorded: list[ResultRow]) -> ResultRow:
    """The H200's row in fp32, without its calibration."""
    (row,) = (one for one in recorded if (one.workload, one.device, one.precision) == ("matmul-2048", "cuda", "fp32"))
    return msgspec.structs.replace(row, calibration=None)


def again(engine: sa.Engine, row: ResultRow) -> Calibration | None:
    """The calibration of a row that was made up."""
    (told,) = with_calibrations([row], queries.workloads(engine), queries.chips(engine))
    return told.calibration


@pytest.mark.parametrize(("share", "beyond"), [(1.09, False), (1.11, True), (40.0, True)])
def test_beyond_the_peak_begins_at_a_tenth_above_it(
    engine: sa.Engine, product: ResultRow, share: float, beyond: bool
) -> None:
    one = again(engine, msgspec.structs.replace(product, median_s=2 * 2048**3 / (share * 66.9e12)))
    assert one is not None
    assert one.share == pytest.approx(share)
    assert one.beyond is beyond


def test_what_nobody_published_is_unknown(engine: sa.Engine, product: ResultRow) -> None:
    mac = msgspec.structs.replace(
        product, chip="Apple M1", device_chip="Apple M1", gpu_cores=8, device="mps", virtual=False
    )
    known = again(engine, mac)
    assert known is not None
    assert known.peak == 2.6
    for unknown in (
        msgspec.structs.replace(mac, precision="bf16"),
        msgspec.structs.replace(mac, virtual=True),  # nobody says what share of the GPU a guest has
        msgspec.structs.replace(mac, gpu_cores=None),  # 2.3 or 2.6, by the number of cores
        msgspec.structs.replace(product, chip="NVIDIA H100"),  # two kinds of card
        msgspec.structs.replace(product, chip="NVIDIA H200 MIG 1g.18gb"),
    ):
        one = again(engine, unknown)
        assert one is not None
        assert one == Calibration(rate=one.rate, unit="TFLOP/s")


def test_what_failed_or_ran_partly_on_the_cpu_calibrates_nothing(engine: sa.Engine, product: ResultRow) -> None:
    for row in (
        msgspec.structs.replace(product, outcome="wrong_result"),
        msgspec.structs.replace(product, outcome="not_run", median_s=None),
        msgspec.structs.replace(product, fallback=True),
        msgspec.structs.replace(product, version=9),  # nobody says how much work it is
    ):
        assert again(engine, row) is None


def test_a_workload_that_counts_nothing_has_no_rate(engine: sa.Engine, product: ResultRow) -> None:
    silent = [
        msgspec.structs.replace(row, flops_per_iteration=None)
        for row in queries.workloads(engine)
        if isinstance(row, WorkloadRow)
    ]
    (told,) = with_calibrations([product], silent, queries.chips(engine))
    assert told.calibration is None
