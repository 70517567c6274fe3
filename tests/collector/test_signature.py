"""The work signature: one for all variants of a network, another one as soon as the code does other work."""

import functools
import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch
from torch import nn

from metalmark_collector import devices, sitting, state
from metalmark_collector.clock import SystemClock
from metalmark_collector.laps import SIGNING
from metalmark_collector.messages import Task
from metalmark_collector.perform import perform
from metalmark_collector.plan import make_plan
from metalmark_collector.progress import with_earlier_rounds
from metalmark_collector.signature import count, signature
from metalmark_collector.watch import watcher
from metalmark_collector.workloads import FAMILIES, WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Prepared, Size
from metalmark_db import store
from metalmark_db.engine import open_database
from metalmark_db.record import Signature
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason
from metalmark_db.words import Task as Kind

PASSES = {Kind.INFERENCE: 1, Kind.TRAIN: 3}
LENET = WORKLOADS["lenet5-train-b128"]


def _job(entry: Entry, size: Size = "real") -> Job:
    return entry.job(devices.make("cpu"), Precision.FP32, 1, size)


def _counted(name: str) -> Signature:
    return count(WORKLOADS[name], _job(WORKLOADS[name]))


def _with(model: Callable[[Size], nn.Module]) -> Entry:
    assert LENET.network is not None
    return replace(LENET, network=replace(LENET.network, model=model))


def _but_digest(found: Signature) -> tuple[int, int, int]:
    return found.parameters, found.forward_flops, found.calls


@pytest.mark.parametrize("name", [family[0].facts.id for family in FAMILIES.values() if family[0].network])
def test_it_agrees_with_what_is_written_of_the_model(name: str) -> None:
    """The largest model takes four gigabytes; counting it allocates nothing of that."""
    facts, found = WORKLOADS[name].facts, _counted(name)
    assert found.parameters == facts.parameters
    assert found.forward_flops * facts.batch * PASSES[facts.task] == facts.flops_per_iteration
    assert found.calls > 0


def test_variants_of_a_network_share_it_and_other_inputs_and_models_do_not() -> None:
    resnet50 = _counted("resnet50-train-b8")
    assert resnet50 == _counted("resnet50-infer-b128")
    assert resnet50.digest != _counted("resnet18-infer-b1").digest
    small, large = _counted("efficientnet-b4-infer-s224-b1"), _counted("efficientnet-b4-infer-s320-b32")
    assert small.digest == large.digest  # the same calls ...
    assert small.forward_flops < large.forward_flops  # ... on larger images


@pytest.mark.parametrize(
    ("name", "flops", "calls"),
    [
        ("matmul-1024", 2 * 1024**3, {"aten::mm.out": 1}),
        ("launch", 0, {"aten::add.out": 1}),
        ("launch-chain-100", 0, {"aten::add.out": 100}),
        ("copy-to-device", 0, {"aten::copy_": 1}),
        ("copy-from-device", 0, {"aten::copy_": 1}),  # its target is in the computer's memory
        ("item", 0, {"aten::_local_scalar_dense": 1, "aten::add.out": 1, "aten::select.int": 2}),  # the read ends it
    ],
)
def test_a_step_of_an_operation_is_counted_as_far_as_it_reads_nothing(
    name: str, flops: int, calls: dict[str, int]
) -> None:
    told = "".join(f"{call} {times}\n" for call, times in calls.items())
    assert _counted(name) == Signature(
        parameters=0,
        forward_flops=flops,
        calls=sum(calls.values()),
        digest=hashlib.sha256(told.encode()).hexdigest()[:16],
    )


def test_a_library_that_puts_in_an_activation_is_noticed() -> None:
    """Its parameters and FLOPs stay what they were."""
    assert LENET.network is not None
    build = LENET.network.model
    before, after = (
        count(one, _job(one)) for one in (LENET, _with(lambda size: nn.Sequential(build(size), nn.ReLU())))
    )
    assert (after.parameters, after.forward_flops) == (before.parameters, before.forward_flops)
    assert after.calls == before.calls + 1
    assert after.digest != before.digest


def test_one_activation_in_place_of_another_is_noticed() -> None:
    """As many calls, of other operations."""
    first, second = _with(lambda _: nn.Sequential(nn.ReLU())), _with(lambda _: nn.Sequential(nn.Tanh()))
    before, after = count(first, _job(first)), count(second, _job(second))
    assert _but_digest(before) == _but_digest(after)
    assert before.digest != after.digest


