"""NVIDIA GPUs (and AMD's, which torch calls by the same name)."""

import warnings

import torch

from . import nvml, reasons
from .base import Energy
from .common import TorchDevice
from .probe import unusable_because


class Cuda(TorchDevice):
    """torch's CUDA backend, on the first GPU."""

    kind = "cuda"

    def unusable(self) -> str | None:
        """None if the first GPU computes and agrees with the CPU."""
        if torch.version.cuda is None and torch.version.hip is None:
            return reasons.WITHOUT_CUDA
        if not is_visible():
            return reasons.NO_CUDA_GPU
        return unusable_because(self.torch_device())

    def torch_device(self) -> torch.device:
        """The first GPU, whatever the process has set as current."""
        return torch.device("cuda", 0)

    def synchronize(self) -> None:
        """Wait for all streams of the first GPU."""
        torch.cuda.synchronize(self.torch_device())

    def chip_name(self) -> str | None:
        """The GPU's name as its driver gives it; None where torch sees no GPU."""
        return torch.cuda.get_device_name(self.torch_device()) if is_visible() else None

    def empty_cache(self) -> None:
        """Give cached blocks back to the driver, with what cuBLAS keeps for itself after its first product."""
        clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)  # noqa: SLF001 - there is no public name
        if clear is not None:
            clear()
        torch.cuda.empty_cache()

    def memory_allocated(self) -> int | None:
        """Bytes in live tensors."""
        return torch.cuda.memory_allocated(self.torch_device())

    def reset_peak(self) -> None:
        """Start the peak afresh from what is allocated now."""
        torch.cuda.reset_peak_memory_stats(self.torch_device())

    def peak_memory(self) -> int | None:
        """Most bytes in live tensors since the reset."""
        return torch.cuda.max_memory_allocated(self.torch_device())

    def energy(self) -> Energy | None:
        """What NVIDIA's management library counts of this GPU."""
        counted = None if torch.version.hip else nvml.energy_mj(self.torch_device())
        return None if counted is None else (counted, "nvml")

    def recommended_memory(self) -> int | None:
        """Free memory of the GPU, other programs' share left out."""
        return torch.cuda.mem_get_info(self.torch_device())[0]


def is_visible() -> bool:
    """Whether torch sees a GPU; a driver that is too old is a no, not a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.cuda.is_available()
