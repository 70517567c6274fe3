"""Families: what the variants of a workload share, said once, and the entries that differ in batch or shape."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from metalmark_db.plausible import Kind
from metalmark_db.record import Workload
from metalmark_db.words import Mode, Precision, Task

from .base import AUTOCAST, CONVERTED, Entry, Job, Network, Precisions, Prepared, Tolerance

PASSES = {Task.INFERENCE: 1, Task.TRAIN: 3}  # a backward pass is taken as two forward ones
LOSS = "cross-entropy"


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    """What a workload trains with: torch's class, its settings, and how many copies of the weights are in memory."""

    name: str
    settings: Mapping[str, float | tuple[float, float]]
    copies: int  # weights, gradients and what the optimizer keeps

    def __str__(self) -> str:
        """For people: SGD, lr 0.001, momentum 0.9."""
        return ", ".join([self.name, *(f"{name} {_plain(value)}" for name, value in self.settings.items())])


# The learning rate where a source names none: one at which every model's loss falls.
SGD = Optimizer(name="SGD", settings={"lr": 0.001, "momentum": 0.9}, copies=3)


class Builder(Protocol):
    """Makes the work of a family from its network."""

    def __call__(self, job: Job, network: Network) -> Prepared:
        """The work as ``job`` wants it."""
        ...


@dataclass(frozen=True, kw_only=True)
class Family:
    """A model with one task: its variants differ in batch and input, and have one page together."""

    name: str
    title: str
    source: str
    model: str  # library and name
    builder: Builder  # its docstring is the page's text
    tolerances: Mapping[Precision, Tolerance]
    optimizer: Optimizer | None = None  # None for inference
    item: str = "image"
    bound: Kind = Kind.CONVOLUTIONS
    parameters: int
    converted: Precisions = field(default_factory=lambda: CONVERTED)  # of inference

    @property
    def task(self) -> Task:
        """What is measured of the model."""
        return Task.INFERENCE if self.optimizer is None else Task.TRAIN

    @property
    def precisions(self) -> Precisions:
        """Inference converts weights and inputs, training keeps weights in single precision."""
        return self.converted if self.optimizer is None else AUTOCAST

    def variant(
        self,
        network: Network,
        *,
        batch: int,
        flops: int,
        input_shape: str,
        part: str = "",
        shape: str = "",
        kept: int = 0,
        items: int = 1,
        version: int = 1,
    ) -> Entry:
        """The family at one batch and one input.

        Args:
            network: the model and its input.
            batch: samples in one iteration.
            flops: floating-point operations of the forward pass of one sample.
            input_shape: of one sample.
            part: what stands for the input in the id, where there are several: ``t512`` for 512 tokens.
            shape: the same for people: ``512 tokens``.
            kept: bytes that a training keeps of one sample for its backward pass.
            items: of the throughput, in one sample.
            version: goes up when an iteration comes to cost something else, so that old results stay apart.
        """
        words = ", ".join(word for word in (shape, f"batch {batch}") if word)
        name = "-".join(word for word in (self.name, part, f"b{batch}") if word)
        facts = described(
            self.builder,
            id=name,
            version=version,
            family=self.name,
            variant=words,
            title=f"{self.title}, {words}",
            source=self.source,
            task=self.task,
            batch=batch,
            input_shape=input_shape,
            item=self.item,
            items_per_iteration=batch * items,
            flops_per_iteration=PASSES[self.task] * batch * flops,
            parameters=self.parameters,
            model=self.model,
            loss=None if self.optimizer is None else LOSS,
            optimizer=None if self.optimizer is None else str(self.optimizer),
        )
        return Entry(
            facts=facts,
            builder=functools.partial(self.builder, network=network),
            bound=self.bound,
            precisions=self.precisions,
            tolerances=self.tolerances,
            kept_bytes_per_sample=kept,
            network=network,
            copies=1 if self.optimizer is None else self.optimizer.copies,
        )


def operation(
    builder: Callable[[Job], Prepared],
    *,
    facts: dict[str, object],
    precisions: Precisions,
    tolerances: Mapping[Precision, Tolerance],
    bound: Kind = Kind.OPERATION,
    modes: tuple[Mode, ...] = (Mode.EAGER,),
) -> Entry:
    """A single operation, which has neither samples nor a model; most have nothing that could be compiled."""
    return Entry(
        facts=described(
            builder, **{"version": 1, "source": "metalmark", "task": Task.OPERATION, "batch": 1} | dict(facts)
        ),
        builder=builder,
        bound=bound,
        precisions=precisions,
        modes=modes,
        tolerances=tolerances,
        kept_bytes_per_sample=0,
    )


def _plain(value: float | tuple[float, float]) -> str:
    """Without an exponent, which the eye takes for a large number."""
    return " and ".join(map(_plain, value)) if isinstance(value, tuple) else format(Decimal(str(value)), "f")


def described(builder: Callable[..., Prepared], **facts: object) -> Workload:
    """The facts of a workload, its description being the builder's docstring."""
    told = builder.func if isinstance(builder, functools.partial) else builder
    return Workload(description=inspect.getdoc(told) or "", **facts)  # type: ignore[arg-type]  # msgspec checks them
