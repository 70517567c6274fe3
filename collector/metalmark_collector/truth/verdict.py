"""What is wrong with a result, in one sentence."""

import math
from collections.abc import Sequence

from metalmark_db.record import Truth

from ..workloads.base import Tolerance

LARGEST = 30  # times the tolerance: what a single number may be off, over the root mean square
LEAST_DEPENDENCE = 0.05
LEAST_RMS = 1e-3  # a reference that is nearly zero proves nothing


class Degenerate(RuntimeError):
    """The CPU's own result is next to nothing: the workload's weights are badly prepared."""


def wrong_shape(shape: tuple[int, ...], right: tuple[int, ...]) -> str:
    """A sentence about shapes."""
    return f"The output has the shape {shape}, the CPU's has {right}."


def not_finite(count: int, total: int) -> str:
    """A sentence about NaN and infinity."""
    return f"{count} of the output's {total} numbers are NaN or infinite."


def wrong(truth: Truth, tolerance: Tolerance, losses: Sequence[float], reference_rms: float) -> str | None:
    """The first thing that is wrong, or None; ``losses`` as they came, of a training.

    Raises:
        Degenerate: the reference is next to nothing, so that nothing can be said.
    """
    if reference_rms < LEAST_RMS:
        raise Degenerate(f"the output on the CPU is next to nothing (root mean square {reference_rms:.2g})")
    return _output(truth) or _inputs(truth) or (_learning(truth, tolerance, losses) if losses else None)


def _output(truth: Truth) -> str | None:
    if truth.error_norm > truth.tolerance:
        return (
            f"The output differs from the {truth.reference} result by {truth.error_norm:.2g} of its size; "
            f"{truth.tolerance:.2g} is allowed."
        )
    if truth.error_max_rms > LARGEST * truth.tolerance:
        return (
            f"One number of the output is off by {truth.error_max_rms:.2g} times the output's root mean square; "
            f"{LARGEST * truth.tolerance:.2g} is allowed."
        )
    return None


def _inputs(truth: Truth) -> str | None:
    if truth.input_dependence is not None and truth.input_dependence < LEAST_DEPENDENCE:
        return (
            f"The output hardly depends on the input: two samples' outputs differ by {truth.input_dependence:.2g} "
            f"of their size, and at least {LEAST_DEPENDENCE} is right."
        )
    return None


def _learning(truth: Truth, tolerance: Tolerance, losses: Sequence[float]) -> str | None:
    for name, error, allowed in (
        ("loss", truth.loss_error, tolerance.loss),
        ("gradient norm", truth.gradient_error, tolerance.gradient),
    ):
        if error is None:
            return f"The first step's {name} is NaN or infinite."
        if allowed is not None and error > allowed:
            return (
                f"The first step's {name} differs from the {truth.reference} result by {error:.2g} of it; "
                f"{allowed:.2g} is allowed."
            )
    if not all(map(math.isfinite, losses)):
        return (
            f"The loss is not finite after step {next(n for n, loss in enumerate(losses) if not math.isfinite(loss))}."
        )
    if losses[-1] >= losses[0]:
        return f"The loss does not fall: {losses[0]:.6g} in the first step, {losses[-1]:.6g} in step {len(losses)}."
    return None
