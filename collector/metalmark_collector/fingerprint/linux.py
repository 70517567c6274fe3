"""Hardware of a Linux machine: processor, cores, memory, and whether it is a guest."""

import re
from collections.abc import Iterable, Mapping

from .cores import Cores
from .evidence import Evidence
from .values import clean, pairs, positive, search, size, whole

# Product names of hypervisors and rented guests; a rented machine called "metal" is a real one.
_GUEST = re.compile(
    r"KVM|QEMU|Standard PC|VirtualBox|VMware|Virtual Machine|Parallels|HVM domU|\bXen\b|Bochs|OpenStack|RHEV|oVirt"
    r"|Google Compute Engine|Amazon EC2|Alibaba Cloud|Droplet|Apple Virtualization|Firecracker|bhyve|\bvServer\b"
    r"|\bSCW-|\bAHV\b|Cloud Hypervisor|crosvm|Hyper-V|UTM\b|Linode|Vultr|VServer",
    re.IGNORECASE,
)
_METAL = re.compile(r"\bmetal\b", re.IGNORECASE)
_FILLER = re.compile(r"to be filled|system (?:product|manufacturer)|default string|not specified|^none$", re.IGNORECASE)
_PCI = re.compile(
    r"(?:devices|card[0-9]{1,3}): pci:v0000(?P<vendor>[0-9A-F]{4})d.{8}sv.{8}sd.{8}bc(?P<kind>[0-9A-F]{2})"
)
_DISPLAY_OR_ACCELERATOR = ("03", "12")  # classes of PCI devices
# ASPEED, Matrox, XGI, Huawei in servers; Cirrus, Bochs, virtio, VMware, QXL, VirtualBox in guests.
_CONSOLES = ("1A03", "102B", "18CA", "19E5", "1013", "1234", "1AF4", "15AD", "1B36", "80EE")
_IMPLEMENTERS = {"GenuineIntel": "intel", "AuthenticAMD": "amd", "ARM": "arm", "Apple": "apple", "NVIDIA": "nvidia"}
_IMPLEMENTERS["VirtualApple"] = "apple"  # what a container sees through Rosetta


def chip(evidence: Evidence) -> str | None:
    """The marketing name of the processor; on Apple hardware, the chip that the device tree names."""
    board = _board(evidence).get("model", "")
    apple = search(r"\b(M[0-9]{1,3}(?: (?:Pro|Max|Ultra))?)\b", board) if board.startswith("Apple ") else None
    if apple:
        return f"Apple {apple}"
    named = [name for name in (_cpuinfo_name(evidence), *_lscpu_names(evidence)) if name and name != "-"]
    emulated = named and named[0].startswith("VirtualApple")
    return None if emulated or not named else named[0]


def _cpuinfo_name(evidence: Evidence) -> str | None:
    return clean(evidence.pairs("cpuinfo").get("model name"))


def _lscpu_names(evidence: Evidence) -> list[str]:
    """The name, or the names of a processor with cores of several kinds, fastest as listed."""
    listed = [name for name in _lscpu(evidence, "Model name:") if name != "-"]
    return [clean(" + ".join(dict.fromkeys(listed))) or ""]


def _lscpu(evidence: Evidence, field: str) -> list[str]:
    found = (clean(item.get("data")) for item in evidence.items("lscpu") if item.get("field") == field)
    return [value for value in found if value]


def _board(evidence: Evidence) -> dict[str, str]:
    return evidence.pairs("device_tree")


def soc(evidence: Evidence) -> str | None:
    """The number of an Apple SoC, from the device tree."""
    number = search(r"\bapple,(t[0-9]{4,5})\b", _board(evidence).get("compatible"))
    return number.upper() if number else None


def vendor(evidence: Evidence) -> str | None:
    """The maker of the processor."""
    told = [clean(evidence.pairs("cpuinfo").get("vendor_id")), *_lscpu(evidence, "Vendor ID:")]
    known = (_IMPLEMENTERS.get(name, name.lower()) for name in told if name)
    return "apple" if soc(evidence) else next(known, None)


def model(evidence: Evidence) -> str | None:
    """The model of the computer as its maker names it."""
    named = clean(evidence.pairs("dmi").get("product_name")) or clean(_board(evidence).get("model"))
    return None if named and _FILLER.search(named) else named


def cores(evidence: Evidence) -> Cores:
    """Physical cores, and the levels of processors that have several."""
    places = _places(evidence)
    total = len(set(places.values())) or _counted(evidence) or _multiplied(evidence)
    if not total:
        return Cores()
    groups = _hybrid(evidence) or _by_capacity(evidence) or []
    counts = tuple(len({places[cpu] for cpu in group if cpu in places}) for group in groups)
    fits = len(counts) > 1 and all(counts) and sum(counts) == total
    return Cores(total=total, counts=counts if fits else (total,) if len(groups) < 2 else None)  # noqa: PLR2004  one kind


def _places(evidence: Evidence) -> dict[int, tuple[int, int]]:
    """Core and socket of every logical CPU."""
    found = ([whole(item.get(key)) for key in ("cpu", "core", "socket")] for item in evidence.items("lscpu_topology"))
    return {cpu: (core, socket or 0) for cpu, core, socket in found if cpu is not None and core is not None}


