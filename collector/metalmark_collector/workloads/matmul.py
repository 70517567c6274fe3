"""Products of square matrices, which tie a chip to its published peaks of arithmetic."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

import functools

from metalmark_db.plausible import Kind

from .base import CONVERTED, Entry, Job, Prepared, Tolerance, tolerances
from .family import operation

_TINY = 64


def _matmul(job: Job, side: int) -> Prepared:
    """The product of two square matrices.

    Ours, and the simplest measure of a chip's arithmetic: it can be held against the peak that the maker states,
    and against the many square products that others published. Both factors are standard normal; the result is
    written into memory that already exists. In half precision the factors and the result are in half precision,
    and how wide the sums are kept is the device's choice. Small products show what launching costs, large ones
    what the chip can do.
    """
    from .building.operations import matmul

    return matmul(job, side if job.size == "real" else _TINY)


def _entry(side: int) -> Entry:
    return operation(
        functools.partial(_matmul, side=side),
        facts={
            "id": f"matmul-{side}",
            "family": "matmul",
            "variant": f"{side} x {side}",
            "title": f"Matrix product, {side} x {side}",
            "input_shape": f"{side}x{side}",
            "item": "call",
            "items_per_iteration": 1,
            "flops_per_iteration": 2 * side**3,
            "model": "torch.mm",
        },
        precisions=CONVERTED,
        tolerances=tolerances(CONVERTED, tf32=Tolerance(9e-4), half=Tolerance(0.009)),
        bound=Kind.MATMUL,
    )


ENTRIES = tuple(map(_entry, (512, 1024, 2048, 4096, 8192)))
