"""What all real devices of torch have in common."""

import torch

from metalmark_db.record import Workload

from .base import Energy, Work


class TorchDevice:
    """A device that torch computes on as it is; backends override what they know better."""

    kind: str

    def torch_device(self) -> torch.device:
        """The device of that kind that torch takes by default."""
        return torch.device(self.kind)

    def wrap(self, work: Work, facts: Workload) -> Work:
        """The work itself: nothing stands between a real device and the clock."""
        del facts
        return work

    def read_element(self, tensor: torch.Tensor) -> float:
        """The last element, taken through a view so that nothing else has to be computed first."""
        return float(tensor.detach()[(-1,) * tensor.dim()].item())

    def chip_name(self) -> str | None:
        """None: the machine's fingerprint names the chip."""
        return None

    def peak_memory(self) -> int | None:
        """None: nobody counts."""
        return None

    def energy(self) -> Energy | None:
        """None: nobody counts."""
        return None

    def reset_peak(self) -> None:
        """Nothing to reset."""
