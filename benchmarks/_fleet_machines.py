"""The computers of a fleet: chips of chips.csv as often as people have them, with the speed that they may have."""

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np

from metalmark_db.data import data
from metalmark_db.published import read_chips
from metalmark_db.record import Machine, Software, Workload
from metalmark_db.words import Mode, Precision

_GIB = 2**30
_LAUNCH_S = {"cpu": 4e-6, "mps": 60e-6, "cuda": 15e-6}
_TIERS = {"": 10.0, "Pro": 5.0, "Max": 2.5, "Ultra": 0.6}  # how many people have each kind
_MACOS = ("26.1", "26.0.1", "15.6", "15.2", "14.7")
_CARDS = {
    "NVIDIA T4": "Tesla T4",
    "NVIDIA RTX 3090": "NVIDIA GeForce RTX 3090",
    "NVIDIA RTX 4090": "NVIDIA GeForce RTX 4090",
}
_CPU_TFLOPS = 0.05  # of one core
_CPU_GB_S = 60.0
_SHARE = {"train": 0.35, "inference": 0.45, "operation": 0.85}  # of the peak that such work reaches


@dataclass(frozen=True, kw_only=True)
class Computer:
    """One computer: what its fingerprint says, and how fast it is."""

    machine: Machine
    software: Software
    reporter: str | None
    gpu: str | None
    factor: float
    laptop: bool
    minors: tuple[int, ...]  # minor releases of torch that its owner may have, newest first
    memory_gib: int
    tflops: float
    half_tflops: float
    bandwidth_gb_s: float

    @property
    def chip(self) -> str:
        """Name of the SoC or CPU."""
        return self.machine.chip or ""

    def seconds(self, facts: Workload, device: str, precision: Precision, mode: Mode) -> float:
        """Time of one iteration: what arithmetic and memory take at the least over the share that is reached."""
        cpu = device == "cpu"
        peak = _CPU_TFLOPS * (self.machine.cpu_cores or 4) if cpu else self.tflops
        if not cpu and precision is not Precision.FP32:
            peak = self.half_tflops
        bandwidth = _CPU_GB_S if cpu else self.bandwidth_gb_s
        share = _SHARE[facts.task.value] * _own_share(facts.id) * (1.1 if mode is Mode.COMPILE else 1.0)
        work = (facts.flops_per_iteration or 0.0) / peak / 1e12 / share
        moved = (facts.bytes_per_iteration or 0.0) / bandwidth / 1e9 / 0.9
        return max(work, moved) + _LAUNCH_S[device]


@cache
def _own_share(workload: str) -> float:
    """Some workloads suit machines better than others, and every machine alike."""
    return 0.7 + 0.3 * hashlib.sha256(workload.encode()).digest()[0] / 255


@cache
def _chips() -> tuple[list[dict[str, object]], np.ndarray]:
    """Rows of chips.csv, and how many people have each."""
    rows = [row for row in read_chips(data("published")) if row["fp32_tflops"] and row["bandwidth_gb_s"]]
    weights = []
    for row in rows:
        parts = str(row["chip"]).split()
        apple = parts[0] == "Apple"
        weights.append(_TIERS.get(parts[2] if len(parts) > 2 else "", 1.0) if apple else 1.2)
    shares = np.array(weights)
    return rows, shares / shares.sum()


@cache
def computer(seed: int, number: int) -> Computer:
    """The computer of a number: the same for the same seed."""
    chance = np.random.default_rng((seed, 1, number))
    rows, shares = _chips()
    row = rows[int(chance.choice(len(rows), p=shares))]
    apple = str(row["chip"]).startswith("Apple ")
    guest = not apple and chance.random() < 0.5
    sizes = [int(size) for size in str(row["memory_options_gb"] or "16 32").split()] if apple else [32, 64, 128]
    memory = int(chance.choice(sizes))
    machine = _mac(row, memory) if apple else _pc(row, memory, guest=guest)
    minors = sorted(chance.choice(np.arange(5, 15), size=3, replace=False, p=_NEWER).tolist(), reverse=True)
    reporter = None if chance.random() < 0.15 else hashlib.sha256(f"{seed} {number}".encode()).hexdigest()[:16]
    tflops = float(str(row["fp32_tflops"]))
    half = float(str(row["fp16_tflops"] or row["fp32_tflops"]))
    return Computer(
        machine=machine,
        software=_software(apple=apple, chance=chance),
        reporter=reporter,
        gpu="mps" if apple else "cuda",
        factor=float(np.exp(chance.normal(0, 0.02))),
        laptop=bool(apple and "Ultra" not in str(row["chip"]) and chance.random() < 0.7),
        minors=tuple(minors),
        memory_gib=memory,
        tflops=tflops,
        half_tflops=half,
        bandwidth_gb_s=float(str(row["bandwidth_gb_s"])),
    )


_NEWER = np.arange(1, 11) / np.arange(1, 11).sum()


def _mac(row: dict[str, object], memory: int) -> Machine:
    fast = int(str(row["cpu_super"] or 0)) or int(str(row["cpu_performance"] or 0))
    slow = int(str(row["cpu_efficiency"] or 0)) or int(str(row["cpu_performance"] or 0)) or 1
    cores = int(str(row["variant"]).split("-")[0])
    return Machine(
        vendor="apple",
        chip=str(row["chip"]),
        cpu_cores=cores,
        tier_counts=(max(1, fast), slow),
        gpu_name=str(row["chip"]),
        gpu_cores=int(str(row["gpu_cores"])),
        gpu_count=1,
        memory_bytes=memory * _GIB,
        memory_total_bytes=memory * _GIB,
        arch="arm64",
        virtual=False,
    )


def _pc(row: dict[str, object], memory: int, *, guest: bool) -> Machine:
    name = str(row["chip"])
    return Machine(
        vendor="amd",
        chip="AMD EPYC 7B13",
        cpu_cores=16,
        tier_counts=(16,),
        gpu_name=_CARDS.get(name, name),
        gpu_cores=100,
        gpu_count=1,
        memory_bytes=None if guest else memory * _GIB,
        memory_total_bytes=memory * _GIB - 300 * 2**20,
        arch="x86_64",
        virtual=guest,
    )


def _software(*, apple: bool, chance: np.random.Generator) -> Software:
    if apple:
        return Software(
            os_name="macOS",
            os_version=str(chance.choice(_MACOS, p=(0.4, 0.15, 0.25, 0.1, 0.1))),
            process_arch="arm64",
            rosetta=False,
            python_version="3.12.7",
            torch_debug=False,
            threads=8,
            timm_version="1.0.31",
            metalmark_version="0.1.0",
        )
    return Software(
        os_name="Linux",
        os_version="Ubuntu 24.04",
        kernel="6.8.0",
        process_arch="x86_64",
        python_version="3.12.3",
        torch_debug=False,
        threads=16,
        gpu_driver="580.159",
        metalmark_version="0.1.0",
    )