class Cut(nn.Module):
    """A part of the input, and what is done with it."""

    def __init__(self, part: tuple[slice, ...], _: Size) -> None:
        super().__init__()
        self.part = part

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Twice that part."""
        return inputs[self.part] * 2


def test_an_index_that_leaves_nothing_out_is_no_work() -> None:
    """Versions of torch differ in what they call for it; any other part counts."""
    every, some = slice(None), slice(4)
    parts: list[tuple[slice, ...]] = [(every,), (every, every), (every, every, some), (every, every, some, some)]
    found = [_with(functools.partial(Cut, part)) for part in parts]
    assert [count(entry, _job(entry)).calls for entry in found] == [1, 1, 2, 3]


def test_nothing_of_the_process_is_changed() -> None:
    """A model that draws, seeds and reads the generator of all is no reason for other numbers afterwards."""

    def model(size: Size) -> nn.Module:
        torch.manual_seed(7)
        torch.randn(3, device="cpu")
        assert LENET.network is not None
        return LENET.network.model(size)

    device, drawing = devices.make("cpu"), torch.get_rng_state()
    before = state.snapshot(device)
    count(_with(model), _job(LENET))
    assert state.changed(before, state.snapshot(device)) == ()
    assert torch.equal(torch.get_rng_state(), drawing)
    assert nn.Linear(2, 2).weight.device.type == "cpu"
    assert threading.active_count() == len(before["live threads"])


def test_it_is_kept_for_the_workers_and_cases_that_come_later(tmp_path: Path) -> None:
    built = []

    def model(size: Size) -> nn.Module:
        built.append(size)
        assert LENET.network is not None
        return LENET.network.model(size)

    entry = _with(model)
    first = signature(entry, _job(entry), tmp_path)
    other = replace(_job(entry), precision=Precision.AMP_BF16, mode=Mode.COMPILE, device=devices.make("fake"))
    assert first is not None
    assert signature(entry, other, tmp_path) == first
    assert built == ["real"]
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-5])  # a worker that was ended, on a file system that keeps parts
    assert signature(entry, _job(entry), tmp_path) == first
    assert built == ["real"] * 2


def test_variants_read_one_file_and_sizes_do_not(tmp_path: Path) -> None:
    for name in ("resnet50-infer-b8", "resnet50-train-b128"):
        signature(WORKLOADS[name], _job(WORKLOADS[name]), tmp_path)
    signature(WORKLOADS["resnet50-infer-b8"], _job(WORKLOADS["resnet50-infer-b8"], "tiny"), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "resnet50-infer-b1-real.signature.json",
        "resnet50-infer-b1-tiny.signature.json",
    ]


class Reading(nn.Module):
    """A model that looks at its own numbers."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Twice the input, where it is positive."""
        return inputs * 2 if inputs.sum().item() > 0 else inputs


def test_what_cannot_be_counted_costs_no_case(tmp_path: Path) -> None:
    def broken(_: Size) -> nn.Module:
        raise RecursionError

    for model in (broken, lambda _: Reading()):
        entry = _with(model)
        assert signature(entry, _job(entry), tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_an_operation_that_does_not_know_this_device_is_not_counted(tmp_path: Path) -> None:
    def builder(job: Job) -> Prepared:
        work = (lambda: torch.ones(1)) if job.device.kind == "cpu" else None
        assert work is not None
        return Prepared(step=work, output=work, close=lambda: None)

    entry = replace(WORKLOADS["launch"], builder=builder)
    assert signature(entry, _job(entry), tmp_path) is None


def test_a_case_says_it_and_what_counting_it_took(tmp_path: Path) -> None:
    task = Task(
        workload="lenet5-train-b128",
        precision=Precision.FP32,
        seed=1,
        round_number=0,
        share_s=1.0,
        size="tiny",
        references=str(tmp_path),
    )
    done = perform(task, devices.make("cpu"), SystemClock(), lambda _: None)
    assert done.outcome is Outcome.OK
    assert done.signature == count(LENET, _job(LENET, "tiny"))
    assert done.changed == ()
    assert done.spent_s[SIGNING] > 0


def test_a_run_stores_it_and_counts_it_once_for_all_rounds_and_variants(tmp_path: Path) -> None:
    """Real workers, one for each of two rounds; the second reads what the first has counted."""
    names = ["mlp-train-b128", "launch", "resnet18-infer-b1", "resnet18-infer-b32"]
    plan = make_plan(Effort.FULL, ["cpu"], 1, only=names, precisions=[Precision.FP32])
    plan = msgspec.structs.replace(plan, rounds=2, aimed_s=10.0)
    engine = open_database(str(tmp_path / "m.sqlite"))
    with watcher(plan) as lines:
        ended = sitting.sit(engine, sitting.Request(size="tiny"), plan, lines)
    stored = store.load_cases(engine, ended.run_id)
    assert {case.workload: case.signature for case in stored} == {
        name: count(WORKLOADS[name], _job(WORKLOADS[name], "tiny")) for name in names
    }
    assert all(len(case.rounds) == 2 for case in stored)
    assert ended.spent_s[SIGNING] > 0


def test_a_round_that_could_not_count_it_takes_nothing_away() -> None:
    (planned,) = make_plan(Effort.QUICK, ["cpu"], 1, only=["matmul-2048"]).cases["cpu"]
    ok, signed = planned.ended(Outcome.OK), Signature(parameters=0, forward_flops=1, calls=1, digest="0" * 16)
    counted = msgspec.structs.replace(ok, signature=signed)
    for earlier, later in ((counted, ok), (ok, counted), (planned.ended(Outcome.NOT_RUN, Reason.BUDGET), counted)):
        assert with_earlier_rounds(earlier, later).signature == signed
