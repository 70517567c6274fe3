"""Number formats: which tensors are converted, and what autocast is asked for."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from metalmark_db.words import Precision

from ..base import Job

Autocast = Callable[[], AbstractContextManager[object]]

_CONVERTED = {Precision.FP16: torch.float16, Precision.BF16: torch.bfloat16}
_AUTOCAST = {Precision.AMP_FP16: torch.float16, Precision.AMP_BF16: torch.bfloat16}
# Small gradients would be lost in fp16. The scale is fixed, since a GradScaler reads the device in every step.
LOSS_SCALE = {Precision.AMP_FP16: 1024.0}


def converted(job: Job) -> torch.dtype | None:
    """What weights and inputs are converted to; None leaves them in single precision."""
    return torch.float64 if job.double else _CONVERTED.get(job.precision)


def autocast(job: Job) -> Autocast:
    """Makes the context of a forward pass in the job's precision.

    Raises:
        NotImplementedError: this torch would only warn, and compute in single precision after all.
    """
    dtype, kind = _AUTOCAST.get(job.precision), job.device.torch_device().type
    if dtype is None:
        return nullcontext

    def context() -> AbstractContextManager[object]:
        return torch.autocast(kind, dtype=dtype)

    one = torch.ones(1, 1, device=job.device.torch_device())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with context():
            really = torch.mm(one, one).dtype
    if really is not dtype:
        raise NotImplementedError(f"autocast to {dtype} on {kind}: this torch computes in {really} instead")
    return context
