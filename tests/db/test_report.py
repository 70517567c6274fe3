"""A stored run as people read it: every case with its outcome, on any terminal."""

import json
from collections.abc import Callable

import msgspec
import pytest
import sqlalchemy as sa
from rich.console import Console

from metalmark_db import output, report, store
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Case, RunHead, Workload
from metalmark_db.words import Mode, Outcome, Precision, Reason

MakeCase = Callable[..., Case]
MARKS = ("cpu fp32", "cuda fp32", "mps fp32", "fp16 compile")


@pytest.fixture
def run_id(engine: sa.Engine, head: RunHead, workload: Workload, make_case: MakeCase) -> int:
    """A run with the CPU, the GPU in three ways, and what did not work."""
    number = store.begin_run(engine, head, [workload])
    gpu = make_case("mps", (5_000_000,) * 10)
    for case in (
        make_case("cpu", (20_000_000,) * 10),
        gpu,
        msgspec.structs.replace(gpu, precision=Precision.FP16, mode=Mode.COMPILE),
        msgspec.structs.replace(gpu, precision=Precision.BF16, fallback=True),
        msgspec.structs.replace(
            make_case("cuda", (), Outcome.NOT_RUN), reason=Reason.MEMORY_ESTIMATE, flags=("few_samples",)
        ),
        msgspec.structs.replace(make_case("mps", (20_000_000,) * 4), precision=Precision.FP16, flags=("few_samples",)),
    ):
        store.save_case(engine, number, case)
    return number


