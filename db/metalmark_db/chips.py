"""What is published of a chip: memory bandwidth and peaks of arithmetic, by chip and GPU cores."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from .data import data
from .names import read_aliases
from .published import read_chips
from .record import Machine

_APPLE = "Apple "
_GIB = 2**30
# A few chips have another bandwidth with another size of memory, which the table tells in words.
_BY_MEMORY = re.compile(r"\b([0-9]{1,4}) GB model has ([0-9]{1,5}(?:\.[0-9]{1,3})?) GB/s")


class ChipFacts(Struct, frozen=True, kw_only=True):
    """Published facts of one bin; None where nobody says, or where bins that it may be differ."""

    bandwidth_gb_s: float | None = None
    fp32_tflops: float | None = None
    tf32_tflops: float | None = None
    fp16_tflops: float | None = None
    bf16_tflops: float | None = None


_PEAKS = ("fp32_tflops", "tf32_tflops", "fp16_tflops", "bf16_tflops")


def facts(machine: Machine, rows: Sequence[Mapping[str, Any]] | None = None) -> ChipFacts:
    """The published facts of a machine's Apple chip, or else of its GPU."""
    chip = machine.chip or ""
    spelled = chip if chip.startswith(_APPLE) else machine.gpu_name
    every = read_chips(data("published")) if rows is None else rows
    known = {row["spelling"]: row for row in read_aliases(data("published"), every)} if rows is None else {}
    name, variant = (known[spelled]["chip"], known[spelled]["bin"]) if spelled in known else (spelled, None)
    found = bins(name, machine.gpu_cores, every, virtual=machine.virtual, variant=variant)
    return agreed(found, machine.memory_bytes)


def bins(
    name: str | None,
    gpu_cores: int | None,
    rows: Sequence[Mapping[str, Any]],
    *,
    virtual: bool | None,
    variant: str | None = None,
) -> list[Mapping[str, Any]]:
    """The bins that a chip may be: one chip name has several, told apart by its GPU cores, or a card by its variant.

    Names are those that rows are charted under.
    """
    named = [row for row in rows if row["chip"] == name]
    if any(row["variant"] == variant for row in named):
        named = [row for row in named if row["variant"] == variant]
    if not (name or "").startswith(_APPLE):
        return named  # the cores of a card are told by its name
    if virtual:  # nobody says how much a guest gets of its host's chip; a card is handed on whole
        return []
    return [row for row in named if gpu_cores in (None, row["gpu_cores"])]


def agreed(found: Sequence[Mapping[str, Any]], memory_bytes: int | None) -> ChipFacts:
    """What all of these bins share."""
    return ChipFacts(
        bandwidth_gb_s=_agreed([_bandwidth(row, memory_bytes) for row in found]),
        **{name: _agreed([row[name] for row in found]) for name in _PEAKS},
    )


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
