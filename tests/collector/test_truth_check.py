"""The check of a case: right devices pass, wrong ones are caught, and the record says how it was done."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from metalmark_collector import devices, truth
from metalmark_collector.devices.base import Work
from metalmark_collector.devices.fake import FakeDevice
from metalmark_collector.explain import explain
from metalmark_collector.truth.verdict import Degenerate
from metalmark_collector.workloads import FAMILIES, WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Prepared
from metalmark_collector.workloads.building import formats
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Truth, Workload
from metalmark_db.words import Mode, Precision, Task

RESNET, LENET, MATMUL, COPY = (
    WORKLOADS[name] for name in ("resnet18-infer-b32", "lenet5-train-b128", "matmul-2048", "copy-bandwidth")
)
Change = Callable[[torch.Tensor], torch.Tensor]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other: more threads than cores wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of references, as the workers of a run share it."""
    return tmp_path_factory.mktemp("truth")


@dataclass
class Lying(FakeDevice):
    """A device that changes its results: outputs by one rule, losses by another."""

    output: Change = lambda tensor: tensor
    loss: Callable[[torch.Tensor, int], torch.Tensor] = lambda loss, _step: loss
    steps: int = 0
    damaged_layer: int | None = None
    wrapped: list[Work] = field(default_factory=list)

    def wrap(self, work: Work, facts: Workload) -> Work:
        """The work with its result changed, or its model damaged before it."""

        def changed() -> torch.Tensor:
            if self.damaged_layer is not None:
                weights = getattr(work, "__self__").weights()  # noqa: B009 - a Work has no class of its own
                with torch.no_grad():
                    weights[self.damaged_layer % len(weights)].zero_()
            result = work()
            if result.dim():
                return self.output(result)
            self.steps += 1
            return self.loss(result, self.steps)

        return super().wrap(changed, facts)


def checked(
    entry: Entry, device: FakeDevice, folder: Path, precision: Precision = Precision.FP32
) -> tuple[Truth | None, str | None]:
    """The check at size tiny."""
    return truth.check_case(entry, entry.job(device, precision, 1, "tiny"), folder)


def caught(entry: Entry, device: FakeDevice, folder: Path) -> str:
    """What is said of a wrong device."""
    return str(checked(entry, device, folder)[1])


CASES = [(name, precision) for name, entry in WORKLOADS.items() for precision in entry.precisions["fake"]]


@pytest.mark.parametrize(("name", "precision"), CASES)
def test_a_right_device_passes_in_every_precision(name: str, precision: Precision, folder: Path) -> None:
    entry = WORKLOADS[name]
    found, wrong = checked(entry, FakeDevice(), folder, precision)
    assert wrong is None
    assert found is not None
    assert found.reference == "cpu fp32"
    assert found.tolerance == entry.tolerances[precision].output
    assert found.samples == (1 if entry.facts.task is Task.OPERATION else 2)
    assert (found.input_dependence is None) is (entry.facts.task is Task.OPERATION)
    if entry.facts.task is Task.TRAIN:
        assert found.losses is not None
        assert list(found.losses) == sorted(found.losses, reverse=True)
        assert len(found.losses) == 5
        assert found.loss_error is not None
        assert found.gradient_error is not None


# One variant of each family: those that differ in batch alone are the same tiny work.
FIRST = [variants[0].facts.id for variants in FAMILIES.values()]


@pytest.mark.parametrize("name", FIRST)
@pytest.mark.parametrize("place", [0, 0.5, -1])
def test_a_layer_that_computes_nothing_is_caught_in_every_workload(name: str, place: float, folder: Path) -> None:
    """The first, the middle and the last layer with weights, at five times the tolerance, also in half precision."""
    entry = WORKLOADS[name]
    count = len(entry.build(devices.make("cpu"), Precision.FP32, 1, "tiny").weights())
    if count == 0:
        assert entry.facts.task is Task.OPERATION
        return
    damaged = count // 2 if place == 0.5 else int(place)
    for precision in (Precision.FP32, entry.precisions["fake"][-1]):
        found, wrong = checked(entry, Lying(damaged_layer=damaged), folder, precision)
        assert wrong is not None
        assert found is not None
        assert found.error_norm >= 5 * found.tolerance


@pytest.mark.parametrize("name", FIRST)
def test_a_sample_that_is_missing_is_caught_in_every_workload(name: str, folder: Path) -> None:
    def without_last(output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[-1] = 0
        return output

    entry = WORKLOADS[name]
    found, wrong = checked(entry, Lying(output=without_last), folder)
    assert wrong is not None
    assert found is not None
    assert found.error_norm >= 5 * found.tolerance


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(1e-6, 10))
def test_an_error_is_caught_exactly_when_it_passes_the_tolerance(folder: Path, error: float) -> None:
    tolerance = RESNET.tolerances[Precision.FP32].output
    assume(abs(error - tolerance) > 0.01 * tolerance)
    found, wrong = checked(RESNET, FakeDevice(error=error), folder)
    assert (wrong is not None) is (error > tolerance)
    assert found is not None
    assert found.error_norm == pytest.approx(error, rel=0.01, abs=1e-6)


