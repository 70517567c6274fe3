"""What a workload is to the engine: an entry with its facts, and the prepared work that it builds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from metalmark_db.errors import UsageProblem
from metalmark_db.record import Workload
from metalmark_db.words import Precision

from .. import settings
from ..devices.base import Device, Work

if TYPE_CHECKING:
    import torch

Size = Literal["real", "tiny"]
TINY_BATCH = 2

FP32: Mapping[str, tuple[Precision, ...]] = {
    "cpu": (Precision.FP32,),
    "mps": (Precision.FP32,),
    "cuda": (Precision.FP32,),
    "fake": (Precision.FP32,),
}


@dataclass(frozen=True)
class Job:
    """What is asked of a builder: where, in which precision, from which seed, and how big."""

    device: Device
    precision: Precision
    seed: int
    size: Size
    batch: int


@dataclass(frozen=True)
class Prepared:
    """A built workload, ready to be measured."""

    step: Work  # one iteration; reads nothing back and waits for nothing; gives a tensor on the device
    output: Work  # whole output of the fixed input, dropout off; call it before the first step of a training
    close: Callable[[], None]  # drops every reference, so that memory can be given back
    settings: Mapping[str, bool | str] = field(default_factory=dict)  # the switches that were set for it


@dataclass(frozen=True)
class Network:
    """A model and what it is fed, apart from batch, task and device."""

    model: Callable[[Size], torch.nn.Module]
    inputs: Callable[[Size, int, torch.Generator], torch.Tensor]  # size, batch, generator on the CPU


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One workload of the suite."""

    facts: Workload
    builder: Callable[[Job], Prepared]
    precisions: Mapping[str, tuple[Precision, ...]] = field(default_factory=lambda: FP32)  # by kind of device
    kept_bytes_per_sample: int  # what a training keeps of one sample for its backward pass; 0 for inference
    network: Network | None = None  # None for an operation
    optimizer: Literal["sgd", "adam"] = "sgd"  # which decides how many copies of the weights a training keeps

    def build(self, device: Device, precision: Precision, seed: int, size: Size = "real") -> Prepared:
        """The workload on ``device``, with every switch set; weights and inputs depend on ``seed`` alone."""
        if precision not in self.precisions.get(device.kind, ()):
            raise UsageProblem(
                f"{self.facts.id} is not measured in {precision} on {device.kind}. "
                "`metalmark workloads` lists the precisions of each workload."
            )
        switches = settings.apply(precision)
        batch = TINY_BATCH if size == "tiny" else self.facts.batch
        work = self.builder(Job(device=device, precision=precision, seed=seed, size=size, batch=batch))
        return replace(
            work,
            step=device.wrap(work.step, self.facts),
            output=device.wrap(work.output, self.facts),
            settings=switches,
        )


def described(builder: Callable[[Job], Prepared], **facts: Any) -> Workload:
    """The facts of a workload, its description being the builder's docstring."""
    return Workload(description=inspect.getdoc(builder) or "", **facts)
