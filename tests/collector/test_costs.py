"""What cases are thought to cost: compiled once, computed by the CPU once, and never more than the CPU may take."""

import msgspec
import pytest

from metalmark_collector import budget
from metalmark_collector.costs import Costs
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_db.words import Effort, Mode, Precision

CPU_S, GPU_S, COMPILING_S = 2.0, 0.1, 60.0


def costs(plan: Plan, **changes: object) -> Costs:
    """Two seconds an iteration on the CPU, a tenth of one on the GPU, a minute to compile."""
    found = Costs(plan, lambda case: CPU_S if case.device == "cpu" else GPU_S, lambda _: COMPILING_S)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def plan(name: str, *modes: Mode, precisions: tuple[Precision, ...] = (Precision.FP32,)) -> tuple[Plan, list[Planned]]:
    """A standard plan of one workload, and its cases on the GPU."""
    made = make_plan(Effort.STANDARD, ["cpu", "mps"], 1, only=[name], modes=modes, precisions=precisions)
    return made, list(made.cases["mps"])


def test_a_case_costs_its_iterations_its_comparison_and_the_cpus_result_once() -> None:
    made, (case,) = plan("resnet50-infer-b8", Mode.EAGER)
    found = costs(made)
    least = budget.least_s(GPU_S)
    assert found.need_s(case) == pytest.approx(least + GPU_S + CPU_S)
    assert [need for _, need in found.each([case] * 3)] == pytest.approx(
        [least + GPU_S + CPU_S, least + GPU_S, least + GPU_S]
    )
    assert found.need_s(case) == pytest.approx(least + GPU_S + CPU_S)  # looking ahead has changed nothing


def test_precisions_and_modes_share_the_cpus_result() -> None:
    made, cases = plan("resnet50-infer-b8", *Mode, precisions=(Precision.FP32, Precision.BF16))
    assert len(cases) == 4
    eager, *_ = [need for case, need in costs(made).each(cases) if case.mode is Mode.EAGER]
    later = [need for _, need in costs(made).each(cases)][1:]
    assert sum(need - eager > 0 for need in later) == 2  # the compiled ones alone
    assert costs(made).needs_s(cases) == pytest.approx(4 * budget.least_s(GPU_S) + 4 * GPU_S + CPU_S + 2 * COMPILING_S)


def test_a_compiled_case_finds_its_code_in_later_rounds() -> None:
    made, (case,) = plan("resnet50-infer-b8", Mode.COMPILE)
    first, second, third = (need for _, need in costs(made).each([case] * 3))
    assert first - second == pytest.approx(COMPILING_S * (1 - budget.COMPILED_BEFORE) + CPU_S)
    assert second == third


def test_a_training_is_compiled_without_its_dropout_once() -> None:
    made, (case,) = plan("bert-base-train-t128-b4", Mode.COMPILE)
    found = costs(made)
    first = found.check_s(case)
    found.tried(case)
    assert first - found.check_s(case) == pytest.approx(COMPILING_S / 2 + (13 / 3) * GPU_S + CPU_S)


def test_a_slow_cpu_compares_a_part_and_leaves_no_case_of_the_gpu_out() -> None:
    made, (case,) = plan("resnet50-train-b8", Mode.EAGER)
    slow = costs(made, iteration_s=lambda case: 3600.0 if case.device == "cpu" else GPU_S)
    assert slow.reference_s(case) == 3600  # what is told to the worker, which then takes a part
    assert slow.check_s(case) <= slow.reference_most_s + 10 * GPU_S
    slow.tried(case)
    assert slow.reference_s(case) == 3600  # kept or not
    assert slow.check_s(case) < 10 * GPU_S


def test_the_cpu_is_held_against_itself_in_fp32_eager_alone() -> None:
    made = make_plan(
        Effort.STANDARD, ["cpu"], 1, only=["resnet50-infer-b8"], modes=list(Mode), precisions=list(Precision)
    )
    found, whole = costs(made), budget.least_s(CPU_S)
    by = {(case.precision, case.mode): found.need_s(case) - found.compile_s(case) - whole for case in made.cases["cpu"]}
    own = 2 / 8 * (1 + 2) * CPU_S  # two of eight samples, and the same in float64
    assert by.pop((Precision.FP32, Mode.EAGER)) == pytest.approx(own)
    assert list(by.values()) == pytest.approx([CPU_S + CPU_S] * len(by))


def test_a_minute_of_work_is_reckoned_with_until_it_is_over() -> None:
    made = make_plan(Effort.FULL, ["mps"], 1, only=["vgg16-infer-b4", "matmul-2048"])
    cases = [case for case in made.cases["mps"] if case.precision is Precision.FP32 and case.mode is Mode.EAGER]
    found = costs(made)
    without = msgspec.structs.replace(made, sustained=frozenset())
    assert found.needs_s(cases * 5) - costs(without).needs_s(cases * 5) == pytest.approx(60.0)
    assert found.needs_s([]) == 0


def test_nothing_is_reckoned_for_a_comparison_that_is_not_made() -> None:
    made, (case,) = plan("resnet50-train-b8", Mode.EAGER)
    assert costs(made, compares=False).need_s(case) == pytest.approx(budget.least_s(GPU_S))


def test_a_training_is_seen_learning_once() -> None:
    made, (case,) = plan("resnet50-train-b8", Mode.EAGER)
    first, second = (need for _, need in costs(made).each([case] * 2))
    steps = budget.check_iterations(case.facts)
    assert first - second == pytest.approx((steps - 1) * GPU_S + CPU_S)
