"""How far one tensor is from another, whatever their size: in pieces, in double precision, on the CPU."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

_PIECE = 2**18  # numbers: half a gigabyte must not cost gigabytes to compare, and a piece stays in the cache
_PARTS = 16


@dataclass(frozen=True)
class Difference:
    """What a comparison found."""

    norm: float  # of the difference over the norm of the reference
    largest: float  # single difference
    largest_rms: float  # the same over the root mean square of the reference
    not_finite: int  # numbers of the output that are NaN or infinite
    count: int
    reference_rms: float


def difference(output: torch.Tensor, reference: torch.Tensor) -> Difference:
    """The difference of ``output``, wherever it lies, from ``reference`` of the same shape."""
    squares = reference_squares = largest = 0.0
    not_finite = 0
    for piece, right in zip(_pieces(output), _pieces(reference), strict=True):
        reference_squares += float(torch.linalg.vector_norm(right, dtype=torch.float64)) ** 2
        if piece.dtype == right.dtype and torch.equal(piece, right):  # which NaN never is, to anything
            not_finite += int(piece.isinf().sum()) if not math.isfinite(reference_squares) else 0
            continue
        off = piece.double() - right.double()
        squares += float(off.square().sum())
        largest = max(largest, float(off.abs().max()))
        not_finite += int((~piece.isfinite()).sum())
    rms = (reference_squares / reference.numel()) ** 0.5
    return Difference(
        norm=_over(squares**0.5, reference_squares**0.5),
        largest=largest,
        largest_rms=_over(largest, rms),
        not_finite=not_finite,
        count=output.numel(),
        reference_rms=rms,
    )


def input_dependence(output: torch.Tensor) -> float | None:
    """How much the outputs of two samples differ, over the size of one: the first against the one farthest from it.

    None where there is one sample only.
    """
    if output.dim() == 0 or len(output) < 2:  # noqa: PLR2004 - it takes two to differ
        return None
    first, *others = (sample.detach().cpu().double() for sample in output)
    return _over(max(float((other - first).norm()) for other in others), float(first.norm()))


def _pieces(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Parts of a tensor on the CPU; from a device it comes in larger ones, since each is waited for."""
    for part in torch.split(tensor.detach().reshape(-1), _PARTS * _PIECE):
        yield from torch.split(part.cpu(), _PIECE)


def _over(part: float, whole: float) -> float:
    return part / whole if whole else (0.0 if part == 0 else float("inf"))
