"""The suite: complete, described, and doing real work at size tiny on the CPU."""

import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from metalmark_collector import devices, workloads
from metalmark_collector.devices.fake import FakeDevice
from metalmark_collector.workloads import FAMILIES, WORKLOADS
from metalmark_collector.workloads.base import Entry, Prepared
from metalmark_db.errors import UsageProblem
from metalmark_db.words import Precision, Task

# One variant of each family: those that differ in batch alone are the same tiny work.
FIRST = [variants[0].facts.id for variants in FAMILIES.values()]
TRAINED = [name for name in FIRST if WORKLOADS[name].facts.task is Task.TRAIN]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other: more threads than cores wait for one another, four times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def built(entry: Entry, seed: int = 1) -> Prepared:
    """The entry's tiny work on the CPU, dropout off."""
    return entry.prepare(replace(entry.job(devices.make("cpu"), Precision.FP32, seed, "tiny"), dropout=False))


@pytest.fixture(params=WORKLOADS)
def entry(request: pytest.FixtureRequest) -> Entry:
    """Every workload of the suite."""
    return WORKLOADS[request.param]


@pytest.fixture(params=FIRST)
def first(request: pytest.FixtureRequest) -> Entry:
    """One workload of each family."""
    return WORKLOADS[request.param]


def test_every_family_is_in_the_table() -> None:
    """Whatever module of the folder has entries is named in the table."""
    names = {path.stem for path in Path(workloads.__file__).parent.glob("*.py")} - {"__init__"}
    modules = [importlib.import_module(f"metalmark_collector.workloads.{name}") for name in sorted(names)]
    entries = [entry for module in modules for entry in getattr(module, "ENTRIES", ())]
    assert len(entries) == len(WORKLOADS) == 58
    assert {entry.facts.id for entry in entries} == set(WORKLOADS)


def test_every_workload_is_filed_under_its_own_id() -> None:
    assert [entry.facts.id for entry in WORKLOADS.values()] == list(WORKLOADS)
    assert all(re.fullmatch(r"[a-z0-9-]{2,60}", name) for name in WORKLOADS)


def test_no_two_workloads_share_a_title() -> None:
    titles = [entry.facts.title for entry in WORKLOADS.values()]
    assert len(set(titles)) == len(titles)


def test_a_family_shares_all_but_batch_and_shape(entry: Entry) -> None:
    """What a page says once of a family holds for each of its variants."""
    others = [one.facts for one in FAMILIES[entry.facts.family or ""]]
    for name in ("task", "source", "item", "model", "parameters", "loss", "optimizer", "description", "version"):
        assert len({getattr(facts, name) for facts in others}) == 1
    variants = [facts.variant for facts in others]
    assert len(set(variants)) == len(variants)
    assert (None not in variants) or len(variants) == 1
    for facts in others:
        assert facts.variant is None or facts.title.endswith(f", {facts.variant}")


def test_a_training_says_how_it_learns(entry: Entry) -> None:
    facts = entry.facts
    assert facts.model
    if facts.task is Task.TRAIN:
        assert facts.loss == "cross-entropy"
        assert re.match(r"(SGD|AdamW?), lr 0\.\d+", facts.optimizer or "")
        assert entry.copies == (3 if "SGD" in str(facts.optimizer) else 4)
    else:
        assert (facts.loss, facts.optimizer, entry.copies) == (None, None, 1)


@pytest.mark.parametrize("name", TRAINED)
def test_a_training_learns_as_its_facts_say(name: str) -> None:
    """The optimizer of the work is the one of the page, with the same settings."""
    entry = WORKLOADS[name]
    step: Any = entry.build(devices.make("cpu"), Precision.FP32, 1, "tiny").step
    optimizer = inspect.getclosurevars(step).nonlocals.get("optimizer") or step.__self__.optimizer
    kind, *settings = (entry.facts.optimizer or "").split(", ")
    assert type(optimizer).__name__ == kind
    for setting in settings:
        key, value = setting.rsplit(" ", 1) if " and " not in setting else setting.split(" ", 1)
        found = optimizer.defaults[key.replace(" ", "_")]
        if (name, key) == ("vgg16-bn-train-b32", "lr"):
            continue  # a tiny model has to move further
        assert found == (tuple(map(float, value.split(" and "))) if " and " in value else float(value)), setting


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
    tokens = int(facts.input_shape) if facts.item == "token" else 1
    assert facts.items_per_iteration == facts.batch * tokens
    assert facts.source
    overheads = ("launch", "launch-chain-100", "item")  # which are next to no work
    assert (facts.flops_per_iteration or facts.bytes_per_iteration) or facts.id in overheads


