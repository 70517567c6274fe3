"""Copies: within the device's memory, and between it and the computer's."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from metalmark_db.plausible import Kind
from metalmark_db.words import Precision

from .base import FP32_ONLY, Job, Prepared, Tolerance
from .family import operation

COPIED_BYTES = 512 * 2**20
SENT_BYTES = 64 * 2**20
_TINY_BYTES = 2**16
_EXACT = {Precision.FP32: Tolerance(0.0)}


def _copy(job: Job) -> Prepared:
    """512 MiB of single-precision numbers copied from one place in the device's memory to another.

    Ours, and the simplest measure of memory bandwidth: each iteration reads 512 MiB and writes as much, far more
    than any cache holds, so that bytes a second can be held against the bandwidth that the maker states. The
    numbers are random, since some GPUs compress what repeats.
    """
    from .building.operations import copy

    return copy(job, _numbers(job, COPIED_BYTES))


def _to_device(job: Job) -> Prepared:
    """64 MiB of single-precision numbers copied from the computer's memory to the device's.

    Ours: what bringing a batch to the device costs. The source is ordinary memory, as a data loader leaves it
    unless told to pin it. Where both share one memory, as on Apple's chips, it is still a copy; on the CPU it is
    one within its own memory.
    """
    from .building.operations import to_device

    return to_device(job, _numbers(job, SENT_BYTES))


def _from_device(job: Job) -> Prepared:
    """64 MiB of single-precision numbers copied from the device's memory to the computer's.

    Ours: what fetching a result costs. The target is ordinary memory that is there already, and the copy has
    arrived when an iteration ends. On the CPU it is one within its own memory.
    """
    from .building.operations import from_device

    return from_device(job, _numbers(job, SENT_BYTES))


def _numbers(job: Job, size: int) -> int:
    return (size if job.size == "real" else _TINY_BYTES) // 4


ENTRIES = (
    operation(
        _copy,
        facts={
            "id": "copy-bandwidth",
            "family": "copy-bandwidth",
            "title": "Copy, 512 MiB",
            "input_shape": str(COPIED_BYTES // 4),
            "item": "call",
            "items_per_iteration": 1,
            "bytes_per_iteration": 2 * COPIED_BYTES,
            "model": "torch.Tensor.copy_",
        },
        precisions=FP32_ONLY,
        tolerances=_EXACT,
        bound=Kind.COPY,
    ),
    *(
        operation(
            builder,
            facts={
                "id": name,
                "family": name,
                "title": title,
                "input_shape": str(SENT_BYTES // 4),
                "item": "call",
                "items_per_iteration": 1,
                "bytes_per_iteration": SENT_BYTES,
                "model": "torch.Tensor.copy_",
            },
            precisions=FP32_ONLY,
            tolerances=_EXACT,
        )
        for builder, name, title in (
            (_to_device, "copy-to-device", "Copy to the device, 64 MiB"),
            (_from_device, "copy-from-device", "Copy from the device, 64 MiB"),
        )
    ),
)
