"""What is installed on a computer of the fleet on a day, and the state that it is in."""

import hashlib
import random
from datetime import date

import msgspec

from _fleet_computers import RELEASED, Computer
from metalmark_db.record import Conditions, Moment, Software

# Releases of macOS: version, build, kernel, day. Of the older ones the last, since their day says whose they are.
_MACOS = (
    ("13.7.8", "22H730", "22.6.0", date(2022, 10, 24)),
    ("14.8.2", "23J126", "23.6.0", date(2023, 9, 26)),
    ("15.7.2", "24G325", "24.6.0", date(2024, 9, 16)),
    ("26.1", "25B78", "25.1.0", date(2025, 11, 3)),
    ("26.2", "25C56", "25.2.0", date(2025, 12, 12)),
    ("26.3.1", "25D2128", "25.3.0", date(2026, 3, 4)),
    ("26.4.1", "25E253", "25.4.0", date(2026, 4, 8)),
    ("26.5.2", "25F84", "25.5.0", date(2026, 6, 24)),
    ("27.0", "26A428", "27.0.0", date(2026, 9, 14)),
    ("27.1", "26B82", "27.1.0", date(2026, 10, 28)),
)
TORCH = (  # releases of torch: version, day
    ("2.5.1", date(2024, 10, 29)),
    ("2.6.0", date(2025, 1, 29)),
    ("2.7.1", date(2025, 6, 4)),
    ("2.8.0", date(2025, 8, 6)),
    ("2.9.1", date(2025, 11, 12)),
    ("2.10.0", date(2026, 1, 21)),
    ("2.11.0", date(2026, 3, 23)),
    ("2.12.0", date(2026, 5, 13)),
    ("2.13.0", date(2026, 7, 8)),
    ("2.14.1", date(2026, 9, 9)),
)
_PYTHONS = ("3.11.9", "3.12.7", "3.12.10")
_NEWER_PYTHONS = ("3.13.5", "3.13.9")  # from torch 2.7 on
_WITH_NEWER_PYTHONS = 7
_LINUX = (
    ("Ubuntu 24.04", "6.8.0-85-generic"),
    ("Ubuntu 22.04", "5.15.0-157-generic"),
    ("Debian GNU/Linux 12", "6.1.0"),
)
_DRIVERS = ("550.163.01", "570.195.03", "580.105.08")
_SHARED_BUILD = {"BUILD_TYPE": "Release", "USE_NNPACK": "ON", "USE_OPENMP": "ON", "USE_ROCM": "OFF", "USE_XPU": "OFF"}
_MAC_BUILD = _SHARED_BUILD | {
    "BLAS_INFO": "accelerate",
    "COMPILER": "clang 17.0.0",
    "CPU_CAPABILITY": "DEFAULT",
    "LAPACK_INFO": "accelerate",
    "USE_CUDA": "0",
    "USE_CUDNN": "OFF",
    "USE_MKL": "OFF",
    "USE_MKLDNN": "OFF",
    "USE_NCCL": "OFF",
}
_LINUX_BUILD = _SHARED_BUILD | {
    "BLAS_INFO": "mkl",
    "COMPILER": "GCC 13.3",
    "CPU_CAPABILITY": "AVX2",
    "CUDNN_VERSION": "9.19.0",
    "LAPACK_INFO": "mkl",
    "MKL": "2024.2-Product Build 20240605",
    "MKLDNN": "3.10.2",
    "OPENMP": "201511",
    "PERF_WITH_AVX": "1",
    "PERF_WITH_AVX2": "1",
    "USE_CUDA": "1",
    "USE_CUDNN": "ON",
    "USE_CUSPARSELT": "1",
    "USE_MKL": "ON",
    "USE_MKLDNN": "ON",
    "USE_NCCL": "1",
}


def torch_release(text: str | None) -> int:
    """Which release of torch 2 it is: 14 of 2.14.1+cu130."""
    return int((text or "2.0").split(".")[1])


