"""Apple's GPUs through Metal Performance Shaders."""

import torch

from . import reasons
from .common import TorchDevice
from .probe import unusable_because


class Mps(TorchDevice):
    """torch's MPS backend."""

    kind = "mps"

    def unusable(self) -> str | None:
        """None if the GPU computes and agrees with the CPU.

        ``is_available`` alone means little: inside a virtual machine it says yes for a paravirtual
        GPU that cannot allocate or gives wrong numbers.
        """
        if not torch.backends.mps.is_built():
            return reasons.WITHOUT_MPS
        if not torch.backends.mps.is_available():
            return reasons.NO_METAL
        name = _metal_name()
        if name is not None and "paravirtual" in name.lower():
            return f"The GPU is a virtual machine's ({name}), which is not what the chip can do."
        return unusable_because(self.torch_device())

    def synchronize(self) -> None:
        """Wait for every kernel in every stream of the GPU."""
        torch.mps.synchronize()

    def empty_cache(self) -> None:
        """Give cached buffers back to Metal."""
        torch.mps.empty_cache()

    def memory_allocated(self) -> int | None:
        """Bytes in live tensors; the driver's own figure counts its cache too and misleads."""
        return torch.mps.current_allocated_memory()

    def reset_peak(self) -> None:
        """Start the peak afresh where this torch keeps one."""
        self._counter("reset_peak_memory_stats")

    def peak_memory(self) -> int | None:
        """Most bytes in live tensors since the reset; None before the torch of 2026, which began to count."""
        return self._counter("max_memory_allocated") or None

    def recommended_memory(self) -> int | None:
        """Metal's recommended working set, which is smaller than the memory of the Mac."""
        read = getattr(torch.mps, "recommended_max_memory", None)
        return None if read is None else int(read())

    def _counter(self, name: str) -> int | None:
        call = getattr(getattr(torch, "accelerator", None), name, None)
        if call is None:
            return None
        try:
            value: int | None = call(self.torch_device())
        except (RuntimeError, NotImplementedError):  # torch has the name before its MPS backend has the count
            return None
        return value


def _metal_name() -> str | None:
    """Metal's name of the GPU, where this torch tells it."""
    read = getattr(torch.backends.mps, "get_name", None)
    return None if read is None else str(read())
