"""What is published of a chip: memory bandwidth and peaks of arithmetic, by chip and GPU cores."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from .data import data
from .published import read_chips
from .record import Machine

_GIB = 2**30
# A few chips have another bandwidth with another size of memory, which the table tells in words.
_BY_MEMORY = re.compile(r"\b([0-9]{1,4}) GB model has ([0-9]{1,5}(?:\.[0-9]{1,3})?) GB/s")


class ChipFacts(Struct, frozen=True, kw_only=True):
    """Published facts of one bin; None where nobody says, or where bins that it may be differ."""

    bandwidth_gb_s: float | None = None
    fp32_tflops: float | None = None
    fp16_tflops: float | None = None


def facts(machine: Machine, rows: Sequence[Mapping[str, Any]] | None = None) -> ChipFacts:
    """The published facts of a machine's Apple chip, or else of its GPU.

    One chip name has several bins, which its GPU cores tell apart. Names are compared as they are.
    """
    bins = _bins(machine, read_chips(data("published")) if rows is None else rows)
    return ChipFacts(
        bandwidth_gb_s=_agreed([_bandwidth(row, machine.memory_bytes) for row in bins]),
        fp32_tflops=_agreed([row["fp32_tflops"] for row in bins]),
        fp16_tflops=_agreed([row["fp16_tflops"] for row in bins]),
    )


def _bins(machine: Machine, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    chip = machine.chip or ""
    if not chip.startswith("Apple "):
        return [row for row in rows if row["chip"] == machine.gpu_name]
    if machine.virtual:  # nobody says how much a guest gets of its host's chip; a card is handed on whole
        return []
    return [row for row in rows if row["chip"] == chip and machine.gpu_cores in (None, row["gpu_cores"])]


def _bandwidth(row: Mapping[str, Any], memory_bytes: int | None) -> float | None:
    other = _BY_MEMORY.search(row["note"] or "")
    if other is None:
        return _number(row["bandwidth_gb_s"])
    if memory_bytes is None:
        return None
    return float(other[2]) if round(memory_bytes / _GIB) == int(other[1]) else _number(row["bandwidth_gb_s"])


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _agreed(values: Sequence[float | None]) -> float | None:
    """The one value of all bins."""
    return values[0] if values and len(set(values)) == 1 else None
