"""The check of one case: is the output right, and does a training learn?"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from metalmark_db.record import Truth
from metalmark_db.words import Mode, Precision, Task

from .. import settings
from ..budget import OWN_SAMPLES
from ..workloads.base import Entry, Job, Prepared
from . import verdict
from .compare import difference, input_dependence
from .reference import Reference, file_name, reference

STEPS = 5


@dataclass(frozen=True)
class Seen:
    """What a device computed."""

    output: torch.Tensor
    losses: tuple[float, ...] = ()
    gradient_norm: float | None = None


def check_case(
    entry: Entry,
    job: Job,
    folder: Path,
    *,
    prepared: Prepared | None = None,
    brief: bool = False,
    time_s: float = math.inf,
    estimate_s: float = 0.0,
) -> tuple[Truth | None, str | None]:
    """What the comparison of ``job`` with the CPU showed, and a sentence where the result is wrong.

    What is checked is ``prepared``, which training takes back to its first step, or else a build of its
    own. It is closed before the CPU's result is computed, which needs memory too. All switches are set
    for the job afterwards. There is no ``Truth`` where there is no finite number.

    Args:
        entry: the workload.
        job: what is or was measured.
        folder: where the CPU's results are kept, one folder for all workers of a run.
        prepared: the work that is or was measured.
        brief: of a training, compare the output alone, without the five steps, and nothing where that would
            have to be compiled once more.
        time_s: what the CPU may take for its result, if it is not kept already.
        estimate_s: what it would take for the whole batch.
    """
    own = _is_own(job)
    samples = _samples(entry, job, folder, time_s, estimate_s)
    part = replace(job, samples=None if samples == job.batch else samples)
    work = prepared or entry.prepare(job)
    try:
        seen = _trained(work, part, brief) if entry.facts.task is Task.TRAIN else _first(work.output(), part)
    finally:
        work.close()
    if seen is None:
        return None, None
    try:
        expected = reference(entry, part, folder, double=own)
    finally:
        settings.apply(job.precision)
    return _judged(entry, job, expected, seen)


def _is_own(job: Job) -> bool:
    """Whether the CPU would be held against itself."""
    return job.device.kind == "cpu" and job.precision is Precision.FP32 and job.mode is Mode.EAGER


def _samples(entry: Entry, job: Job, folder: Path, time_s: float, estimate_s: float) -> int:
    """How many of the batch are compared: all, unless the CPU is held against itself or has no time."""
    if entry.facts.task is Task.OPERATION:
        return job.batch
    if _is_own(job):
        return min(job.batch, OWN_SAMPLES)
    if estimate_s <= time_s or (folder / file_name(entry, job, double=False)).exists():
        return job.batch
    return min(job.batch, max(OWN_SAMPLES, math.floor(job.batch * time_s / estimate_s)))


def _first(output: torch.Tensor, part: Job) -> Seen:
    return Seen(output if part.samples is None else output[: part.samples])


def _trained(work: Prepared, part: Job, brief: bool) -> Seen | None:
    assert work.gradient_norm is not None  # noqa: S101 - every training has one, as the next
    assert work.restart is not None  # noqa: S101
    had_dropout = work.restart(part.samples)
    if brief and had_dropout and part.mode is Mode.COMPILE:
        return None
    output = work.output()
    if brief:
        return Seen(output)
    losses = [float(work.step())]
    gradient_norm = work.gradient_norm()
    losses += [float(work.step()) for _ in range(STEPS - 1)]
    return Seen(output, tuple(losses), gradient_norm)


def _judged(entry: Entry, job: Job, expected: Reference, seen: Seen) -> tuple[Truth | None, str | None]:
    if seen.output.shape != expected.output.shape:
        return None, verdict.wrong_shape(tuple(seen.output.shape), tuple(expected.output.shape))
    found, tolerance = difference(seen.output, expected.output), entry.tolerances[job.precision]
    least_dependence = verdict.demand(found.reference_rms, _dependence(entry, expected.output))
    if found.not_finite:
        return None, verdict.not_finite(found.not_finite, found.count)
    truth = Truth(
        reference=expected.name,
        samples=entry.facts.batch if entry.facts.task is Task.OPERATION else expected.samples,
        error_norm=found.norm,
        error_max=found.largest,
        error_max_rms=found.largest_rms,
        tolerance=tolerance.output,
        input_dependence=_dependence(entry, seen.output),
        loss_error=_relative(seen.losses[0], expected.loss) if seen.losses else None,
        gradient_error=_relative(seen.gradient_norm, expected.gradient_norm),
        losses=tuple(loss for loss in seen.losses if math.isfinite(loss)) or None,
    )
    return truth, verdict.wrong(truth, tolerance, seen.losses, least_dependence)


def _dependence(entry: Entry, output: torch.Tensor) -> float | None:
    """An operation has no samples, only one input."""
    return None if entry.facts.task is Task.OPERATION else input_dependence(output)


def _relative(value: float | None, right: float | None) -> float | None:
    """The difference as a share of the right value; None where either is unknown or not finite."""
    if value is None or right is None or not math.isfinite(value):
        return None
    return abs(value - right) / abs(right)
