"""`metalmark workloads` and the efforts: what the suite says of itself."""

import json
import subprocess
import sys

import pytest

from metalmark_collector.commands.workloads import workloads
from metalmark_collector.efforts import EFFORTS, Scope
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.errors import UsageProblem
from metalmark_db.words import Effort, Mode, Precision


def test_the_quick_effort_names_workloads_of_the_suite_once() -> None:
    quick = EFFORTS[Effort.QUICK]
    assert set(quick.workloads) <= set(WORKLOADS)
    assert len(set(quick.workloads)) == len(quick.workloads) == 9
    assert (quick.rounds, quick.aimed_s, quick.limit_s) == (1, 90, 240)


@pytest.mark.parametrize("effort", [Effort.STANDARD, Effort.FULL])
def test_an_effort_that_does_not_exist_yet_says_so(effort: Effort) -> None:
    with pytest.raises(UsageProblem, match=r"comes with a later version.*quick"):
        EFFORTS[effort]


def test_the_list_has_every_workload_with_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    workloads()
    text = capsys.readouterr().out
    assert all(name in text for name in WORKLOADS)
    assert "25,557,032" in text
    assert "tf32 (CUDA)" in text
    assert "Raschka 2022" in text


def test_the_json_list_has_every_fact(capsys: pytest.CaptureFixture[str]) -> None:
    workloads(as_json=True)
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == list(WORKLOADS)
    product = next(row for row in rows if row["id"] == "matmul-2048")
    assert product["flops_per_iteration"] == 2 * 2048**3
    assert product["efforts"] == ["quick"]
    usual = ["fp32", "fp16", "bf16"]
    assert product["precisions"] == {"cpu": usual, "mps": usual, "cuda": ["fp32", "tf32", "fp16", "bf16"]}


def test_the_quick_effort_measures_fp32_and_one_product_in_half_precision_on_a_gpu() -> None:
    quick = EFFORTS[Effort.QUICK]
    for name in quick.workloads:
        assert quick.precisions(name, "cpu") == (Precision.FP32,)
        half = (Precision.FP16,) if name == "matmul-2048" else ()
        assert quick.precisions(name, "mps") == quick.precisions(name, "cuda") == (Precision.FP32, *half)
        assert quick.modes(name, "cuda") == (Mode.EAGER,)


def test_an_effort_can_have_workloads_compiled_on_a_gpu() -> None:
    scope = Scope(rounds=3, aimed_s=1, limit_s=1, workloads=("a", "b"), compiled=("b",))
    assert scope.modes("a", "mps") == scope.modes("b", "cpu") == (Mode.EAGER,)
    assert scope.modes("b", "mps") == (Mode.EAGER, Mode.COMPILE)


def test_listing_imports_no_torch() -> None:
    code = (
        "import sys; from metalmark_collector.commands.workloads import workloads; workloads();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
