"""The suite as a list for people and for programs."""

from typing import Any

import msgspec

from metalmark_db import output
from metalmark_db.record import Workload
from metalmark_db.terminal import significant

from .devices import CHOICES
from .efforts import EFFORTS
from .workloads import WORKLOADS
from .workloads.base import Entry

_COLUMNS = ("workload", "task", "batch", "input", "GFLOP", "parameters", "precisions", "efforts", "source")
_RIGHT = ("batch", "GFLOP", "parameters")


def suite() -> list[dict[str, Any]]:
    """Every workload as plain values: its facts, and where and in which efforts it is measured."""
    return [
        msgspec.to_builtins(entry.facts)
        | {
            "efforts": _efforts(entry.facts),
            "precisions": {kind: [one.value for one in entry.precisions.get(kind, ())] for kind in CHOICES},
        }
        for entry in WORKLOADS.values()
    ]


def show_suite() -> None:
    """Print the suite as a table."""
    output.table(None, _COLUMNS, [_cells(entry) for entry in WORKLOADS.values()], right=_RIGHT)


def _cells(entry: Entry) -> tuple[str, ...]:
    facts = entry.facts
    flops = facts.flops_per_iteration
    return (
        facts.id,
        facts.task.value,
        str(facts.batch),
        facts.input_shape,
        significant(flops / 1e9) if flops is not None else "",
        f"{facts.parameters:,}" if facts.parameters is not None else "",
        _precisions(entry),
        ", ".join(_efforts(facts)),
        facts.source,
    )


def _efforts(facts: Workload) -> list[str]:
    return [effort.value for effort, scope in EFFORTS.items() if facts.id in scope.workloads]


def _precisions(entry: Entry) -> str:
    """The precisions on any device, each once: fp32, fp16, bf16, tf32 (CUDA)."""
    usual = entry.precisions["cpu"]
    words = [one.value for one in usual]
    return ", ".join(words + [f"{one.value} (CUDA)" for one in entry.precisions["cuda"] if one not in usual])
