"""The tensors of single operations."""

import torch

from ..base import Job, Prepared
from .formats import converted
from .steps import Held
from .weights import drawn_once


class Product(Held):
    """Two factors and the place for their product, held until ``close``."""

    def __init__(self, left: torch.Tensor, right: torch.Tensor) -> None:
        self.left, self.right, self.result = left, right, torch.empty_like(left)

    def step(self) -> torch.Tensor:
        """One product."""
        return torch.mm(self.left, self.right, out=self.result)


class Copy(Held):
    """A source and a destination, held until ``close``."""

    def __init__(self, source: torch.Tensor) -> None:
        self.source, self.target = source, torch.empty_like(source)

    def step(self) -> torch.Tensor:
        """One copy."""
        return self.target.copy_(self.source)


def matmul(job: Job, side: int) -> Prepared:
    """The product of two square matrices."""
    left, right = drawn_once((2, side, side), job.seed + 1).to(device=job.device.torch_device(), dtype=converted(job))
    return Product(left, right).prepared()


def copy(job: Job, count: int) -> Prepared:
    """The copy of ``count`` numbers."""
    source = drawn_once((count,), job.seed + 1)
    return Copy(source.to(device=job.device.torch_device())).prepared()  # exact, so that float64 adds nothing
