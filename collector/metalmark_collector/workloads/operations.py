"""Single operations that tie a chip to its published peaks: a large product and a large copy."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from metalmark_db.plausible import Kind
from metalmark_db.words import Mode, Precision, Task

from .base import CONVERTED, FP32_ONLY, Entry, Job, Prepared, Tolerance, described, tolerances

SIDE = 2048
COPIED_BYTES = 512 * 2**20


def _matmul(job: Job) -> Prepared:
    """The product of two square matrices with 2048 rows.

    Ours, and the simplest measure of a chip's arithmetic: it can be held against the peak that the maker states,
    and against the many square products that others published. Both factors are standard normal; the result is
    written into memory that already exists. In half precision the factors and the result are in half precision,
    and how wide the sums are kept is the device's choice.
    """
    from .building.operations import matmul

    return matmul(job, SIDE if job.size == "real" else 64)


def _copy(job: Job) -> Prepared:
    """512 MiB of single-precision numbers copied from one place in the device's memory to another.

    Ours, and the simplest measure of memory bandwidth: each iteration reads 512 MiB and writes as much, far more
    than any cache holds, so that bytes a second can be held against the bandwidth that the maker states. The
    numbers are random, since some GPUs compress what repeats.
    """
    from .building.operations import copy

    return copy(job, (COPIED_BYTES if job.size == "real" else 2**16) // 4)


MATMUL_2048 = Entry(
    facts=described(
        _matmul,
        id="matmul-2048",
        version=1,
        title="Matrix product, 2048 x 2048",
        source="metalmark",
        task=Task.OPERATION,
        batch=1,
        input_shape="2048x2048",
        item="call",
        items_per_iteration=1,
        flops_per_iteration=2 * SIDE**3,
    ),
    builder=_matmul,
    bound=Kind.MATMUL,
    precisions=CONVERTED,
    modes=(Mode.EAGER,),
    tolerances=tolerances(CONVERTED, tf32=Tolerance(9e-4), half=Tolerance(0.009)),
    kept_bytes_per_sample=0,
)
COPY_BANDWIDTH = Entry(
    facts=described(
        _copy,
        id="copy-bandwidth",
        version=1,
        title="Copy, 512 MiB",
        source="metalmark",
        task=Task.OPERATION,
        batch=1,
        input_shape=str(COPIED_BYTES // 4),
        item="call",
        items_per_iteration=1,
        bytes_per_iteration=2 * COPIED_BYTES,
    ),
    builder=_copy,
    bound=Kind.COPY,
    precisions=FP32_ONLY,
    modes=(Mode.EAGER,),
    tolerances={Precision.FP32: Tolerance(0.0)},  # a copy is exact
    kept_bytes_per_sample=0,
)
