"""How long a case takes on a computer of the fleet: a roofline of what is published of its chip."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from _fleet_computers import Computer
from metalmark_collector.plan import Planned
from metalmark_collector.plugins import KNOWN
from metalmark_db.document import Document, decode
from metalmark_db.plausible import Kind, peak
from metalmark_db.record import Signature
from metalmark_db.words import Mode, Precision, Task

_RECORDED = Path(__file__).parents[1] / "tests" / "data" / "runs"


@dataclass(frozen=True)
class Regression:
    """A release of torch that made some work slower, so that a question about it has an answer."""

    release: int
    device: str
    bound: Kind
    factor: float

    def slows(self, case: Planned, release: int) -> bool:
        """Whether it slows this case down, which is run with that release."""
        here = case.device == self.device and case.mode is Mode.EAGER
        return here and release == self.release and KNOWN[case.workload].bound is self.bound


REGRESSION = Regression(release=14, device="mps", bound=Kind.MODEL, factor=1.12)
_EACH_RELEASE = 0.988  # of the time with the release before

_LOWER = (Precision.FP16, Precision.BF16, Precision.AMP_FP16, Precision.AMP_BF16, Precision.TF32)
_MIXED = (Precision.AMP_FP16, Precision.AMP_BF16)
_BYTES = {Precision.FP16: 2, Precision.BF16: 2}  # of a weight; 4 else
# The share of the peak that work reaches.
_ON_GPU = {Kind.MATMUL: 0.8, Kind.CONVOLUTIONS: 0.42, Kind.MODEL: 0.5}
_ON_CPU = {Kind.MATMUL: 0.75, Kind.CONVOLUTIONS: 0.35, Kind.MODEL: 0.5}
_DEPTHWISE = 0.3  # of that, where convolutions have few inputs each
_APPLE_CORE_TFLOPS = 0.376  # of a GPU core of a chip whose maker names no peak
_TENSOR_CORES = 2.5  # times the rate of fp32, from which they are hard to keep busy
_MATRIX_UNITS = ("M5", "M6")  # whose GPUs have them, for half precision
_APPLE_CPU_TFLOPS = {"M1": 1.4, "M2": 1.6, "M3": 1.8, "M4": 2.6, "M5": 3.0, "M6": 3.3}  # four fast cores
_CORE_TFLOPS = 0.075  # of other processors
_GUEST_CPU = 0.5
_LAUNCH_S = {"M1": 22e-6, "M2": 20e-6, "M3": 18e-6, "M4": 14e-6, "M5": 12e-6, "M6": 11e-6}  # of a kernel, with Metal
_CUDA_LAUNCH_S, _CPU_CALL_S = 7e-6, 1.5e-6
_READ_S = {"mps": 160e-6, "cuda": 12e-6, "cpu": 1e-6}  # until a value has come back
_FUSED = 0.4  # of the calls are left where a compiler joins them
_BACKWARD = 3  # as many calls and passes through memory as a forward pass alone


@cache
def recorded(name: str) -> Document:
    """A run that was really measured."""
    return decode((_RECORDED / f"{name}.json").read_bytes())


@cache
def signatures() -> dict[str, Signature]:
    """The work signatures of a run that was really measured, by workload."""
    cases = recorded("h200-core").run.cases
    return {case.workload: case.signature for case in cases if case.signature is not None}


def seconds(case: Planned, computer: Computer, release: int) -> float:
    """Time of one iteration with that release of torch, before any scatter."""
    facts = case.facts
    work = (facts.flops_per_iteration or 0.0) / (_tflops(case, computer) * 1e12 * _share(case, computer))
    passes = _BACKWARD if facts.task is Task.TRAIN else 1
    moved = facts.bytes_per_iteration or (facts.parameters or 0) * _BYTES.get(case.precision, 4) * passes
    calls = signatures()[case.workload].calls * passes * (_FUSED if case.mode is Mode.COMPILE else 1)
    waits = _READ_S[case.device] if case.workload == "item" else 0.0
    whole = max(work, moved / (_bandwidth_gb_s(case, computer) * 1e9)) + calls * _launch_s(case, computer) + waits
    slower = REGRESSION.factor if REGRESSION.slows(case, release) else 1.0
    return whole * slower * _EACH_RELEASE ** (release - 5) * computer.paces[case.device]


def _tflops(case: Planned, computer: Computer) -> float:
    if case.device == "cpu":
        return _cpu_tflops(computer)
    known = peak(computer.peaks, case.device, case.precision, Kind.MODEL)
    if known is not None:
        return known
    fp32 = computer.peaks.fp32_tflops or _APPLE_CORE_TFLOPS * (computer.machine.gpu_cores or 8)
    faster = computer.generation in _MATRIX_UNITS or case.device == "cuda"
    return fp32 * (2.5 if faster and case.precision in (Precision.FP16, Precision.AMP_FP16) else 1.0)


def _cpu_tflops(computer: Computer) -> float:
    machine = computer.machine
    guest = _GUEST_CPU if machine.virtual else 1.0
    if computer.generation:
        fast = (machine.tier_counts or (4,))[0]
        return float(_APPLE_CPU_TFLOPS[computer.generation] * (fast / 4) ** 0.7 * guest)
    return _CORE_TFLOPS * (machine.cpu_cores or 1) * guest


def _share(case: Planned, computer: Computer) -> float:
    """The share of the peak: by kind of work, by workload, and by how well that suits this family of chips."""
    bound, facts = KNOWN[case.workload].bound, case.facts
    found = (_ON_CPU if case.device == "cpu" else _ON_GPU).get(bound, 0.5)
    if bound is not Kind.MATMUL:
        found *= 0.75 + 0.4 * _fixed(facts.family or facts.id)
    if facts.id.startswith("efficientnet"):
        found *= _DEPTHWISE
    if facts.task is Task.TRAIN:
        found *= 0.9
    if case.precision in _LOWER:
        found *= 0.55 if _tflops(case, computer) > _TENSOR_CORES * (computer.peaks.fp32_tflops or 1e9) else 0.95
    if case.precision in _MIXED:
        found *= 0.75
    if case.mode is Mode.COMPILE:
        found *= 0.95 + 0.3 * _fixed(f"{facts.id} compiled {case.device}")
    return found * (
        0.92 + 0.16 * _fixed(f"{facts.id} {case.device} {computer.generation or computer.machine.gpu_name}")
    )


def _bandwidth_gb_s(case: Planned, computer: Computer) -> float:
    published, cores = computer.peaks.bandwidth_gb_s, computer.machine.cpu_cores or 1
    if case.device != "cpu" and published is not None:
        return 0.85 * published
    return min(0.5 * published, 250.0) if computer.generation and published else min(20.0 + 2 * cores, 80.0)


def _launch_s(case: Planned, computer: Computer) -> float:
    if case.device == "cpu":
        return _CPU_CALL_S
    return _LAUNCH_S.get(computer.generation, _CUDA_LAUNCH_S)


@cache
def _fixed(text: str) -> float:
    """A number from 0 to 1 that is always the same for the same text."""
    return hashlib.sha256(text.encode()).digest()[0] / 255
