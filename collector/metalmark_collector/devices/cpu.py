"""The processor itself, which runs every operation at once."""

from .common import TorchDevice
from .probe import unusable_because


class Cpu(TorchDevice):
    """torch's CPU backend."""

    kind = "cpu"

    def unusable(self) -> str | None:
        """None if single precision agrees with double precision."""
        return unusable_because(self.torch_device())

    def synchronize(self) -> None:
        """Nothing to wait for: an operation has finished when its call returns."""

    def empty_cache(self) -> None:
        """Nothing to give back: torch keeps no cache of its own on the CPU."""

    def memory_allocated(self) -> int | None:
        """None: torch does not count the CPU's tensors."""
        return None

    def recommended_memory(self) -> int | None:
        """None: the system's memory is a condition of the machine."""
        return None