def test_single_precision_is_measured_on_every_device(entry: Entry) -> None:
    for kind in devices.DEVICES:
        assert entry.precisions[kind][0] is Precision.FP32


def test_inference_is_converted_and_training_uses_autocast(entry: Entry) -> None:
    measured = set(entry.precisions["mps"]) - {Precision.FP32}
    converted, autocast = {Precision.FP16, Precision.BF16}, {Precision.AMP_FP16, Precision.AMP_BF16}
    assert measured <= (autocast if entry.facts.task is Task.TRAIN else converted)
    assert measured or entry.facts.task is Task.OPERATION
    assert (Precision.TF32 in entry.precisions["cuda"]) is bool(measured)


def test_every_precision_has_a_tolerance_and_training_has_it_for_its_first_step(entry: Entry) -> None:
    assert set(entry.tolerances) == {one for kind in devices.DEVICES for one in entry.precisions[kind]}
    for tolerance in entry.tolerances.values():
        first_step = (tolerance.loss, tolerance.gradient)
        assert all(first_step) if entry.facts.task is Task.TRAIN else first_step == (None, None)


def test_a_precision_that_is_not_measured_is_refused(entry: Entry) -> None:
    with pytest.raises(UsageProblem, match=f"{entry.facts.id} is not measured in tf32, eager on cpu"):
        entry.build(devices.make("cpu"), Precision.TF32, seed=1, size="tiny")


def test_tiny_work_is_finite_and_not_degenerate(first: Entry) -> None:
    """The output has a size, and its samples differ as their inputs do."""
    prepared = built(first)
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


def test_the_seed_alone_decides_weights_and_inputs(first: Entry) -> None:
    one, same, other = (built(first, seed).output() for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.allclose(one, other)


def test_every_switch_is_recorded_with_the_work(first: Entry) -> None:
    assert built(first).settings["cuda.matmul.allow_tf32"] is False


def test_a_device_wraps_the_step_and_the_output(first: Entry) -> None:
    device = FakeDevice()
    prepared = first.build(device, Precision.FP32, seed=1, size="tiny")
    prepared.step()
    prepared.output()
    assert device.iterations == 2


def test_closed_work_holds_nothing(first: Entry) -> None:
    prepared = built(first)
    prepared.close()
    with pytest.raises(AttributeError):
        prepared.step()


@pytest.mark.parametrize("name", TRAINED)
def test_asking_a_training_for_its_output_changes_no_weight(name: str) -> None:
    """The logits stay the same, and the next step is the one that it would have been."""
    prepared = built(WORKLOADS[name])
    assert torch.equal(prepared.output(), prepared.output())
    assert torch.equal(prepared.step(), built(WORKLOADS[name]).step())


@pytest.mark.parametrize("name", TRAINED)
def test_dropout_is_off_only_where_it_is_asked_for(name: str) -> None:
    entry = WORKLOADS[name]
    timed = entry.build(devices.make("cpu"), Precision.FP32, 1, "tiny")
    has_dropout = name.startswith(("vgg16", "bert", "gpt"))
    assert torch.equal(timed.output(), timed.output()) is not has_dropout


@pytest.mark.parametrize("name", TRAINED)
def test_the_gradient_norm_is_that_of_the_first_step(name: str) -> None:
    """Scaling the loss for fp16 leaves no trace in it."""
    norms = []
    for precision in (Precision.FP32, Precision.AMP_FP16):
        job = WORKLOADS[name].job(devices.make("cpu"), precision, 1, "tiny")
        prepared = WORKLOADS[name].prepare(replace(job, dropout=False))
        prepared.step()
        assert prepared.gradient_norm is not None
        norms.append(prepared.gradient_norm())
    assert norms[0] > 0.01
    assert norms[1] == pytest.approx(norms[0], rel=2e-3)


def test_the_copy_arrives() -> None:
    entry = WORKLOADS["copy-bandwidth"]
    expected = torch.randn(2**14, generator=torch.Generator().manual_seed(2))
    assert torch.equal(built(entry).output(), expected)
    assert entry.facts.bytes_per_iteration == 2 * 512 * 2**20


def test_half_precision_stays_near_single_precision() -> None:
    entry = WORKLOADS["matmul-2048"]
    single, half = (
        entry.build(FakeDevice(), precision, seed=1, size="tiny").output()
        for precision in (Precision.FP32, Precision.FP16)
    )
    assert half.dtype is torch.float16
    assert float((half.float() - single).norm() / single.norm()) < 2e-3
