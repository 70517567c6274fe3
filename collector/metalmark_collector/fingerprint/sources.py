"""What the fingerprint may look at: the complete allow-list of commands and files.

Every source has a name, the system it exists on, how it is read on the machine at hand, and the
names under which a recorded machine keeps its output. Nothing else is ever run or opened.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from .process import describe_process


class Command(Struct, frozen=True):
    """A command, run without a shell; its output is dropped when it takes longer than ``limit_s``."""

    argv: tuple[str, ...]
    limit_s: float = 5.0


class Files(Struct, frozen=True):
    """Files, each of which becomes a line "key: content"; the key is one part of the file's path."""

    patterns: tuple[str, ...]
    key_part: int = -1


class Whole(Struct, frozen=True):
    """One file, taken as it is."""

    path: str


class Own(Struct, frozen=True):
    """What only this process knows of itself."""

    describe: Callable[[], str]


class Source(Struct, frozen=True):
    """One thing to look at, on a live machine and in a folder of recorded outputs."""

    recorded: tuple[str, ...]
    system: str | None = None
    live: Command | Files | Whole | Own | None = None
    slow: bool = False  # looked at only when somebody asks for it


def _mac(*recorded: str, argv: str = "", limit_s: float = 5.0) -> Source:
    live = Command(tuple(argv.split()), limit_s) if argv else None
    return Source(recorded, "Darwin", live)


def _linux(recorded: str, live: Command | Files | Whole) -> Source:
    return Source((recorded,), "Linux", live)


_SYSCTL = (
    "sysctl hw machdep.cpu kern.osproductversion kern.osversion kern.osrelease kern.hv_vmm_present"
    " vm.swapusage vm.loadavg iogpu.wired_limit_mb sysctl.proc_translated"
)
_DMI = "/sys/class/dmi/id/"
_TORCH = (sys.executable, "-P", "-m", "metalmark_collector.fingerprint.torch_process")
_CUDA_DRIVER = str(Path(__file__).with_name("cuda_driver.py"))

# What tells the state of a Mac between two cases; the rest of that state lies in files or is not worth the time.
MOMENTARY = ("sysctl", "pmset_g", "pmset_custom", "pmset_batt", "pmset_therm", "thermal_pressure", "vm_stat")

# `-detailLevel mini` leaves serial numbers and UUIDs out; `uname -n`, the host name, is never asked for.
SOURCES: dict[str, Source] = {
    "process": Source(("process.json",), None, Own(describe_process)),
    "torch": Source(("torch.json",), None, Command(_TORCH, 120.0), slow=True),
    "uname": Source(("uname_*.txt",), None, Command(("uname", "-mrsv"))),
    "sysctl": _mac("sysctl.txt", argv=_SYSCTL),
    "sysctl_brand": _mac("sysctl_brand_string.txt"),
    "hardware_json": _mac(
        "system_profiler_hardware.json",
        argv="system_profiler -json -detailLevel mini SPHardwareDataType",
        limit_s=15.0,
    ),
    "hardware_text": _mac("system_profiler_hardware.txt", "system_profiler_hardware_*.txt"),
    "displays_json": _mac(
        "system_profiler_displays.json", argv="system_profiler -json SPDisplaysDataType", limit_s=15.0
    ),
    "displays_text": _mac("system_profiler_displays.txt", "system_profiler_displays_*.txt"),
    "power_json": _mac("system_profiler_power.json"),
    "software_text": _mac("system_profiler_software.txt"),
    "sw_vers": _mac("sw_vers.txt", argv="sw_vers"),
    "pmset_g": _mac("pmset_g.txt", argv="pmset -g"),
    "pmset_custom": _mac("pmset_custom.txt", argv="pmset -g custom"),
    "pmset_batt": _mac("pmset_batt.txt", argv="pmset -g batt"),
    "pmset_therm": _mac("pmset_therm.txt", argv="pmset -g therm"),
    "thermal_pressure": _mac("notifyutil_thermal.txt", argv="notifyutil -g com.apple.system.thermalpressurelevel"),
    "powermetrics": _mac("powermetrics.txt"),
    "ioreg_gpu": _mac("ioreg_ioaccelerator.txt", "ioreg_*.txt", argv="ioreg -r -d 1 -w 0 -c IOAccelerator"),
    "ioreg_cores": _mac("ioreg_cpus.txt", argv="ioreg -p IODeviceTree -d 1 -w 0 -rn cpus"),
    "memory_pressure": _mac("memory_pressure.txt", argv="memory_pressure -Q"),
    "vm_stat": _mac("vm_stat.txt", argv="vm_stat"),
    "crash_footer": _mac("crash_footer.txt"),
    "notes": _mac("values.txt", "environment.txt", "probe.txt"),
    "collect_env": Source(("collect_env.txt",)),
    "os_release": _linux("os_release.txt", Whole("/etc/os-release")),
    "cpuinfo": _linux("proc_cpuinfo.txt", Whole("/proc/cpuinfo")),
    "meminfo": _linux("proc_meminfo.txt", Whole("/proc/meminfo")),
    "loadavg": _linux("proc_loadavg.txt", Whole("/proc/loadavg")),
    "lscpu": _linux("lscpu.json", Command(("lscpu", "-J"))),
    "lscpu_topology": _linux("lscpu_topology.json", Command(("lscpu", "-J", "-e=CPU,CORE,SOCKET"))),
    "hybrid_cpus": _linux("hybrid_cpus.txt", Files(("/sys/devices/cpu_*/cpus",), key_part=-2)),
    "cpu_capacity": _linux("cpu_capacity.txt", Files(("/sys/devices/system/cpu/cpu*/cpu_capacity",), key_part=-2)),
    "dmi": _linux("dmi_id.txt", Files((_DMI + "sys_vendor", _DMI + "product_name"))),
    "dmi_memory": _linux("dmi_memory.txt", Whole("/run/udev/data/+dmi:id")),
    "device_tree": _linux("device_tree.txt", Files(("/proc/device-tree/model", "/proc/device-tree/compatible"))),
    "detect_virt": _linux("systemd_detect_virt.txt", Command(("systemd-detect-virt", "--vm"))),
    "power_supply": _linux("power_supply.txt", Files(("/sys/class/power_supply/*/online",), key_part=-2)),
    "battery_status": _linux("battery_status.txt", Files(("/sys/class/power_supply/BAT*/status",), key_part=-2)),
    "platform_profile": _linux("platform_profile.txt", Whole("/sys/firmware/acpi/platform_profile")),
    "display_ports": _linux("display_ports.txt", Files(("/sys/class/drm/card*-*/status",), key_part=-2)),
    "gpu_devices": _linux(
        "gpu_devices.txt",
        Files(("/sys/bus/pci/devices/*/modalias", "/sys/class/drm/card*/device/modalias"), key_part=-3),
    ),
    "nvidia_smi": _linux(
        "nvidia_smi.txt", Command(("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv"), 15.0)
    ),
    "nvidia_state": _linux(
        "nvidia_state.txt", Command(("nvidia-smi", "-q", "-d", "MEMORY,UTILIZATION,PERFORMANCE"), 15.0)
    ),
    "nvidia_apps": _linux(
        "nvidia_apps.txt",
        Command(("nvidia-smi", "--query-compute-apps=used_memory", "--format=csv,noheader"), 15.0),
    ),
    "cuda_driver": _linux("cuda_driver.json", Command((sys.executable, "-I", _CUDA_DRIVER), limit_s=15.0)),
}
