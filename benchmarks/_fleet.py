"""A fleet of computers and their runs, of any size, the same for the same seed: for tests and benchmarks of the store.

Every document is as ``metalmark run`` makes it: 80 cases, 3 rounds of 20 samples, with truth, conditions, settings and
signatures of a run that was really measured. Times follow a roofline of the chip's published figures, with scatter
between computers (2 %), runs (1 %), rounds (0.7 %) and samples (1 to 3 %). What fails depends on chip, memory, torch.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from _fleet_machines import Computer, computer
from metalmark_db.document import Document, decode, document_of
from metalmark_db.record import Case, Conditions, Moment, Round, Run, RunHead, Software, Workload
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

CASES, ROUNDS, SAMPLES = 80, 3, 20
BLOCK_S = 0.025  # aimed at, as the engine does
SLOWER = ("2.14", 1.06, "resnet")  # a release that made some work slower, so that a question about it has an answer
_BLOCK = 300  # runs that share a hundred computers
_TEMPLATE = Path(__file__).parents[1] / "tests" / "data" / "runs" / "h200-core.json"
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LAUNCH_S = 20e-6
_Random = np.random.Generator


class Fleet:
    """Runs by number: run k is the same in a fleet of any size."""

    def __init__(self, seed: int = 1) -> None:
        self.seed = seed

    def documents(self, count: int, first: int = 0) -> Iterator[Document]:
        """The documents of the runs from ``first`` on, one after the other."""
        return (self.document(number) for number in range(first, first + count))

    def document(self, number: int) -> Document:
        """The document of a run."""
        chance = np.random.default_rng((self.seed, 2, number))
        block = number // _BLOCK
        which = block * (_BLOCK // 3) + int(chance.integers(_BLOCK // 3))
        machine = computer(self.seed, which)
        software = _software(machine, chance)
        before = _conditions(machine, chance)
        head = RunHead(
            started_at=(_START + timedelta(minutes=11 * (number % 40_000))).isoformat(timespec="seconds"),
            effort=Effort.STANDARD,
            seed=number,
            machine=machine.machine,
            software=software,
            conditions_before=before,
            reporter=machine.reporter,
        )
        speed = machine.factor * math.exp(chance.normal(0, 0.01)) * (1.6 if before.low_power_mode else 1.0)
        cases = tuple(self._case(plan, machine, software, speed, chance) for plan in self._plans(machine))
        run = Run(head=head, conditions_after=before, finished=True, cases=cases)
        return document_of(run, self._template.workloads)

    @cached_property
    def _template(self) -> Document:
        return decode(_TEMPLATE.read_bytes())

    @cached_property
    def _models(self) -> dict[str, Case]:
        """A case of each workload that really ran, whose evidence others borrow."""
        return {case.workload: case for case in self._template.run.cases if case.outcome is Outcome.OK}

    def _plans(self, machine: Computer) -> list[tuple[Workload, str, Precision, Mode]]:
        """The cases that the standard effort plans: both devices in fp32, lower precisions, four compiled."""
        facts = [one for one in self._template.workloads if one.id in self._models]
        gpu = machine.gpu
        plans = [(one, "cpu", Precision.FP32, Mode.EAGER) for one in facts]
        if gpu is None:
            return plans
        plans += [(one, gpu, Precision.FP32, Mode.EAGER) for one in facts]
        low = {"train": Precision.AMP_FP16, "inference": Precision.FP16, "operation": Precision.FP16}
        halves = [one for one in facts if one.flops_per_iteration]
        plans += [(one, gpu, low[one.task.value], Mode.EAGER) for one in halves]
        plans += [(one, gpu, Precision.FP32, Mode.COMPILE) for one in facts if "resnet" in one.id or "bert" in one.id]
        return plans[:CASES]

    def _case(
        self,
        plan: tuple[Workload, str, Precision, Mode],
        machine: Computer,
        software: Software,
        speed: float,
        chance: _Random,
    ) -> Case:
        facts, device, precision, mode = plan
        model = self._models[facts.id]
        outcome, reason, detail = _outcome(facts, device, mode, machine, software, chance)
        ok = outcome is Outcome.OK
        seconds = machine.seconds(facts, device, precision, mode) * speed * _drift(facts, software)
        changes: dict[str, Any] = {
            "device": device,
            "precision": precision,
            "mode": mode,
            "outcome": outcome,
            "reason": reason,
            "detail": detail,
            "device_chip": machine.chip if device in ("cpu", "mps") else machine.machine.gpu_name,
            "conditions": Moment(load_1m=round(float(chance.uniform(0.5, 4)), 2), swap_used_bytes=0),
            "truth": model.truth if ok else None,
            "rounds": _rounds(model.rounds[0], seconds, chance) if ok else (),
        }
        return msgspec.structs.replace(model, **changes)


def _software(machine: Computer, chance: _Random) -> Software:
    minor = machine.minors[min(int(chance.exponential(1.6)), len(machine.minors) - 1)]
    gpu = "+cu130" if machine.gpu == "cuda" else ""
    return msgspec.structs.replace(machine.software, torch_version=f"2.{minor}.0{gpu}")


def _conditions(machine: Computer, chance: _Random) -> Conditions:
    mac = machine.gpu == "mps"
    battery = mac and machine.laptop and chance.random() < 0.12
    return Conditions(
        power_source=("battery" if battery else "ac") if mac else None,
        low_power_mode=bool(battery and chance.random() < 0.3) if mac else None,
        thermal_state="nominal" if mac else None,
        swap_used_bytes=0,
        load_1m=round(float(chance.uniform(0.5, 3)), 2),
        niceness=0,
    )


def _drift(facts: Workload, software: Software) -> float:
    """How torch's releases change speed: a little faster each, but for one and some work."""
    minor = int((software.torch_version or "2.0").split(".")[1])
    release, factor, work = SLOWER
    slower = factor if f"2.{minor}" == release and work in facts.id else 1.0
    return slower * 0.99 ** (minor - 5)