def _counted(evidence: Evidence) -> int | None:
    """Physical cores as /proc/cpuinfo tells them; without core numbers, there is no telling."""
    blocks = [pairs(block) for block in (evidence.text("cpuinfo") or "").split("\n\n")]
    cores_ = {(block.get("physical id"), block["core id"]) for block in blocks if block.get("core id")}
    return len(cores_) or None


def _multiplied(evidence: Evidence) -> int | None:
    """Physical cores as the summary of lscpu tells them, where all of them are of one kind."""
    per_socket, sockets = _lscpu(evidence, "Core(s) per socket:"), _lscpu(evidence, "Socket(s):")
    if len(per_socket) != 1 or len(sockets) != 1:
        return None
    return (whole(per_socket[0]) or 0) * (whole(sockets[0]) or 0) or None


def _hybrid(evidence: Evidence) -> list[set[int]]:
    """CPUs of Intel's core types, fastest first."""
    listed = evidence.pairs("hybrid_cpus")
    groups = [_cpu_list(listed.get(kind, "")) for kind in ("cpu_core", "cpu_atom", "cpu_lowpower")]
    return [group for group in groups if group]


def _by_capacity(evidence: Evidence) -> list[set[int]]:
    """CPUs of equal capacity, fastest first: on ARM only, since on x86 it ranks cores of one kind."""
    if "x86_64" in evidence.uname:
        return []
    capacities = {positive(name.removeprefix("cpu")): whole(value) for name, value in _capacities(evidence)}
    capacities[0] = whole(evidence.pairs("cpu_capacity").get("cpu0"))
    ranks = sorted({value for value in capacities.values() if value}, reverse=True)
    return [{cpu for cpu, value in capacities.items() if value == rank and cpu is not None} for rank in ranks]


def _capacities(evidence: Evidence) -> Iterable[tuple[str, str]]:
    return evidence.pairs("cpu_capacity").items()


def _cpu_list(text: str) -> set[int]:
    """Numbers of a list such as "0-11,16"."""
    cpus: set[int] = set()
    for first, last in re.findall(r"\b([0-9]{1,5})(?:-([0-9]{1,5}))?\b", text):
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def memory(evidence: Evidence) -> int | None:
    """Installed memory: the sum of the modules that the firmware lists, where that can be read."""
    text = evidence.text("dmi_memory") or ""
    sizes = [
        whole(value) for value in re.findall(r"E:MEMORY_DEVICE_[0-9]{1,3}_SIZE=([0-9]{1,15})\s*$", text, re.MULTILINE)
    ]
    return positive(sum(value for value in sizes if value))


def memory_total(evidence: Evidence) -> int | None:
    """Memory that the kernel reports, a little under what is installed."""
    return size(evidence.pairs("meminfo").get("MemTotal")) or None


def virtual(evidence: Evidence) -> bool | None:
    """Whether this is a guest: from systemd, the processor's flag, or the name of the product."""
    detected = clean(evidence.text("detect_virt"))
    flags = evidence.pairs("cpuinfo").get("flags")
    # Their kernels run in virtual machines only, whatever is visible from inside.
    if re.search(r"-microsoft-standard|-linuxkit\b", evidence.uname) or _behind_rosetta(evidence):
        return True
    if detected and re.fullmatch(r"[a-z][a-z0-9-]{1,30}", detected):
        return detected != "none"
    if (flags is not None and "hypervisor" in flags.split()) or _lscpu(evidence, "Hypervisor vendor:"):
        return True
    dmi = evidence.pairs("dmi")
    product = f"{dmi.get('sys_vendor', '')} {dmi.get('product_name', '')} {_board(evidence).get('model', '')}"
    if (_GUEST.search(product) and not _METAL.search(product)) or "linux,dummy-virt" in product:
        return True
    return False if flags or product.strip() else None


def no_gpu(evidence: Evidence) -> bool:
    """Whether the list of devices is there and holds no GPU; chips that draw a server's console are none."""
    lines = (evidence.text("gpu_devices") or "").splitlines()
    found = [_PCI.match(line) for line in lines]
    displays = [match for match in found if match and match["kind"] in _DISPLAY_OR_ACCELERATOR]
    # Boards with a device tree have their GPU inside the SoC, and not on the bus.
    elsewhere = bool(_board(evidence)) or any(re.match(r"card[0-9]{1,3}: (?!pci:)", line) for line in lines)
    return any(found) and not elsewhere and all(match["vendor"] in _CONSOLES for match in displays)


def displays(evidence: Evidence) -> int | None:
    """Displays that are connected, where the kernel lists its ports."""
    ports = [port for port in evidence.pairs("display_ports").values() if port in ("connected", "disconnected")]
    return ports.count("connected") if ports else None


def _behind_rosetta(evidence: Evidence) -> bool:
    return "VirtualApple" in (_cpuinfo_name(evidence) or "")


def os_version(evidence: Evidence) -> str | None:
    """Name and version of the distribution."""
    release: Mapping[str, str] = evidence.pairs("os_release")
    parts = (release.get(key, "").strip("\"'") for key in ("NAME", "VERSION_ID"))
    return clean(" ".join(part for part in parts if part))
