"""Which workloads a run takes: by name and by pattern."""

import pytest

from metalmark_collector.efforts import ON_GPU
from metalmark_collector.plan import make_plan
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.errors import UsageProblem
from metalmark_db.words import Effort


def _taken(*only: str) -> list[str]:
    plan = make_plan(Effort.QUICK, ["cpu"], 1, only=only)
    return [case.workload for case in plan.cases["cpu"]]


def test_a_pattern_takes_every_workload_whose_name_fits_also_those_of_no_quick_run() -> None:
    assert set(_taken("alexnet-*")) == {"alexnet-infer-b1", "alexnet-infer-b32"}
    assert set(_taken("*")) == set(WORKLOADS) - set(ON_GPU)
    assert _taken("resnet?8-*-b32") == ["resnet18-infer-b32"]


def test_names_and_patterns_together_take_each_workload_once() -> None:
    assert _taken("matmul-2048", "mat*2", "matmul-2048") == ["matmul-2048", "matmul-512", "matmul-8192"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("bit*", "No workload's name fits 'bit*'. `metalmark workloads` lists what there is."),
        ("resnet50-infer", "There is no workload 'resnet50-infer'. Did you mean resnet50-infer-b8?"),
        ("xyz", "There is no workload 'xyz'. `metalmark workloads` lists"),
        ("", "There is no workload ''."),
        ("RESNET*", "No workload's name fits 'RESNET*'."),
        ("../resnet", "There is no workload '../resnet'."),
        ("[", "No workload's name fits '['."),
    ],
)
def test_what_fits_nothing_is_said_with_what_may_be_meant(wanted: str, said: str) -> None:
    with pytest.raises(UsageProblem) as refused:
        make_plan(Effort.QUICK, ["cpu"], 1, only=[wanted])
    assert str(refused.value).startswith(said)