def _outcome(
    facts: Workload, device: str, mode: Mode, machine: Computer, software: Software, chance: _Random
) -> tuple[Outcome, Reason | None, str | None]:
    """What a case ends as: some failures have their causes, a few have none."""
    minor = int((software.torch_version or "2.0").split(".")[1])
    if device == "mps" and minor < 7 and facts.id.startswith(("vit", "gpt")):
        return Outcome.UNSUPPORTED_OP, None, "The operator is not implemented for the MPS device."
    if device == "mps" and machine.memory_gib == 8 and facts.batch >= 32 and "vgg" in facts.id:
        return Outcome.OUT_OF_MEMORY, None, "MPS backend out of memory."
    if mode is Mode.COMPILE and machine.gpu is not None and minor < 6:
        return Outcome.NOT_RUN, Reason.NO_COMPILER, None
    seen = chance.random()
    if seen < 0.002:
        return Outcome.CRASH, None, "The worker ended by signal 6 (SIGABRT)."
    if seen < 0.004:
        return Outcome.TIMEOUT, None, "No answer within the deadline."
    if seen < 0.02:
        return Outcome.NOT_RUN, Reason.BUDGET, None
    return Outcome.OK, None, None


def _rounds(model: Round, seconds: float, chance: _Random) -> tuple[Round, ...]:
    iterations = max(1, round(BLOCK_S / seconds))
    medians = seconds * np.exp(chance.normal(0, 0.007, ROUNDS))
    spread = chance.uniform(0.01, 0.03)
    blocks = medians[:, None] * iterations * (1 + np.abs(chance.normal(0, spread, (ROUNDS, SAMPLES))))
    numbers = np.maximum(1, np.rint(blocks * 1e9)).astype(np.int64).tolist()
    return tuple(
        Round(
            number=number,
            iterations=iterations,
            block_ns=tuple(block),
            first_call_ns=block[0] * 3,
            warmup_iterations=model.warmup_iterations,
            enqueue_ns=block[0] // 3,
            residual_ns=model.residual_ns,
            peak_memory_bytes=model.peak_memory_bytes,
            peak_memory_source=model.peak_memory_source,
            process_peak_bytes=model.process_peak_bytes,
            probe_enqueue_ns=model.probe_enqueue_ns,
            probe_synchronized_ns=model.probe_synchronized_ns,
        )
        for number, block in enumerate(numbers)
    )


__all__ = ["CASES", "ROUNDS", "SAMPLES", "SLOWER", "Fleet"]
