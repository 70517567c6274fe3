"""Every field and its reader: one line each, and a test fails when a field has none."""

from collections.abc import Callable
from typing import Any

from . import architecture, graphics, linux, mac, nvidia, power, state, system
from .cores import Cores, merge
from .evidence import Evidence

Reader = Callable[[Evidence], Any]


def first(*readers: Reader) -> Reader:
    """A reader that gives what the first of several readers knows."""
    return lambda evidence: next((value for reader in readers if (value := reader(evidence)) is not None), None)


def cores(evidence: Evidence) -> Cores:
    """Cores of a Mac or of a Linux machine."""
    return merge([mac.cores(evidence), linux.cores(evidence)])


def cpu_tiers(evidence: Evidence) -> tuple[tuple[str, int], ...] | None:
    """Names and counts of the performance levels, where both are known and match."""
    found = cores(evidence)
    if found.names is None or found.counts is None or len(found.names) != len(found.counts):
        return None
    return tuple(zip(found.names, found.counts, strict=True))


def gpu_names(evidence: Evidence) -> list[str] | None:
    """Names of all GPUs in the order of the system."""
    names = [gpu.name for gpu in graphics.gpus(evidence)] or [gpu.name for gpu in nvidia.gpus(evidence)]
    return names or None


def gpu_name(evidence: Evidence) -> str | None:
    """The GPU that torch takes."""
    gpu = graphics.main_gpu(graphics.gpus(evidence)) or nvidia.main_gpu(evidence)
    return gpu.name if gpu else None


def gpu_cores(evidence: Evidence) -> int | None:
    """Cores of an Apple GPU, multiprocessors of an NVIDIA GPU."""
    gpu = nvidia.main_gpu(evidence)
    return graphics.cores(evidence) or (gpu.multiprocessors if gpu else None)


def gpu_count(evidence: Evidence) -> int | None:
    """How many GPUs the system lists; 0 only where its list of devices is there and holds none."""
    return len(gpu_names(evidence) or []) or (0 if linux.no_gpu(evidence) else None)


def gpu_memory(evidence: Evidence) -> int | None:
    """Memory of a discrete GPU; Apple's and Intel's share the memory of the machine."""
    gpu = graphics.main_gpu(graphics.gpus(evidence)) or nvidia.main_gpu(evidence)
    return None if gpu is None or gpu.name.startswith(("Apple", "Intel")) else gpu.memory_bytes


def vendor(evidence: Evidence) -> str | None:
    """Maker of the processor, in small letters."""
    name = (mac.chip(evidence) or "").lower()
    return next((maker for maker in ("apple", "intel", "amd") if maker in name), None) or linux.vendor(evidence)


def metal(evidence: Evidence) -> str | None:
    """Metal level of the GPU that torch takes."""
    gpu = graphics.main_gpu(graphics.gpus(evidence))
    return gpu.metal if gpu else None


def display_count(evidence: Evidence) -> int | None:
    """Displays of all GPUs, where the output lists them."""
    counts = [gpu.displays for gpu in graphics.gpus(evidence) if gpu.displays is not None]
    return sum(counts) if counts else None


MACHINE: dict[str, Reader] = {
    "vendor": vendor,
    "chip": first(mac.chip, linux.chip),
    "soc": first(mac.soc, linux.soc),
    "model_identifier": first(mac.model, linux.model),
    "cpu_cores": lambda evidence: cores(evidence).total,
    "tier_counts": lambda evidence: cores(evidence).counts,
    "cpu_tiers": cpu_tiers,
    "gpu_name": gpu_name,
    "gpu_cores": gpu_cores,
    "gpu_count": gpu_count,
    "gpu_memory_bytes": gpu_memory,
    "memory_bytes": first(mac.memory, linux.memory),
    "memory_total_bytes": first(linux.memory_total, mac.memory),
    "arch": architecture.arch,
    "virtual": first(mac.virtual, linux.virtual),
}

SOFTWARE: dict[str, Reader] = {
    "os_name": system.os_name,
    "os_version": first(mac.macos_version, linux.os_version),
    "os_build": mac.macos_build,
    "kernel": system.kernel,
    "process_arch": architecture.process_arch,
    "rosetta": architecture.rosetta,
    "python_version": system.python_version,
    "torch_version": system.torch_version,
    "torch_git": system.torch_git,  # only a running torch knows these: the worker adds them
    "torch_debug": system.torch_debug,
    "torch_build": system.torch_build,
    "threads": system.threads,
    "gpu_driver": nvidia.driver,
    "torchvision_version": system.package("torchvision"),
    "timm_version": system.package("timm"),
    "transformers_version": system.package("transformers"),
    "metalmark_version": system.package("metalmark"),
    "environment": system.environment,
}

CONDITIONS: dict[str, Reader] = {
    "power_source": first(power.source, state.power_source),
    "power_mode": first(power.mode, state.power_mode),
    "low_power_mode": first(power.low_power_mode, state.low_power_mode),
    "thermal_state": first(power.thermal_state, nvidia.thermal_state),
    "cpu_speed_limit": power.speed_limit,
    "swap_used_bytes": state.swap_used,
    "memory_available_bytes": state.memory_available,
    "load_1m": state.load,
    "niceness": state.niceness,
    "qos": state.qos,
    "displays": first(display_count, linux.displays),
    "gpu_users": nvidia.users,
    "gpu_memory_used_bytes": first(power.gpu_memory_in_use, nvidia.memory_used),
    "gpu_utilization_percent": first(power.gpu_utilization, nvidia.utilization),
}

# What costs no time: read after every case.
MOMENT: dict[str, Reader] = {
    "power_source": first(power.source, state.power_source),
    "low_power_mode": first(power.low_power_mode, state.low_power_mode),
    "thermal_state": power.thermal_state,
    "cpu_speed_limit": power.speed_limit,
    "swap_used_bytes": state.swap_used,
    "memory_available_bytes": state.memory_available,
    "load_1m": state.load,
}

# Told by the outputs and useful in a bug report, but no fields of a run.
EXTRA: dict[str, Reader] = {
    "machine_name": mac.machine_name,
    "super_cores": lambda evidence: cores(evidence).super_cores,
    "performance_cores": lambda evidence: cores(evidence).performance_cores,
    "efficiency_cores": lambda evidence: cores(evidence).efficiency_cores,
    "gpu_names": gpu_names,
    "metal": metal,
    "display_count": display_count,
    "gpu_in_use_system_memory": power.gpu_memory_in_use,
    "gpu_wired_limit_mb": power.wired_limit_mb,
    "macos_version": mac.macos_version,
    "macos_build": mac.macos_build,
    "python_arch": architecture.python_arch,
    "battery_percent": power.battery_percent,
    "battery_state": power.battery_state,
    "thermal_warning": power.thermal_warning,
    "thermal_throttled": power.throttled,
    "cpu_power_mw": power.cpu_power_mw,
    "memory_free_percent": power.memory_free_percent,
}
