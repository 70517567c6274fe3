"""Pictures as models of images are fed: standard normal, at the size of ImageNet or a tiny one."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from .base import Size

SIDE = 224
TINY_SIDE = 32
SHAPE = f"3x{SIDE}x{SIDE}"


def images(size: Size, batch: int, numbers: torch.Generator, *, side: int = SIDE) -> torch.Tensor:
    """A batch of square pictures with three channels."""
    from .building.weights import normal

    pixels = side if size == "real" else TINY_SIDE
    return normal((batch, 3, pixels, pixels), numbers)
