"""The suite as a list for people and for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from metalmark_db import output
from metalmark_db.columns import flat
from metalmark_db.record import Machine, Workload
from metalmark_db.terminal import seconds, significant
from metalmark_db.words import Effort, Mode, Precision

from . import estimate, memory
from .devices import CHOICES, default_devices
from .efforts import EFFORTS
from .plan import make_plan, named
from .plugins import KNOWN
from .workloads import WORKLOADS
from .workloads.base import Entry

Iterations = Mapping[str, Mapping[str, float]]  # seconds of one iteration, by workload and device

_COLUMNS = ("workload", "GFLOP", "memory", "efforts", "source", "batch", "input", "parameters", "precisions")
_RIGHT = ("GFLOP", "memory", "batch", "parameters")
_SHED = ("input", "batch", "precisions", "parameters", "source", "GFLOP", "memory")
_SMALLEST = {Effort.QUICK: "quick and up", Effort.STANDARD: "standard, full", Effort.FULL: "full"}


def show_suite(engine: sa.Engine | None, machine: Machine, patterns: Sequence[str], *, as_json: bool = False) -> None:
    """Print the workloads that fit the patterns, all of them where there is none, with what they take here.

    Args:
        engine: where earlier runs of this machine lie; None where nothing has been measured yet.
        machine: what the times are estimated for.
        patterns: names or patterns of names.
        as_json: a JSON list of objects instead of a table.
    """
    names = list(dict.fromkeys(name for pattern in patterns for name in named(pattern))) or list(WORKLOADS)
    devices = default_devices(machine)
    plan = make_plan(Effort.FULL, devices, 0, only=names, precisions=[Precision.FP32], modes=[Mode.EAGER])
    found = estimate.estimate(engine, plan, machine) if engine is not None else estimate.expect(plan, machine, {})
    iterations: dict[str, dict[str, float]] = {}
    for case in found.cases:
        iterations.setdefault(case.workload, {})[case.device] = case.iteration_s
    entries = [KNOWN[name] for name in names]
    if as_json:
        print(json.dumps(suite(entries, iterations, found.from_run), ensure_ascii=False, indent=1))  # noqa: T201
        return
    columns = (_COLUMNS[0], *(f"on {device}" for device in devices), *_COLUMNS[1:])
    rows = [_cells(entry, [iterations.get(entry.facts.id, {}).get(device) for device in devices]) for entry in entries]
    output.table(None, columns, rows, right=(*columns[1 : len(devices) + 1], *_RIGHT), shed=_SHED)
    source = "a guess" if found.from_run is None else f"what run {found.from_run} measured"
    output.say(
        f"{len(entries)} of {len(KNOWN)} workloads. Times are one iteration in fp32 on this machine, estimated "
        f"from FLOPs and {source}. An effort measures what it names and all that smaller ones do: "
        "metalmark run --effort standard; one or several alone: metalmark run --workload 'resnet50-*'"
    )


def suite(
    entries: Sequence[Entry], iterations: Iterations | None = None, from_run: int | None = None
) -> list[dict[str, Any]]:
    """Workloads as plain values: facts, memory, and where, in which efforts and for how long they are measured."""
    return [
        flat(entry.facts)
        | {
            "efforts": _efforts(entry.facts),
            "precisions": {kind: [one.value for one in entry.precisions.get(kind, ())] for kind in CHOICES},
            "modes": [mode.value for mode in entry.modes],
            "tolerances": {
                str(one): tolerance.output for one, tolerance in entry.tolerances.items()
            },  # a plugin may say "fp32"
            "memory_bytes": _memory(entry),
            "kept_bytes_per_sample": entry.kept_bytes_per_sample,
            "iteration_s": dict((iterations or {}).get(entry.facts.id, {})),
            "estimated_from_run": from_run,
        }
        for entry in entries
    ]


def _cells(entry: Entry, times: Sequence[float | None]) -> tuple[str, ...]:
    facts = entry.facts
    flops = facts.flops_per_iteration
    efforts = _efforts(facts)
    return (
        facts.id,
        *(seconds(one) if one is not None else "" for one in times),
        significant(flops / 1e9) if flops is not None else "",
        f"{significant(_memory(entry) / 2**30)} GiB" if _memory(entry) else "",
        _SMALLEST[Effort(efforts[0])] if efforts else "by name only",
        facts.source,
        str(facts.batch),
        facts.input_shape,
        f"{facts.parameters:,}" if facts.parameters is not None else "",
        _precisions(entry),
    )


def _memory(entry: Entry) -> int:
    return memory.needed_bytes(entry.facts, entry.kept_bytes_per_sample, entry.copies)


def _efforts(facts: Workload) -> list[str]:
    return [effort.value for effort, scope in EFFORTS.items() if facts.id in scope.workloads]


def _precisions(entry: Entry) -> str:
    """The precisions on any device, each once: fp32, fp16, bf16, tf32 (CUDA)."""
    usual = entry.precisions["cpu"]
    words = [one.value for one in usual]
    return ", ".join(words + [f"{one.value} (CUDA)" for one in entry.precisions["cuda"] if one not in usual])
