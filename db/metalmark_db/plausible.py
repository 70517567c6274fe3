"""Whether a result is faster than its chip can be: a label for people to look at, never a gate."""

import re
from enum import StrEnum
from typing import Protocol

from .words import Precision

BEYOND_PEAK = "beyond_peak"  # a flag of the case, which keeps it out of charts until somebody has confirmed it


class Kind(StrEnum):
    """What a result's speed is bounded by."""

    MATMUL = "matmul"
    COPY = "copy"  # of at least 512 MiB: smaller ones stay in caches
    CONVOLUTIONS = "convolutions"  # a model with convolutions
    MODEL = "model"  # any other model: products of matrices and little else
    OPERATION = "operation"  # any other single operation


# Above 1 since makers round, and clocks rise above what they state. Winograd's algorithm computes a 3x3
# convolution with up to 2.25 times fewer operations than are counted. Single operations may skip work altogether.
_ROOM: dict[Kind, float | None] = {
    Kind.MATMUL: 1.1,
    Kind.COPY: 1.1,
    Kind.CONVOLUTIONS: 2.5,
    Kind.MODEL: 1.1,
    Kind.OPERATION: None,
}


# What ties a chip to its published peaks, by name: the database knows no kinds. A test holds the suite against it.
_CALIBRATIONS = ((re.compile(r"matmul-[0-9]+"), Kind.MATMUL), (re.compile(r"copy-bandwidth"), Kind.COPY))


def calibrates(workload: str) -> Kind | None:
    """What a workload calibrates: arithmetic (MATMUL) or memory (COPY); None for all others."""
    return next((kind for name, kind in _CALIBRATIONS if name.fullmatch(workload)), None)


def is_beyond_peak(rate: float | None, peak: float | None, kind: Kind) -> bool | None:
    """Whether a rate lies beyond the published peak; None where nothing can be said.

    Args:
        rate: What was measured: TFLOP/s, or GB/s for a copy. None where it is not known.
        peak: The chip's published peak of the same precision in the same unit. None where none is known.
        kind: What the workload is.
    """
    room = _ROOM[kind]
    if rate is None or peak is None or room is None:
        return None
    return rate > room * peak


class Peaks(Protocol):
    """Published peaks of a chip."""

    @property
    def bandwidth_gb_s(self) -> float | None:
        """Of its memory."""
        ...

    @property
    def fp32_tflops(self) -> float | None:
        """Of its GPU."""
        ...

    @property
    def tf32_tflops(self) -> float | None:
        """Of its GPU, without sparsity."""
        ...

    @property
    def fp16_tflops(self) -> float | None:
        """Of its GPU, without sparsity, summed up in fp32."""
        ...

    @property
    def bf16_tflops(self) -> float | None:
        """Of its GPU, without sparsity."""
        ...


class Counted(Protocol):
    """What is counted of a workload's work."""

    @property
    def flops_per_iteration(self) -> float | None:
        """Floating-point operations."""
        ...

    @property
    def bytes_per_iteration(self) -> float | None:
        """Bytes moved through memory."""
        ...


def rate(workload: Counted, median_s: float, kind: Kind) -> float | None:
    """What a workload's time comes to: GB/s for a copy, TFLOP/s for all else; None where its work is not counted."""
    if kind is Kind.COPY:
        return workload.bytes_per_iteration / median_s / 1e9 if workload.bytes_per_iteration else None
    return workload.flops_per_iteration / median_s / 1e12 if workload.flops_per_iteration else None


def peak(chip: Peaks, device: str, precision: Precision, kind: Kind) -> float | None:
    """The published peak to hold a result against: TFLOP/s of its precision, or GB/s for a copy.

    Published peaks of arithmetic speak of the GPU alone; another precision's peak says nothing.
    """
    if kind is Kind.COPY:
        return chip.bandwidth_gb_s
    if device == "cpu":
        return None
    match precision:
        case Precision.FP32:
            return chip.fp32_tflops
        case Precision.TF32:
            return chip.tf32_tflops
        case Precision.FP16 | Precision.AMP_FP16:
            return chip.fp16_tflops
        case Precision.BF16 | Precision.AMP_BF16:
            return chip.bf16_tflops
