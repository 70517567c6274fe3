"""What a workload is to the engine: an entry with its facts, and the prepared work that it builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from metalmark_db.errors import UsageProblem
from metalmark_db.plausible import Kind
from metalmark_db.record import Workload
from metalmark_db.words import Mode, Precision

from .. import settings
from ..devices.base import Device, Work

if TYPE_CHECKING:
    import torch

Size = Literal["real", "tiny"]
TINY_BATCH = 2
Precisions = Mapping[str, tuple[Precision, ...]]  # by kind of device

_CONVERTED = (Precision.FP32, Precision.FP16, Precision.BF16)
_AUTOCAST = (Precision.FP32, Precision.AMP_FP16, Precision.AMP_BF16)


def _everywhere(*usual: Precision) -> Precisions:
    """The usual precisions, and TF32 on the one backend that has it."""
    with_tf32 = (Precision.FP32, Precision.TF32, *usual[1:])
    return {"cpu": usual, "mps": usual, "cuda": with_tf32, "fake": with_tf32}


# What can be asked for; an effort takes few of them, and of the CPU's only the first.
CONVERTED = _everywhere(*_CONVERTED)  # inference and operations: weights and inputs in that format
AUTOCAST = _everywhere(*_AUTOCAST)  # training: weights stay fp32
HALF = _everywhere(Precision.FP32, Precision.FP16)  # where the other half precision is a case of its own
FP32_ONLY: Precisions = dict.fromkeys(CONVERTED, (Precision.FP32,))


@dataclass(frozen=True)
class Tolerance:
    """How far a right device may be from the CPU's float32 result, each as a share of it."""

    output: float
    loss: float | None = None  # of the first training step, as is the next
    gradient: float | None = None


FP32 = Tolerance(1e-4)  # a correct device may add in any order; what shortens the numbers themselves errs by more
FP32_TRAINING = Tolerance(1e-4, loss=2e-5, gradient=1e-3)


def tolerances(
    precisions: Precisions, *, tf32: Tolerance, half: Tolerance, fp32: Tolerance = FP32
) -> Mapping[Precision, Tolerance]:
    """By precision; fp16 has what bf16 needs, since a device may keep its sums in fp16 too."""
    shared = {Precision.FP32: fp32, Precision.TF32: tf32}
    return {one: shared.get(one, half) for one in dict.fromkeys(each for kind in precisions.values() for each in kind)}


@dataclass(frozen=True)
class Job:
    """What is asked of a builder: where, in which precision, from which seed, and how big."""

    device: Device
    precision: Precision
    seed: int
    size: Size
    batch: int
    mode: Mode = Mode.EAGER
    samples: int | None = None  # only the first so many of the batch; None is the whole
    dropout: bool = True  # False for comparisons: every device draws its own
    double: bool = False  # float64 throughout, which the CPU's own fp32 is held against


@dataclass(frozen=True)
class Prepared:
    """A built workload, ready to be measured."""

    # One iteration. It reads nothing back and waits for nothing, but for the two workloads that measure reading.
    step: Work
    output: Work  # what is compared, whole: a forward pass, in training as a step has it; weights stay as they are
    close: Callable[[], None]  # drops every reference, so that memory can be given back
    settings: Mapping[str, bool | str] = field(default_factory=dict)  # the switches that were set for it
    gradient_norm: Callable[[], float] | None = None  # training: of the gradients that the last step left
    # Training: what ``output`` gives, and the loss, of a step without the update, which needs no optimizer's memory.
    learn: Callable[[], tuple[torch.Tensor, torch.Tensor]] | None = None
    # Training: back to before the first step, without dropout, with only so many samples of the batch;
    # says whether there was dropout, so that what was compiled no longer fits.
    restart: Callable[[int | None], bool] | None = None
    weights: Callable[[], Sequence[torch.Tensor]] = tuple  # one of each layer that has any, first layer first


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
    bound: Kind  # what its speed is bounded by
    precisions: Precisions
    modes: tuple[Mode, ...] = (Mode.EAGER, Mode.COMPILE)
    tolerances: Mapping[Precision, Tolerance]
    kept_bytes_per_sample: int  # what a training keeps of one sample for its backward pass; 0 for inference
    network: Network | None = None  # None for an operation
    copies: int = 1  # of the weights that are in memory: 3 in training with SGD's momentum, 4 with Adam

    def job(self, device: Device, precision: Precision, seed: int, size: Size = "real", mode: Mode = Mode.EAGER) -> Job:
        """This workload as it is measured."""
        batch = TINY_BATCH if size == "tiny" else self.facts.batch
        return Job(device=device, precision=precision, seed=seed, size=size, batch=batch, mode=mode)

    def build(
        self, device: Device, precision: Precision, seed: int, size: Size = "real", mode: Mode = Mode.EAGER
    ) -> Prepared:
        """The workload on ``device``, with every switch set; weights and inputs depend on ``seed`` alone."""
        return self.prepare(self.job(device, precision, seed, size, mode))

    def prepare(self, job: Job) -> Prepared:
        """The workload as ``job`` wants it."""
        kind = job.device.kind
        if job.precision not in self.precisions.get(kind, ()) or job.mode not in self.modes:
            raise UsageProblem(
                f"{self.facts.id} is not measured in {job.precision}, {job.mode} on {kind}. "
                "`metalmark workloads` lists the precisions of each workload."
            )
        switches = settings.apply(job.precision)
        work = self.builder(job)
        return replace(
            work,
            step=job.device.wrap(work.step, self.facts),
            output=job.device.wrap(work.output, self.facts),
            settings=switches,
        )
