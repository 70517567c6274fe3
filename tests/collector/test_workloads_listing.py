"""`metalmark workloads` and the efforts: what the suite says of itself."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_collector import listing
from metalmark_collector.efforts import EFFORTS, Scope
from metalmark_collector.plan import Planned, make_plan
from metalmark_collector.workloads import WORKLOADS
from metalmark_db import store
from metalmark_db.engine import open_database
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Conditions, Machine, Round, RunHead, Software
from metalmark_db.words import Effort, Mode, Outcome, Precision


def test_the_quick_effort_names_workloads_of_the_suite_once() -> None:
    quick = EFFORTS[Effort.QUICK]
    assert set(quick.workloads) <= set(WORKLOADS)
    assert len(set(quick.workloads)) == len(quick.workloads) == 9
    assert (quick.rounds, quick.aimed_s, quick.limit_s) == (1, 90, 240)


@pytest.mark.parametrize("effort", list(Effort))
def test_an_effort_names_only_what_the_suite_has(effort: Effort) -> None:
    scope = EFFORTS[effort]
    asked = {**scope.beside_fp32, **scope.compiled, **dict.fromkeys(scope.sustained, ())}
    assert set(asked) <= set(scope.workloads) <= set(WORKLOADS)
    for name in scope.workloads:
        entry = WORKLOADS[name]
        assert set(scope.precisions(name, "cuda")) <= set(entry.precisions["cuda"])
        assert all(mode in entry.modes for one in Precision for mode in scope.modes(name, "cuda", one))


def test_a_full_run_measures_everything() -> None:
    assert set(EFFORTS[Effort.FULL].workloads) == set(WORKLOADS)


def test_the_standard_effort_has_what_its_row_of_the_table_says() -> None:
    """ResNet-50 and BERT train and infer, three models more at two batches, GPT, a language model, calibration."""
    standard = set(EFFORTS[Effort.STANDARD].workloads) - set(EFFORTS[Effort.QUICK].workloads)
    models = {
        *(f"{family}-b{batch}" for family, batch in (("resnet50-train", 32), ("resnet50-infer", 32))),
        *(f"bert-base-{task}-t128-b16" for task in ("train", "infer")),
        *(f"{name}-infer-b{batch}" for name in ("vgg16", "vit-b16", "efficientnet-b0") for batch in (16, 32)),
        "gpt-baby-train-b16",
        "llama-1b-prefill-t512-b1",
        "llama-1b-decode-t512-b1",
    }
    calibration = {"matmul-512", "matmul-1024", "matmul-4096", "launch", "launch-chain-100", "item"}
    assert standard == models | calibration


def test_the_language_model_is_measured_in_half_precision_on_a_gpu_alone() -> None:
    plan = make_plan(Effort.STANDARD, ["cpu", "mps"], 1)
    for name in ("llama-1b-prefill-t512-b1", "llama-1b-decode-t512-b1"):
        cases = [case for each in plan.cases.values() for case in each if case.workload == name]
        assert [(case.device, case.precision) for case in cases] == [("mps", Precision.FP16)]
    by_name = make_plan(Effort.QUICK, ["cpu"], 1, only=["llama*"], precisions=[Precision.FP32])
    assert by_name.count == 2
    with pytest.raises(UsageProblem, match="Nothing is left to measure"):
        make_plan(Effort.QUICK, ["cpu"], 1, only=["llama*"])


def test_four_workloads_are_compiled_in_a_standard_run() -> None:
    cases = make_plan(Effort.STANDARD, ["cpu", "mps"], 1).cases["mps"]
    compiled = {(case.workload, case.precision) for case in cases if case.mode is Mode.COMPILE}
    names = ("resnet50-train-b32", "bert-base-train-t128-b16", "vit-b16-infer-b32", "gpt-baby-train-b16")
    assert compiled == {(name, Precision.FP32) for name in names}


def test_longer_efforts_have_more_rounds_and_more_cases() -> None:
    quick, standard, full = (EFFORTS[effort] for effort in (Effort.QUICK, Effort.STANDARD, Effort.FULL))
    assert (quick.rounds, standard.rounds, full.rounds) == (1, 3, 5)
    assert set(quick.workloads) <= set(standard.workloads) <= set(full.workloads)
    assert (standard.aimed_s, full.aimed_s, full.sustain_s) == (900, 3600, 60.0)
    assert len(full.sustained) == 6


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_standard_run_has_at_most_eighty_cases(device: str) -> None:
    assert 30 <= make_plan(Effort.STANDARD, ["cpu", device], 1).count <= 80


def test_the_six_headline_cases_are_sustained_on_the_gpu_in_single_precision() -> None:
    plan = make_plan(Effort.FULL, ["cpu", "mps"], 1)
    assert {(case.device, case.precision, case.mode) for case in plan.sustained} == {("mps", "fp32", "eager")}
    assert {case.workload for case in plan.sustained} == set(EFFORTS[Effort.FULL].sustained)
    assert len(make_plan(Effort.FULL, ["cpu"], 1).sustained) == 6
    assert not make_plan(Effort.STANDARD, ["cpu", "mps"], 1).sustained


M1 = Machine(vendor="apple", arch="arm64", chip="Apple M1", cpu_cores=8, gpu_cores=8, memory_bytes=16 * 2**30)


def _listed(capsys: pytest.CaptureFixture[str], *patterns: str, engine: sa.Engine | None = None) -> Any:
    listing.show_suite(engine, M1, patterns, as_json=True)
    return json.loads(capsys.readouterr().out)


def test_the_list_has_every_workload_with_its_size(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    listing.show_suite(None, M1, ())
    text = capsys.readouterr().out
    assert all(name in text for name in WORKLOADS)
    for part in ("25,557,032", "tf32 (CUDA)", "Raschka 2022", "on cpu", "on mps", "quick and up", "58 of 58 workloads"):
        assert part in text
    (line,) = (line for line in text.splitlines() if line.startswith("bert-base-train-t128-b64"))
    assert "10.1 GiB" in line  # 1.25 x (3 x 4 x 109.5 million + 64 x 114.5 million bytes)


def test_the_json_list_has_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    rows = _listed(capsys)
    assert [row["id"] for row in rows] == list(WORKLOADS)
    product = next(row for row in rows if row["id"] == "matmul-2048")
    assert product["flops_per_iteration"] == 2 * 2048**3
    assert product["efforts"] == ["quick", "standard", "full"]
    usual = ["fp32", "fp16", "bf16"]
    assert product["precisions"] == {"cpu": usual, "mps": usual, "cuda": ["fp32", "tf32", "fp16", "bf16"]}
    assert product["modes"] == ["eager"]
    assert product["tolerances"]["fp32"] == 1e-4
    trained = next(row for row in rows if row["id"] == "resnet50-train-b128")
    assert (trained["family"], trained["variant"]) == ("resnet50-train", "batch 128")
    assert trained["memory_bytes"] == pytest.approx(1.25 * (3 * 4 * 25_557_032 + 128 * 85_913_512))
    assert set(trained["iteration_s"]) == {"cpu", "mps"}
    assert trained["iteration_s"]["cpu"] > trained["iteration_s"]["mps"] > 0
    assert trained["estimated_from_run"] is None


def test_patterns_choose_what_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["id"] for row in _listed(capsys, "alexnet*", "item", "alexnet-infer-b1")] == [
        "alexnet-infer-b1",
        "alexnet-infer-b32",
        "item",
    ]
    with pytest.raises(UsageProblem, match="No workload's name fits 'bit\\*'"):
        _listed(capsys, "bit*")


def test_times_come_from_what_this_machine_has_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    engine = open_database(str(tmp_path / "runs.sqlite"))
    head = RunHead(
        started_at="2026-11-01T00:00:00+00:00",
        effort=Effort.QUICK,
        seed=1,
        machine=M1,
        software=Software(),
        conditions_before=Conditions(),
    )
    number = store.begin_run(engine, head, [WORKLOADS["matmul-2048"].facts])
    case = Planned(workload="matmul-2048", device="cpu", precision=Precision.FP32).ended(Outcome.OK)
    rounds = (Round(number=0, iterations=1, block_ns=(21_000_000,) * 6),)
    store.save_case(engine, number, msgspec.structs.replace(case, rounds=rounds))
    store.finish_run(engine, number, Conditions(), finished=True)
    (row,) = _listed(capsys, "matmul-2048", engine=engine)
    assert row["iteration_s"]["cpu"] == pytest.approx(0.021)
    assert row["estimated_from_run"] == number


def test_listing_makes_no_database(tmp_path: Path) -> None:
    missing = tmp_path / "none.sqlite"
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=False)
    environment = {**os.environ, "METALMARK_DB": str(missing)}
    command = [sys.executable, "-c", "from metalmark_db.cli import main; main()", "workloads", "lenet*", "--json"]
    ended = run(command, env=environment)
    assert json.loads(ended.stdout)[0]["id"] == "lenet5-train-b128"
    assert not missing.exists()
    named = run([*command, "--db", str(missing)])
    assert named.returncode != 0
    assert "There is no database" in named.stderr


def test_the_quick_effort_measures_fp32_and_one_product_in_half_precision_on_a_gpu() -> None:
    quick = EFFORTS[Effort.QUICK]
    for name in quick.workloads:
        assert quick.precisions(name, "cpu") == (Precision.FP32,)
        half = (Precision.FP16,) if name == "matmul-2048" else ()
        assert quick.precisions(name, "mps") == quick.precisions(name, "cuda") == (Precision.FP32, *half)
        assert quick.modes(name, "cuda", Precision.FP32) == (Mode.EAGER,)


def test_an_effort_can_have_workloads_compiled_on_a_gpu() -> None:
    scope = Scope(rounds=3, aimed_s=1, limit_s=1, workloads=("a", "b"), compiled={"b": (Precision.FP32,)})
    for name, device, precision in (("a", "mps", "fp32"), ("b", "cpu", "fp32"), ("b", "mps", "bf16")):
        assert scope.modes(name, device, Precision(precision)) == (Mode.EAGER,)
    assert scope.modes("b", "mps", Precision.FP32) == (Mode.EAGER, Mode.COMPILE)


def test_listing_imports_no_torch() -> None:
    code = (
        "import sys; from metalmark_collector.commands.workloads import workloads; workloads(as_json=True);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
