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
