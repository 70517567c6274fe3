"""The tensors of single operations."""

import torch

from ..base import Job, Prepared
from .formats import converted
from .steps import Held
from .weights import generator, normal


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
    numbers = generator(job.seed + 1)
    left, right = (
        normal((side, side), numbers).to(device=job.device.torch_device(), dtype=converted(job)) for _ in range(2)
    )
    return Product(left, right).prepared()


def copy(job: Job, count: int) -> Prepared:
    """The copy of ``count`` numbers."""
    source = normal((count,), generator(job.seed + 1))
    return Copy(source.to(device=job.device.torch_device())).prepared()  # exact, so that float64 adds nothing
