"""What a device has to offer to be measured: the seam between the engine and torch's backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from metalmark_db.record import Workload

if TYPE_CHECKING:
    import torch


Work = Callable[[], "torch.Tensor"]
Energy = tuple[int, str]  # millijoules, and which counter says so


class Device(Protocol):
    """One kind of device that torch computes on."""

    @property
    def kind(self) -> str:
        """``cpu``, ``mps``, ``cuda``: the word of the record."""
        ...

    def unusable(self) -> str | None:
        """None if the device really computes, else a sentence that says why not.

        Tried, not asked: it allocates, computes and compares with the CPU.
        """
        ...

    def torch_device(self) -> torch.device:
        """Where tensors are put."""
        ...

    def wrap(self, work: Work, facts: Workload) -> Work:
        """The work as this device runs it: itself on a real device, with scripted time on the fake."""
        ...

    def synchronize(self) -> None:
        """Wait until everything that was enqueued has finished."""
        ...

    def read_element(self, tensor: torch.Tensor) -> float:
        """The last element of ``tensor``, which waits for the device whatever ``synchronize`` did."""
        ...

    def chip_name(self) -> str | None:
        """The device's own name (CUDA); None where the machine's fingerprint knows better."""
        ...

    def empty_cache(self) -> None:
        """Give memory that no tensor uses back to the system."""
        ...

    def memory_allocated(self) -> int | None:
        """Bytes that tensors use now; None where nobody counts them."""
        ...

    def reset_peak(self) -> None:
        """Start the count of ``peak_memory`` afresh, where there is one."""
        ...

    def peak_memory(self) -> int | None:
        """Most bytes that tensors used since ``reset_peak``; None where nobody counts them."""
        ...

    def energy(self) -> Energy | None:
        """What the device has taken so far, by its own counter; None where there is none."""
        ...

    def recommended_memory(self) -> int | None:
        """Bytes that work may use without harm: Metal's working set, or a GPU's free memory; None on the CPU."""
        ...