def test_the_table_has_median_interval_speed_up_and_outcome(
    engine: sa.Engine, run_id: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_run(engine, run_id)
    machine, heading, *rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert machine.startswith(f"Run {run_id}, 2026-11-30T12:00:00+00:00: Apple M4, 10 CPU cores, 10 GPU cores, 16 GiB")
    assert heading == "workload device precision median 95 % interval per second TFLOP/s over CPU outcome"
    cpu, cuda, gpu, compiled = (next(row for row in rows if f" {mark} " in row) for mark in MARKS)
    assert cpu == "toy-infer cpu fp32 2.00 ms 2.00 ms – 2.00 ms 4,000 images 1.00 ok"
    assert gpu == "toy-infer mps fp32 500 µs 500 µs – 500 µs 16,000 images 4.00 4.00 × ok"
    assert compiled.startswith("toy-infer mps fp16 compile 500 µs")
    assert cuda == "toy-infer cuda fp32 not_run (memory_estimate)"
    assert any(row.endswith("ok (partly on the CPU)") for row in rows)
    assert rows[-2].startswith("Intervals are within one process")
    assert rows[-1].startswith("A median without an interval")


def test_why_a_median_has_no_interval_is_said(
    engine: sa.Engine, head: RunHead, workload: Workload, make_case: MakeCase, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(precision: Precision, *blocks: int) -> Case:
        rounds = tuple(
            msgspec.structs.replace(make_case("mps", (block,) * 10).rounds[0], number=number)
            for number, block in enumerate(blocks)
        )
        flags = ("bimodal",) if len(blocks) > 2 else ()
        return msgspec.structs.replace(make_case("mps", (1,)), precision=precision, rounds=rounds, flags=flags)

    number = store.begin_run(engine, head, [workload])
    for case in (
        measured(Precision.FP32, 20_000_000, 20_000_000),
        measured(Precision.FP16, 20_000_000, 50_000_000, 20_000_000),
        *(measured(one, 1, 9, 1) for one in (Precision.BF16, Precision.AMP_FP16, Precision.AMP_BF16)),
    ):
        store.save_case(engine, number, case)
    report.show_run(engine, number)
    *_, apart, two = capsys.readouterr().out.splitlines()
    assert ": toy-infer on mps in amp_bf16, toy-infer on mps in amp_fp16, " in apart
    assert apart.endswith(" and 1 more.")
    assert two == "A median of two rounds has no interval: that takes three, or one alone."


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_keeps_workload_device_median_and_outcome(
    engine: sa.Engine, run_id: int, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = output.console

    def narrow(stderr: bool = False) -> Console:
        screen = real(stderr)
        screen.width = width
        return screen

    monkeypatch.setattr(output, "console", narrow)
    report.show_run(engine, run_id)
    lines = capsys.readouterr().out.splitlines()
    heading = next(line for line in lines if line.startswith("workload")).split()
    assert {"workload", "device", "median", "outcome"} <= set(heading)
    assert all(len(line) <= width for line in lines if line.startswith("toy-infer"))


def test_json_holds_the_run_and_its_rows(engine: sa.Engine, run_id: int, capsys: pytest.CaptureFixture[str]) -> None:
    report.show_run(engine, None, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["run"]["run_id"] == run_id
    assert len(found["results"]) == 6


def test_a_run_that_is_not_there_is_named_with_those_that_are(engine: sa.Engine, run_id: int) -> None:
    with pytest.raises(UsageProblem, match=rf"no run 99. The newest runs are: {run_id}\."):
        report.show_run(engine, 99)


def test_an_empty_database_says_how_to_begin(engine: sa.Engine) -> None:
    with pytest.raises(UsageProblem, match="metalmark run"):
        report.show_run(engine, None)


@pytest.fixture
def calibrated(engine: sa.Engine, head: RunHead, workload: Workload, make_case: MakeCase) -> int:
    """A run on an M4 with a product and a copy, each on the GPU once as it can be and once beyond it."""
    product = msgspec.structs.replace(workload, id="matmul-2048", flops_per_iteration=2 * 2048**3)
    copied = msgspec.structs.replace(workload, id="copy-bandwidth", flops_per_iteration=None, bytes_per_iteration=2**30)
    number = store.begin_run(engine, head, [product, copied])
    for name, device, precision, block in (
        ("matmul-2048", "mps", Precision.FP32, 50_000_000),  # ten in a block: 3.44 TFLOP/s
        ("matmul-2048", "mps", Precision.BF16, 50_000_000),
        ("matmul-2048", "cpu", Precision.FP32, 400_000_000),
        ("copy-bandwidth", "mps", Precision.FP32, 60_000_000),  # 179 GB/s of 120
        ("copy-bandwidth", "cpu", Precision.FP32, 200_000_000),
    ):
        case = msgspec.structs.replace(make_case(device, (block,) * 10), workload=name, precision=precision)
        store.save_case(engine, number, msgspec.structs.replace(case, device_chip="Apple M4"))
    return number


def test_calibrations_stand_beside_the_published_peaks_of_the_chip(
    engine: sa.Engine, calibrated: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_run(engine, calibrated)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    begins = lines.index("Beside the chip's published peak of the same precision:")
    assert lines[begins + 1 :] == [
        "workload device precision measured peak share",
        "copy-bandwidth cpu fp32 53.7 GB/s 120 GB/s 44.7 %",
        "copy-bandwidth mps fp32 179 GB/s 120 GB/s 149 %, beyond",
        "matmul-2048 mps fp32 3.44 TFLOP/s 4.26 TFLOP/s 80.7 %",
        "Beyond is more than a tenth above the peak: the time is wrong, or the peak.",
    ]


def test_shares_fit_in_eighty_columns(
    engine: sa.Engine, calibrated: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = output.console

    def narrow(stderr: bool = False) -> Console:
        screen = real(stderr)
        screen.width = 80
        return screen

    monkeypatch.setattr(output, "console", narrow)
    report.show_run(engine, calibrated)
    lines = capsys.readouterr().out.splitlines()
    told = lines[lines.index("Beside the chip's published peak of the same precision:") + 1 :]
    assert told[0].split() == ["workload", "device", "precision", "measured", "peak", "share"]
    assert max(map(len, told)) <= 80


def test_json_tells_rate_peak_and_share_with_their_source(
    engine: sa.Engine, calibrated: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_run(engine, calibrated, as_json=True)
    rows = json.loads(capsys.readouterr().out)["results"]
    found = {(row["workload"], row["device"], row["precision"]): row["calibration"] for row in rows}
    beyond = found["copy-bandwidth", "mps", "fp32"]
    assert (beyond["peak"], beyond["unit"], beyond["beyond"]) == (120, "GB/s", True)
    assert beyond["share"] == pytest.approx(beyond["rate"] / 120)
    assert beyond["source"].startswith("github:")
    unknown = found["matmul-2048", "mps", "bf16"]
    assert unknown["rate"] > 0
    assert [unknown[name] for name in ("peak", "share", "beyond", "source")] == [None] * 4


def test_without_a_known_peak_nothing_is_said_of_one(
    engine: sa.Engine, run_id: int, capsys: pytest.CaptureFixture[str]
) -> None:
    report.show_run(engine, run_id)
    assert "peak" not in capsys.readouterr().out
