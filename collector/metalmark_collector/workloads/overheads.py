"""What it costs to launch work and to ask for its result: the reason why small models are slow on fast devices."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from metalmark_db.words import Mode, Precision

from .base import FP32_ONLY, Job, Prepared, Tolerance
from .family import operation

SIDE = 64
CHAIN = 100


def _launch(job: Job) -> Prepared:
    """One addition of two matrices of 64 x 64: next to no work.

    Ours: as many as fit are launched before the device is waited for, so that the time is what launching one operation
    costs, on the CPU's side or the device's, whichever is slower. The times of single calls, each waited for, stand
    beside it: the difference is what waiting costs.
    """
    from .building.operations import chain

    return chain(job, SIDE, 1)


def _chain(job: Job) -> Prepared:
    """A chain of 100 additions of matrices of 64 x 64, each waiting for the one before.

    Ours: what a small model does all day, one small operation after the other. A hundredth of the time is what each
    costs, with less of Python around it than a single call has. Compiled, the chain is one operation.
    """
    from .building.operations import chain

    return chain(job, SIDE, CHAIN)


def _item(job: Job) -> Prepared:
    """One addition of two matrices of 64 x 64, one number of which is read with `.item()`.

    Ours: what a training costs that prints its loss in every step, beside the step itself. The only workload that
    reads from the device while it is timed: waiting is what it measures.
    """
    from .building.operations import item

    return item(job, SIDE)


ENTRIES = tuple(
    operation(
        builder,
        facts={
            "id": name,
            "family": name,
            "title": title,
            "input_shape": f"{SIDE}x{SIDE}",
            "item": "call",
            "items_per_iteration": 1,
            "model": model,
        },
        precisions=FP32_ONLY,
        tolerances={Precision.FP32: Tolerance(3e-6)},  # three times what a hundred additions err by
        modes=modes,
    )
    for builder, name, title, model, modes in (
        (_launch, "launch", "Launching one operation", "torch.add", (Mode.EAGER,)),
        (_chain, "launch-chain-100", "A chain of 100 operations", "torch.add", (Mode.EAGER, Mode.COMPILE)),
        (_item, "item", "Reading one number", "torch.Tensor.item", (Mode.EAGER,)),
    )
)
