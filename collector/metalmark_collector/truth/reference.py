"""What the CPU computes of a workload: once for each run, and kept in a file for the workers that come later."""

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from metalmark_db.words import Mode, Precision

from ..devices.cpu import Cpu
from ..whole import write_whole
from ..workloads.base import Entry, Job

# A larger output is drawn again faster than it is read: the copy's is its own input.
KEPT_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Reference:
    """The CPU's result for the first samples of a workload."""

    samples: int
    double: bool  # computed in float64 instead of float32
    output: torch.Tensor
    loss: float | None = None  # of the first training step, as is the next
    gradient_norm: float | None = None

    @property
    def name(self) -> str:
        """As the record has it."""
        return "cpu fp64" if self.double else "cpu fp32"


def reference(entry: Entry, job: Job, folder: Path, *, double: bool = False) -> Reference:
    """The CPU's result for ``job``, whatever its device, precision and mode; sets the CPU's switches to compute it."""
    path = folder / file_name(entry, job, double=double)
    kept = _read(path, job, double=double)
    if kept is not None:
        return kept
    computed = _compute(entry, job, double=double)
    if computed.output.numel() * computed.output.element_size() <= KEPT_BYTES:
        _write(path, computed)
    return computed


def file_name(entry: Entry, job: Job, *, double: bool) -> str:
    """Everything that decides the numbers: workload, version, seed, size, samples and their format."""
    facts, samples = entry.facts, job.batch if job.samples is None else job.samples
    return f"{facts.id}-v{facts.version}-{job.seed}-{job.size}-{samples}-{'fp64' if double else 'fp32'}.pt"


def _compute(entry: Entry, job: Job, *, double: bool) -> Reference:
    on_cpu = replace(job, device=Cpu(), precision=Precision.FP32, mode=Mode.EAGER, dropout=False, double=double)
    work = entry.prepare(on_cpu)
    try:
        samples = job.batch if job.samples is None else job.samples
        if work.learn is None or work.gradient_norm is None:
            return Reference(samples, double, work.output().clone())
        output, loss = work.learn()
        return Reference(samples, double, output, float(loss), work.gradient_norm())
    finally:
        work.close()


def _read(path: Path, job: Job, *, double: bool) -> Reference | None:
    """What the file says; None where there is none, or none that can be read."""
    try:
        kept: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        samples = job.batch if job.samples is None else job.samples
        return Reference(samples, double, kept["output"], kept["loss"], kept["gradient_norm"])
    except Exception:  # noqa: BLE001 - a torn file can fail in any way, and all that it costs is to compute again
        return None


def _write(path: Path, result: Reference) -> None:
    content = io.BytesIO()
    torch.save({"output": result.output, "loss": result.loss, "gradient_norm": result.gradient_norm}, content)
    write_whole(path, content.getvalue())
