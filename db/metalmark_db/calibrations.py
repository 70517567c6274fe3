"""Calibrations beside the published peaks of their chips: what share of a peak was reached."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from . import chips
from .plausible import Kind, calibrates, is_beyond_peak, peak, rate
from .rows import Calibration, ChipRow, ResultRow, WorkloadRow
from .words import Precision

_Bins = list[Mapping[str, Any]]
_Known = tuple[_Bins, chips.ChipFacts]


def with_calibrations(
    results: Sequence[ResultRow], workloads: Sequence[WorkloadRow], table: Sequence[ChipRow]
) -> list[ResultRow]:
    """The same rows; those of calibrations tell their rate, and what share of their chip's peak it is."""
    counted = {(row.id, row.version): row for row in workloads}
    facts = [msgspec.structs.asdict(row) for row in table]

    @functools.cache  # many rows of few machines
    def known(
        name: str | None, variant: str | None, gpu_cores: int | None, virtual: bool | None, memory_bytes: int | None
    ) -> _Known:
        found = chips.bins(name, gpu_cores, facts, virtual=virtual, variant=variant)
        return found, chips.agreed(found, memory_bytes)

    return [_with_calibration(row, counted.get((row.workload, row.version)), known) for row in results]


def _with_calibration(row: ResultRow, workload: WorkloadRow | None, known: Callable[..., _Known]) -> ResultRow:
    kind = calibrates(row.workload)
    if kind is None or workload is None or row.outcome != "ok" or not row.median_s or row.fallback:
        return row
    reached = rate(workload, row.median_s, kind)
    if reached is None:
        return row
    found, facts = known(row.chip, row.bin, row.gpu_cores, row.virtual, row.memory_bytes)
    precision = Precision(row.precision)
    most = peak(facts, row.device, precision, kind)
    told = Calibration(
        rate=reached,
        unit="GB/s" if kind is Kind.COPY else "TFLOP/s",
        peak=most,
        share=reached / most if most else None,
        beyond=is_beyond_peak(reached, most, kind),
        source=_source(found, kind, precision) if most else None,
    )
    return msgspec.structs.replace(row, calibration=told)


def _source(found: _Bins, kind: Kind, precision: Precision) -> str:
    """Where the peak comes from; bins that agree in it may have several sources."""
    column = "source" if kind is Kind.COPY or precision is Precision.FP32 else "low_precision_source"
    return "; ".join(dict.fromkeys(row[column] for row in found if row[column]))
