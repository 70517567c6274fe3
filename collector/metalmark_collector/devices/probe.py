"""Whether a device really computes: a small calculation there, held against the CPU in double precision."""

import torch
from torch.nn.functional import conv2d

# Wide enough for TF32 and for any order of summation; a device that fails is off by far more.
TOLERANCE = 1e-2


def unusable_because(target: torch.device) -> str | None:
    """None if ``target`` allocates, computes and agrees with the CPU, else a sentence that says what failed."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(2, 3, 32, 32, generator=generator)
    kernel = torch.randn(8, 3, 3, 3, generator=generator)
    matrix = torch.randn(8, 64, generator=generator)
    truth = _small_network(images.double(), kernel.double(), matrix.double())
    try:
        result = _small_network(images.to(target), kernel.to(target), matrix.to(target)).cpu().double()
    except (RuntimeError, AssertionError, TypeError) as error:  # torch raises any of these for a missing backend
        return f"torch cannot compute on {target.type}: {_first_line(error)}"
    difference = float((result - truth).norm() / truth.norm())
    if difference <= TOLERANCE:  # also False for NaN
        return None
    return (
        f"{target.type} gives wrong numbers: a small convolution and product differ from the CPU's "
        f"by {difference:.2g} of their size."
    )


def _small_network(images: torch.Tensor, kernel: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    channels = conv2d(images, kernel).relu().permute(0, 2, 3, 1)
    return torch.softmax(channels @ matrix, dim=-1).sum(dim=(1, 2))


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
