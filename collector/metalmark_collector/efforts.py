"""How much each effort measures, and for how long: membership and budgets are data in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalmark_db.words import Effort, Mode, Precision

from .workloads import WORKLOADS

# Measured on a GPU alone, in these precisions: as people run them, and as fits a Mac with 16 GB.
ON_GPU = {"llama-1b-prefill-t512-b1": (Precision.FP16,), "llama-1b-decode-t512-b1": (Precision.FP16,)}


@dataclass(frozen=True)
class Scope:
    """What a run of one effort does."""

    rounds: int
    aimed_s: int  # what a run should take on an M1
    limit_s: int  # what no run may exceed
    workloads: tuple[str, ...]  # ids, each on the CPU and on the GPU, but for those of ``ON_GPU``
    beside_fp32: Mapping[str, tuple[Precision, ...]] = field(default_factory=dict)  # by workload, on a GPU
    compiled: Mapping[str, tuple[Precision, ...]] = field(default_factory=dict)  # the same in compile mode
    sustained: tuple[str, ...] = ()  # workloads that work back to back once more after the last round
    sustain_s: float = 0.0  # for how long

    def precisions(self, workload: str, device: str) -> tuple[Precision, ...]:
        """The precisions of a workload on a device; the CPU has fp32 alone, since half is slow without units for it.

        A device may lack some of them: the workload's entry says which it has.
        """
        if workload in ON_GPU:
            return () if device == "cpu" else ON_GPU[workload]
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
_STANDARD = (
    *_QUICK,
    "resnet50-train-b32",
    "resnet50-infer-b32",
    "bert-base-train-t128-b16",
    "bert-base-infer-t128-b16",
    "vgg16-infer-b16",
    "vgg16-infer-b32",
    "vit-b16-infer-b16",
    "vit-b16-infer-b32",
    "efficientnet-b0-infer-b16",
    "efficientnet-b0-infer-b32",
    "gpt-baby-train-b16",
    "llama-1b-prefill-t512-b1",
    "llama-1b-decode-t512-b1",
    "matmul-512",
    "matmul-1024",
    "matmul-4096",
    "launch",
    "launch-chain-100",
    "item",
)
_HALF = (Precision.FP16, Precision.BF16)
_LOWER = (Precision.TF32, *_HALF)  # TF32 belongs to CUDA alone; the entries leave it out elsewhere
_ALL_MIXED = (Precision.TF32, Precision.AMP_FP16, Precision.AMP_BF16)
# What a standard run measures beside fp32: the larger batch of each model, since 80 cases are the most.
_LARGER_INFERENCE = ("resnet50-infer-b32", "bert-base-infer-t128-b16", "vit-b16-infer-b32")
_LARGER_TRAINING = ("resnet50-train-b32", "bert-base-train-t128-b16", "gpt-baby-train-b16")
_COMPILED = ("vit-b16-infer-b32", *_LARGER_TRAINING)
# The bars of Apple's chart, at batches that every Mac can run.
_HEADLINE = (
    "resnet50-train-b8",
    "resnet50-infer-b8",
    "vgg16-train-b4",
    "vgg16-infer-b4",
    "bert-base-train-t128-b4",
    "bert-base-infer-t128-b4",
)


_APPLE_INFERENCE = ("resnet50-infer-b128", "vgg16-infer-b64", "bert-base-infer-t128-b64")
_APPLE_TRAINING = ("resnet50-train-b128", "vgg16-train-b64", "bert-base-train-t128-b64")
_HEADLINE_INFERENCE = tuple(name for name in _HEADLINE if "-infer-" in name)
_HEADLINE_TRAINING = tuple(name for name in _HEADLINE if "-train-" in name)
_MATMULS = tuple(name for name in WORKLOADS if name.startswith("matmul-"))


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
        workloads=_STANDARD,
        beside_fp32=dict.fromkeys((*_LARGER_INFERENCE, "vgg16-infer-b32", "efficientnet-b0-infer-b32"), _HALF)
        | dict.fromkeys((*_LARGER_TRAINING, "vgg16-train-b4"), (Precision.AMP_BF16,))
        | dict.fromkeys(("matmul-2048", "matmul-4096"), _LOWER)
        | {"resnet50-infer-b32": _LOWER, "resnet50-train-b32": (Precision.TF32, Precision.AMP_BF16)},
        compiled=dict.fromkeys(_COMPILED, (Precision.FP32,)),
    ),
    Effort.FULL: Scope(
        rounds=5,
        aimed_s=60 * 60,
        limit_s=150 * 60,
        workloads=tuple(WORKLOADS),
        beside_fp32=dict.fromkeys((*_LARGER_INFERENCE, *_APPLE_INFERENCE, *_HEADLINE_INFERENCE, *_MATMULS), _LOWER)
        | dict.fromkeys((*_LARGER_TRAINING, *_APPLE_TRAINING, *_HEADLINE_TRAINING, "lenet5-train-b128"), _ALL_MIXED),
        compiled=dict.fromkeys((*_COMPILED, "resnet50-infer-b32", "bert-base-infer-t128-b16"), (Precision.FP32,)),
        sustained=_HEADLINE,
        sustain_s=60.0,
    ),
}
