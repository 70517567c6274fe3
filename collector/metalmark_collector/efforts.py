"""How much each effort measures, and for how long: membership and budgets are data in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalmark_db.words import Effort, Mode, Precision


@dataclass(frozen=True)
class Scope:
    """What a run of one effort does."""

    rounds: int
    aimed_s: int  # what a run should take on an M1
    limit_s: int  # what no run may exceed
    workloads: tuple[str, ...]  # ids, each on the CPU and on the GPU
    beside_fp32: Mapping[str, tuple[Precision, ...]] = field(default_factory=dict)  # by workload, on a GPU
    compiled: Mapping[str, tuple[Precision, ...]] = field(default_factory=dict)  # the same in compile mode
    sustained: tuple[str, ...] = ()  # workloads that work back to back once more after the last round
    sustain_s: float = 0.0  # for how long

    def precisions(self, workload: str, device: str) -> tuple[Precision, ...]:
        """The precisions of a workload on a device; the CPU has fp32 alone, since half is slow without units for it.

        A device may lack some of them: the workload's entry says which it has.
        """
        return (Precision.FP32,) if device == "cpu" else (Precision.FP32, *self.beside_fp32.get(workload, ()))

    def modes(self, workload: str, device: str, precision: Precision) -> tuple[Mode, ...]:
        """The modes of a workload on a device in a precision; the CPU is measured in eager mode alone."""
        compiled = device != "cpu" and precision in self.compiled.get(workload, ())
        return (Mode.EAGER, Mode.COMPILE) if compiled else (Mode.EAGER,)


_QUICK = (
    "lenet5-train-b128",
    "resnet18-infer-b32",
    "resnet50-train-b8",
    "resnet50-infer-b8",
    "vgg16-train-b4",
    "bert-base-train-t128-b4",
    "bert-base-infer-t128-b4",
    "matmul-2048",
    "copy-bandwidth",
)
_INFERENCE = ("resnet18-infer-b32", "resnet50-infer-b8", "bert-base-infer-t128-b4")
_TRAINING = ("lenet5-train-b128", "resnet50-train-b8", "vgg16-train-b4", "bert-base-train-t128-b4")
# TF32 belongs to CUDA alone; the entries leave it out elsewhere.
_LOWER = (Precision.TF32, Precision.FP16, Precision.BF16)
_MIXED = (Precision.TF32, Precision.AMP_BF16)
_ALL_MIXED = (Precision.TF32, Precision.AMP_FP16, Precision.AMP_BF16)
_COMPILED = ("resnet50-train-b8", "resnet50-infer-b8", "bert-base-train-t128-b4", "bert-base-infer-t128-b4")
# The bars of Apple's chart, at batches that every Mac can run.
_HEADLINE = (
    "resnet50-train-b8",
    "resnet50-infer-b8",
    "vgg16-train-b4",
    "vgg16-infer-b4",
    "bert-base-train-t128-b4",
    "bert-base-infer-t128-b4",
)

EFFORTS: Mapping[Effort, Scope] = {
    Effort.QUICK: Scope(
        rounds=1,
        aimed_s=90,
        limit_s=240,
        workloads=_QUICK,
        beside_fp32={"matmul-2048": (Precision.FP16,)},
    ),
    Effort.STANDARD: Scope(
        rounds=3,
        aimed_s=15 * 60,
        limit_s=40 * 60,
        workloads=_QUICK,
        beside_fp32=dict.fromkeys((*_INFERENCE, "matmul-2048"), _LOWER) | dict.fromkeys(_TRAINING, _MIXED),
        compiled=dict.fromkeys(_COMPILED, (Precision.FP32,)),
    ),
    Effort.FULL: Scope(
        rounds=5,
        aimed_s=60 * 60,
        limit_s=150 * 60,
        workloads=(*_QUICK, "vgg16-infer-b4"),
        beside_fp32=dict.fromkeys((*_INFERENCE, "vgg16-infer-b4", "matmul-2048"), _LOWER)
        | dict.fromkeys(_TRAINING, _ALL_MIXED),
        compiled=dict.fromkeys((*_INFERENCE, "vgg16-infer-b4"), (Precision.FP32, Precision.BF16))
        | dict.fromkeys(_TRAINING, (Precision.FP32, Precision.AMP_BF16)),
        sustained=_HEADLINE,
        sustain_s=60.0,
    ),
}
