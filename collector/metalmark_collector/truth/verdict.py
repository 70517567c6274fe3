"""What is wrong with a result, in one sentence."""

import math
from collections.abc import Sequence

from metalmark_db.record import Truth

from ..workloads.base import Tolerance

LARGEST = 30  # times the tolerance: what a single number may be off, over the root mean square
LEAST_DEPENDENCE = 0.05
DEGENERATE = 0.005
LEAST_RMS = 1e-3  # a reference that is nearly zero proves nothing


class Degenerate(RuntimeError):
    """The CPU's own result is next to nothing: the workload's weights are badly prepared."""


def wrong_shape(shape: tuple[int, ...], right: tuple[int, ...]) -> str:
    """A sentence about shapes."""
    return f"The output has the shape {shape}, the CPU's has {right}."


def not_finite(count: int, total: int) -> str:
    """A sentence about NaN and infinity."""
    return f"{count} of the output's {total} numbers are NaN or infinite."


def demand(reference_rms: float, reference_dependence: float | None) -> float:
    """The least dependence on the input that is right, given what the CPU's own result has.

    Raises:
        Degenerate: the CPU's result is next to nothing or hardly depends on the input, so that it proves nothing.
    """
    if reference_rms < LEAST_RMS:
        raise Degenerate(f"the output on the CPU is next to nothing (root mean square {reference_rms:.2g})")
    if reference_dependence is None:
        return 0.0
    if reference_dependence < DEGENERATE:
        raise Degenerate(f"the output on the CPU is the same for all inputs (differences {reference_dependence:.2g})")
    return min(LEAST_DEPENDENCE, reference_dependence / 2)  # few samples can be alike by chance


def wrong(truth: Truth, tolerance: Tolerance, losses: Sequence[float], least_dependence: float) -> str | None:
    """The first thing that is wrong, or None; ``losses`` as they came, of a training."""
    return (
        _output(truth) or _inputs(truth, least_dependence) or (_learning(truth, tolerance, losses) if losses else None)
    )


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


def _inputs(truth: Truth, least: float) -> str | None:
    if truth.input_dependence is not None and truth.input_dependence < least:
        return (
            f"The output hardly depends on the input: two samples' outputs differ by {truth.input_dependence:.2g} "
            f"of their size, and at least {least:.2g} is right."
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
