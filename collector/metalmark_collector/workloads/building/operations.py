"""The tensors of single operations."""

from collections.abc import Callable

import torch

from metalmark_db.words import Mode

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

    def __init__(self, source: torch.Tensor, where: torch.device) -> None:
        self.source, self.target = source, torch.empty_like(source, device=where)

    def step(self) -> torch.Tensor:
        """One copy."""
        return self.target.copy_(self.source)


class Chain(Held):
    """A sum that goes on and on: each addition takes the result of the one before."""

    def __init__(self, first: torch.Tensor, more: torch.Tensor, count: int, *, compiled: bool = False) -> None:
        self.first, self.more, self.count, self.result = first, more, count, torch.empty_like(first)
        self.sum: Callable[..., object] = torch.compile(_sum, dynamic=False) if compiled else _sum

    def step(self) -> torch.Tensor:
        """All additions, from the first again."""
        self.sum(self.first, self.more, self.count, self.result)
        return self.result


def _sum(first: torch.Tensor, more: torch.Tensor, count: int, result: torch.Tensor) -> None:
    torch.add(first, more, out=result)
    for _ in range(count - 1):
        torch.add(result, more, out=result)


class Item(Chain):
    """One addition whose result is asked for."""

    def step(self) -> torch.Tensor:
        """The addition, and one of its numbers brought to Python."""
        result = super().step()
        result[0, 0].item()
        return result


def chain(job: Job, side: int, count: int) -> Prepared:
    """Additions of two square matrices, one after the other."""
    return Chain(*_pair(job, side), count, compiled=job.mode is Mode.COMPILE).prepared()


def item(job: Job, side: int) -> Prepared:
    """One addition, and one of its numbers read."""
    return Item(*_pair(job, side), 1).prepared()


def _pair(job: Job, side: int) -> tuple[torch.Tensor, torch.Tensor]:
    drawn = drawn_once((2, side, side), job.seed + 1)
    first, more = drawn.to(device=job.device.torch_device(), dtype=converted(job))
    return first, more


def to_device(job: Job, count: int) -> Prepared:
    """The copy of ``count`` numbers from the computer's memory."""
    source = drawn_once((count,), job.seed + 1)
    return Copy(source.clone(), job.device.torch_device()).prepared()


def from_device(job: Job, count: int) -> Prepared:
    """The copy of ``count`` numbers to the computer's memory."""
    source = drawn_once((count,), job.seed + 1)
    return Copy(source.to(device=job.device.torch_device()), torch.device("cpu")).prepared()


def matmul(job: Job, side: int) -> Prepared:
    """The product of two square matrices."""
    left, right = drawn_once((2, side, side), job.seed + 1).to(device=job.device.torch_device(), dtype=converted(job))
    return Product(left, right).prepared()


def copy(job: Job, count: int) -> Prepared:
    """The copy of ``count`` numbers."""
    source, where = drawn_once((count,), job.seed + 1), job.device.torch_device()
    return Copy(source.to(device=where), where).prepared()  # exact, so that float64 adds nothing
