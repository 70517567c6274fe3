"""What NVIDIA's management library counts of a GPU, which torch does not tell."""

import contextlib
from functools import cache
from typing import Any

import torch


def energy_mj(device: torch.device) -> int | None:
    """Millijoules that the GPU has taken since its driver was loaded; None where nobody counts (before Volta)."""
    library = _library()
    if library is None:
        return None
    with contextlib.suppress(library.NVMLError):
        return int(library.nvmlDeviceGetTotalEnergyConsumption(_handle(library, device)))
    return None


@cache
def _library() -> Any:
    """The library, started once; None where there is no driver to talk to."""
    try:
        import pynvml  # noqa: PLC0415 - only a process that uses an NVIDIA GPU needs it
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


def _handle(library: Any, device: torch.device) -> Any:
    """The GPU that torch calls ``device``: CUDA_VISIBLE_DEVICES may have put them into another order."""
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if uuid is None:  # torch before 2.5
        raise library.NVMLError(library.NVML_ERROR_NOT_FOUND)
    return library.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