def software(computer: Computer, day: date, chance: random.Random) -> Software:
    """What is installed on that day."""
    out = [version for version, released in TORCH if released <= day]
    version = out[max(0, len(out) - 1 - computer.torch_behind)]
    release = torch_release(version)
    pythons = _PYTHONS + (_NEWER_PYTHONS if release >= _WITH_NEWER_PYTHONS else ())
    common = Software(
        process_arch=computer.machine.arch,
        rosetta=False,
        python_version=pythons[sum(map(ord, computer.reporter or "")) % len(pythons)],
        torch_version=version,
        torch_git=hashlib.sha1(version.encode(), usedforsecurity=False).hexdigest(),
        torch_debug=False,
        threads=computer.machine.tier_counts[0] if computer.machine.tier_counts else None,
        torchvision_version=f"0.{release + 15}.{version.split('.')[2]}",
        timm_version="1.0.31",
        transformers_version="5.24.0",
        metalmark_version="0.1.0",
        environment={"OMP_NUM_THREADS": "4"} if chance.random() < 0.02 else {},
    )
    if computer.generation:
        return _on_macos(common, computer, day)
    cuda = "13.0" if release >= 9 else "12.4"
    system, kernel = _LINUX[computer.torch_behind % len(_LINUX)]
    return msgspec.structs.replace(
        common,
        os_name="Linux",
        os_version=system,
        kernel=kernel,
        torch_version=f"{version}+cu{cuda.replace('.', '')}",
        torch_build=_LINUX_BUILD | {"CUDA_VERSION": cuda},
        gpu_driver=_DRIVERS[computer.torch_behind % len(_DRIVERS)] if computer.gpu else None,
    )


def _on_macos(common: Software, computer: Computer, day: date) -> Software:
    # A new Mac comes with the macOS of its day.
    known = max(day - computer.macos_behind, RELEASED.get(computer.machine.chip or "", date.min))
    version, build, kernel, _ = [one for one in _MACOS if one[-1] <= known][-1]
    return msgspec.structs.replace(
        common, os_name="macOS", os_version=version, os_build=build, kernel=kernel, torch_build=_MAC_BUILD
    )


def conditions(computer: Computer, chance: random.Random) -> Conditions:
    """The state in which a run begins: a laptop may be on battery, and a low power mode forgotten."""
    machine = computer.machine
    memory = machine.memory_total_bytes or 0
    common = Conditions(
        swap_used_bytes=_swap(memory, chance),
        memory_available_bytes=int(memory * chance.uniform(0.35, 0.8)) // 16384 * 16384,
        load_1m=round(chance.uniform(0.2, 2.5), 2),
        niceness=0,
    )
    if computer.gpu == "cuda":
        return msgspec.structs.replace(common, gpu_memory_used_bytes=0, gpu_users=0, gpu_utilization_percent=0)
    if not computer.generation:
        return common
    on_battery = computer.battery and chance.random() < 0.08
    low = chance.random() < (0.3 if on_battery else 0.015)
    return msgspec.structs.replace(
        common,
        power_source="battery" if on_battery else "ac",
        power_mode="low" if low else "automatic",
        low_power_mode=low,
        thermal_state="Nominal",  # whatever happens: Macs say so too while they slow down
        qos="default",
        displays=chance.choice((0, 1, 1, 1, 2)),
        gpu_memory_used_bytes=chance.randrange(200, 900) * 2**20 if computer.gpu else None,
        gpu_utilization_percent=chance.randrange(12) if computer.gpu else None,
    )


def moment(state: Conditions, chance: random.Random) -> Moment:
    """The part of a state that is read again when a case has ended."""
    available = int((state.memory_available_bytes or 0) * chance.uniform(0.9, 1.0)) // 16384 * 16384
    return Moment(
        power_source=state.power_source,
        low_power_mode=state.low_power_mode,
        thermal_state=state.thermal_state,
        swap_used_bytes=state.swap_used_bytes,
        memory_available_bytes=available,
        load_1m=round(chance.uniform(0.8, 5.0), 2),
    )


def _swap(memory: int, chance: random.Random) -> int:
    small = memory <= 16 * 2**30
    return chance.randrange(3 * 2**10) * 2**20 if small and chance.random() < 0.4 else 0
