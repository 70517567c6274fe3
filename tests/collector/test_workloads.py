"""The suite: complete, described, and doing real work at size tiny on the CPU."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from metalmark_collector import devices, workloads
from metalmark_collector.devices.fake import FakeDevice
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry, Prepared
from metalmark_db.errors import UsageProblem
from metalmark_db.words import Precision, Task

TRAINED = [name for name, entry in WORKLOADS.items() if entry.facts.task is Task.TRAIN]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other: more threads than cores wait for one another, four times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def built(entry: Entry, seed: int = 1) -> Prepared:
    """The entry's tiny work on the CPU."""
    return entry.build(devices.make("cpu"), Precision.FP32, seed, "tiny")


@pytest.fixture(params=WORKLOADS)
def entry(request: pytest.FixtureRequest) -> Entry:
    """Every workload of the suite."""
    return WORKLOADS[request.param]


def test_every_family_is_in_the_table() -> None:
    folder = Path(workloads.__file__).parent
    families = {path.stem for path in folder.glob("*.py")} - {"__init__", "base"}
    described = {entry.builder.__module__.rpartition(".")[2] for entry in WORKLOADS.values()}
    assert families == described


def test_every_workload_is_filed_under_its_own_id() -> None:
    assert [entry.facts.id for entry in WORKLOADS.values()] == list(WORKLOADS)
    assert all(re.fullmatch(r"[a-z0-9-]{2,60}", name) for name in WORKLOADS)


def test_no_two_workloads_share_a_title() -> None:
    titles = [entry.facts.title for entry in WORKLOADS.values()]
    assert len(set(titles)) == len(titles)


def test_an_unknown_workload_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageProblem, match=r"no workload 'alexnet'.*lenet5-train-b128"):
        workloads.entry("alexnet")
    assert workloads.entry("matmul-2048") is WORKLOADS["matmul-2048"]


def test_looking_a_workload_up_imports_no_torch() -> None:
    code = (
        "import sys; from metalmark_collector.workloads import WORKLOADS; assert len(WORKLOADS) > 5;"
        "assert not {'torch', 'torchvision', 'transformers', 'timm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_description_makes_a_page(entry: Entry) -> None:
    """A first line that says what it is, then where it comes from: two to seven sentences of Markdown."""
    first, blank, *rest = entry.facts.description.splitlines()
    assert first.endswith(".")
    assert blank == ""
    sentences = re.findall(r"[.:](?:\s|$)", " ".join([first, *rest]))
    assert 2 <= len(sentences) <= 7
    assert all(line == line.strip() for line in rest)


def test_items_are_what_one_iteration_handles(entry: Entry) -> None:
    facts = entry.facts
    assert facts.items_per_iteration == facts.batch
    assert facts.source
    assert facts.flops_per_iteration or facts.bytes_per_iteration


def test_single_precision_is_measured_on_every_device(entry: Entry) -> None:
    for kind in devices.DEVICES:
        assert Precision.FP32 in entry.precisions[kind]
    assert entry.precisions["cpu"] == (Precision.FP32,)


def test_a_precision_that_is_not_measured_is_refused(entry: Entry) -> None:
    with pytest.raises(UsageProblem, match=f"{entry.facts.id} is not measured in bf16 on cpu"):
        entry.build(devices.make("cpu"), Precision.BF16, seed=1, size="tiny")


def test_tiny_work_is_finite_and_not_degenerate(entry: Entry) -> None:
    """The output has a size, and its samples differ as their inputs do."""
    prepared = built(entry)
    output = prepared.output()
    samples = output.reshape(2, -1)
    assert torch.isfinite(output).all()
    assert output.square().mean().sqrt() > 1e-3
    assert (samples[0] - samples[1]).norm() / samples[0].norm() > 0.05
    assert torch.isfinite(prepared.step()).all()


def test_building_and_running_prints_nothing(entry: Entry, capfd: pytest.CaptureFixture[str]) -> None:
    prepared = built(entry)
    prepared.step()
    prepared.output()
    assert capfd.readouterr() == ("", "")


def test_the_seed_alone_decides_weights_and_inputs(entry: Entry) -> None:
    first, second, other = (built(entry, seed).output() for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.allclose(first, other)


def test_every_switch_is_recorded_with_the_work(entry: Entry) -> None:
    assert built(entry).settings["cuda.matmul.allow_tf32"] is False


def test_a_device_wraps_the_step_and_the_output(entry: Entry) -> None:
    device = FakeDevice()
    prepared = entry.build(device, Precision.FP32, seed=1, size="tiny")
    prepared.step()
    prepared.output()
    assert device.iterations == 2


def test_closed_work_holds_nothing(entry: Entry) -> None:
    prepared = built(entry)
    prepared.close()
    with pytest.raises(AttributeError):
        prepared.step()


@pytest.mark.parametrize("name", TRAINED)
def test_asking_a_training_for_its_output_changes_nothing(name: str) -> None:
    """Dropout is off for the output and on again for the next step, and no statistic moves."""
    prepared = built(WORKLOADS[name])
    assert torch.equal(prepared.output(), prepared.output())
    torch.manual_seed(0)
    after = prepared.step()
    again = built(WORKLOADS[name])
    torch.manual_seed(0)
    assert torch.equal(after, again.step())


def test_the_copy_arrives() -> None:
    entry = WORKLOADS["copy-bandwidth"]
    expected = torch.randn(2**14, generator=torch.Generator().manual_seed(2))
    assert torch.equal(built(entry).output(), expected)
    assert entry.facts.bytes_per_iteration == 2 * 512 * 2**20


def test_a_gpu_multiplies_in_half_precision_too() -> None:
    entry = WORKLOADS["matmul-2048"]
    assert all(Precision.FP16 in entry.precisions[kind] for kind in ("mps", "cuda"))
    single, half = (
        entry.build(FakeDevice(), precision, seed=1, size="tiny").output()
        for precision in (Precision.FP32, Precision.FP16)
    )
    assert half.dtype is torch.float16
    assert float((half.float() - single).norm() / single.norm()) < 2e-3