def test_one_number_that_is_far_off_is_caught_where_the_norm_hides_it(folder: Path) -> None:
    def spike(output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[3, 5] += 40 * MATMUL.tolerances[Precision.FP32].output * output.square().mean().sqrt()
        return output

    found, wrong = checked(MATMUL, Lying(output=spike), folder)
    assert found is not None
    assert found.error_norm < found.tolerance
    assert "One number of the output is off" in str(wrong)


def test_a_copy_has_to_be_exact(folder: Path) -> None:
    found, wrong = checked(COPY, FakeDevice(), folder)
    assert wrong is None
    assert found is not None
    assert found.error_max == 0
    assert "0 is allowed" in caught(COPY, FakeDevice(error=1e-6), folder)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_none_is_caught(bad: float, folder: Path) -> None:
    def spoilt(output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        output[0, 0] = bad
        return output

    found, wrong = checked(RESNET, Lying(output=spoilt), folder)
    assert found is None  # no norm to speak of
    assert wrong == "1 of the output's 20 numbers are NaN or infinite."


def test_an_output_of_another_shape_is_caught(folder: Path) -> None:
    assert "shape (2, 9), the CPU's has (2, 10)" in caught(RESNET, Lying(output=lambda output: output[:, :9]), folder)


def test_an_output_that_is_the_same_for_all_inputs_is_caught(folder: Path) -> None:
    device = Lying(output=lambda output: output[:1].expand_as(output))
    found, wrong = checked(RESNET, device, folder)
    assert wrong is not None
    assert found is not None
    assert found.input_dependence == 0


def test_a_workload_whose_output_proves_nothing_is_an_error(folder: Path) -> None:
    """That is the entry's fault and not the device's: the same constant everywhere would agree with itself."""

    def constant(job: Job) -> Prepared:
        output = torch.ones(job.batch, 10)
        return Prepared(step=lambda: output, output=lambda: output, close=lambda: None)

    entry = replace(RESNET, builder=constant, facts=replace_id(RESNET.facts, "constant-infer"))
    with pytest.raises(Degenerate, match="same for all inputs"):
        checked(entry, FakeDevice(), folder)


def replace_id(facts: Workload, name: str) -> Workload:
    """The facts under another id, so that another reference is asked for."""
    return Workload(**{key: getattr(facts, key) for key in facts.__struct_fields__} | {"id": name})


def test_a_loss_that_rises_is_caught(folder: Path) -> None:
    device = Lying(loss=lambda loss, step: loss + 0.8 * (step - 1))
    found, wrong = checked(LENET, device, folder)
    assert "The loss does not fall" in str(wrong)
    assert found is not None
    assert found.losses is not None
    assert found.losses[4] > found.losses[0]


def test_a_loss_that_is_lost_on_the_way_is_caught(folder: Path) -> None:
    device = Lying(loss=lambda loss, step: loss * math.nan if step == 3 else loss)
    found, wrong = checked(LENET, device, folder)
    assert wrong == "The loss is not finite after step 2."
    assert found is not None
    assert found.losses is not None
    assert len(found.losses) == 4


def test_a_wrong_first_loss_is_caught(folder: Path) -> None:
    device = Lying(loss=lambda loss, _step: loss * (1 + 1e-3))
    assert "first step's loss differs from the cpu fp32 result by 0.001" in caught(LENET, device, folder)


def test_the_cpu_is_held_against_double_precision_on_two_samples(folder: Path) -> None:
    """It would agree with itself in everything else."""
    for entry in (RESNET, LENET):
        job = replace(entry.job(devices.make("cpu"), Precision.FP32, 1, "tiny"), batch=5)
        found, wrong = truth.check_case(entry, job, folder)
        assert wrong is None
        assert found is not None
        assert (found.reference, found.samples) == ("cpu fp64", 2)
        assert 0 < found.error_norm < 1e-5
    wrong_cpu = FakeDevice(kind="cpu", error=1e-3)
    assert "cpu fp64" in caught(RESNET, wrong_cpu, folder)


@pytest.mark.parametrize("name", ["launch", "launch-chain-100", "item", "matmul-512"])
def test_an_operation_of_the_cpu_is_held_against_double_precision_too(name: str, folder: Path) -> None:
    """Single precision errs, so that no error at all would mean that it was held against itself."""
    found, wrong = truth.check_case(
        WORKLOADS[name], WORKLOADS[name].job(devices.make("cpu"), Precision.FP32, 1, "tiny"), folder
    )
    assert wrong is None
    assert found is not None
    assert found.reference == "cpu fp64"
    assert 0 < found.error_norm < found.tolerance


def test_the_cpus_other_precisions_are_held_against_its_single_precision(folder: Path) -> None:
    found, _ = truth.check_case(RESNET, RESNET.job(devices.make("cpu"), Precision.BF16, 1, "tiny"), folder)
    assert found is not None
    assert found.reference == "cpu fp32"


@pytest.mark.parametrize("entry", [RESNET, LENET])
def test_a_part_of_the_batch_is_compared_where_the_cpu_has_no_time(entry: Entry, tmp_path: Path) -> None:
    job = replace(entry.job(FakeDevice(), Precision.FP32, 1, "tiny"), batch=6)
    part, wrong = truth.check_case(entry, job, tmp_path, time_s=1, estimate_s=2)
    assert wrong is None
    assert part is not None
    assert part.samples == 3
    least, _ = truth.check_case(entry, job, tmp_path, time_s=0, estimate_s=2)
    assert least is not None
    assert least.samples == 2
    whole, _ = truth.check_case(entry, job, tmp_path, time_s=2, estimate_s=2)
    assert whole is not None
    assert whole.samples == 6
    kept, _ = truth.check_case(entry, job, tmp_path, time_s=0, estimate_s=2)
    assert kept is not None
    assert kept.samples == 6


def test_the_measured_work_is_what_is_checked_and_it_is_closed(folder: Path) -> None:
    """Nothing is built again on the device, and its memory is free for the CPU's result."""
    device = FakeDevice()
    job = RESNET.job(device, Precision.FP32, 1, "tiny")
    prepared = RESNET.prepare(job)
    before = device.iterations
    assert truth.check_case(RESNET, job, folder, prepared=prepared)[1] is None
    assert device.iterations == before + 1
    with pytest.raises(AttributeError):
        prepared.step()


def test_the_switches_of_the_case_are_set_again_after_the_cpu_had_its_own(tmp_path: Path) -> None:
    job = MATMUL.job(FakeDevice(), Precision.TF32, 1, "tiny")
    prepared = MATMUL.prepare(job)
    truth.check_case(MATMUL, job, tmp_path, prepared=prepared)
    assert torch.backends.cuda.matmul.allow_tf32 is True
    assert torch.get_float32_matmul_precision() == "high"
    MATMUL.build(FakeDevice(), Precision.FP32, 1, "tiny")


def test_autocast_that_this_torch_only_pretends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older MPS backend warns, goes on in single precision, and would be measured as half."""
    real = torch.autocast
    monkeypatch.setattr(torch, "autocast", lambda kind, dtype: real(kind, dtype=dtype, enabled=False))
    job = LENET.job(devices.make("cpu"), Precision.AMP_BF16, 1, "tiny")
    with pytest.raises(
        NotImplementedError, match=r"autocast to torch.bfloat16 on cpu: .* torch.float32 instead"
    ) as refused:
        formats.autocast(job)
    assert explain(f"NotImplementedError: {refused.value}").kind == "unsupported_op"


def test_an_operation_has_nothing_to_compile() -> None:
    with pytest.raises(UsageProblem, match="matmul-2048 is not measured in fp32, compile on cpu"):
        MATMUL.build(devices.make("cpu"), Precision.FP32, 1, "tiny", Mode.COMPILE)


def test_in_later_rounds_the_output_of_a_training_is_compared_without_its_steps(folder: Path) -> None:
    """Another process may choose other kernels: each is looked at, and a wrong one is caught."""
    for device, right in ((FakeDevice(), True), (Lying(output=lambda output: output * 1.5), False)):
        prepared = LENET.prepare(LENET.job(device, Precision.FP32, 1, "tiny"))
        before = device.iterations
        job = LENET.job(device, Precision.FP32, 1, "tiny")
        found, wrong = truth.check_case(LENET, job, folder, prepared=prepared, brief=True)
        assert (wrong is None) is right
        assert found is not None
        assert (found.losses, found.loss_error) == (None, None)
        assert device.iterations == before + 1


def test_what_would_have_to_be_compiled_anew_without_its_dropout_is_compared_in_the_first_round_only(
    folder: Path,
) -> None:
    device = FakeDevice()
    entry = WORKLOADS["bert-base-train-t128-b4"]
    job = entry.job(device, Precision.FP32, 1, "tiny", Mode.COMPILE)
    assert truth.check_case(entry, job, folder, prepared=entry.prepare(job), brief=True) == (None, None)
    assert device.iterations == 0
    found, wrong = truth.check_case(entry, replace(job, mode=Mode.EAGER), folder, brief=True)
    assert found is not None
    assert wrong is None
