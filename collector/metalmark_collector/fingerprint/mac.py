"""Hardware of a Mac: chip, model, cores, memory, and whether it is what it seems."""

import re

from ..scrub import cover
from . import footer, graphics, notes
from .collect_env import parse as collect_env
from .cores import Cores, from_ioreg, from_number_processors, from_sysctl, merge
from .evidence import Evidence
from .values import clean, positive, search, size, whole

# The first model number of each family that has an Apple chip.
_FIRST_APPLE_MODEL = {"MacBookAir": 10, "MacBookPro": 17, "Macmini": 9, "iMac": 21, "Mac": 13}
_PRODUCT = re.compile(r"(?:i?Mac|MacBook|Macmini|Xserve|Apple|Virtual|VMware|Parallels|QEMU)\b", re.IGNORECASE)
_VIRTUAL_MODEL = re.compile(r"VirtualMac|VirtualBox|VMware|Parallels|QEMU|VMM|KVM|UTM|Xen", re.IGNORECASE)


def chip(evidence: Evidence) -> str | None:
    """The marketing name, without " (Virtual)"; on Intel the name that the output gives."""
    named = _brand(evidence)
    return named.removesuffix("(Virtual)").strip() if named else None


def _brand(evidence: Evidence) -> str | None:
    hardware = evidence.hardware
    candidates = (
        clean(evidence.sysctl.get("machdep.cpu.brand_string")),
        clean(hardware.get("chip_type")),
        clean(hardware.get("cpu_type")),
        footer.parse(evidence.text("crash_footer")).cpu,
        _footer_chip(evidence),
        notes.chip(evidence.text("notes")),
        collect_env(evidence.text("collect_env")).cpu,
    )
    # Under Rosetta the processor calls itself VirtualApple, and system_profiler says Unknown.
    return next((name for name in candidates if name and not re.match("VirtualApple|Unknown", name)), None)


def _footer_chip(evidence: Evidence) -> str | None:
    """On Apple silicon the GPU bears the name of the chip."""
    found = footer.parse(evidence.text("crash_footer"))
    name = found.graphics[0][0] if found.graphics else ""
    return clean(name) if isinstance(found.processors, str) and name.startswith("Apple ") else None


def generation(evidence: Evidence) -> int | None:
    """The n of an M-series chip, or of the one with an A-series chip's cores; None for any other."""
    name = chip(evidence) or ""
    series = search(r"^Apple M([0-9]{1,4})\b", name)
    phone = search(r"^Apple A([0-9]{1,4})\b", name)  # A18 has the cores of M4, A19 those of M5
    return int(series) if series else max(int(phone) - 14, 0) if phone else None


def soc(evidence: Evidence) -> str | None:
    """The SoC's number, which the name of the kernel ends in."""
    return search(r"RELEASE_ARM64_(T[0-9]{4,5})\b", evidence.uname)


def model(evidence: Evidence) -> str | None:
    """The model identifier."""
    return (
        clean(evidence.sysctl.get("hw.model"))
        or clean(evidence.hardware.get("machine_model"))
        or footer.parse(evidence.text("crash_footer")).model
        or clean(evidence.pairs("powermetrics").get("Machine model"))
    )


def machine_name(evidence: Evidence) -> str | None:
    """The name of the product line, such as MacBook Pro; never the name that its owner gave it."""
    name = clean(evidence.hardware.get("machine_name"))
    return name if name and _PRODUCT.match(name) and cover(name) == name else None


def cores(evidence: Evidence) -> Cores:
    """Cores and levels from all outputs, sysctl first."""
    version, age = macos_major(evidence), generation(evidence)
    told = (
        evidence.hardware.get("number_processors"),
        footer.parse(evidence.text("crash_footer")).processors,
        notes.processors(evidence.text("notes")),
    )
    found = merge(
        [
            from_sysctl(evidence.sysctl, age),
            *(from_number_processors(value, macos=version, generation=age) for value in told),
            from_ioreg(evidence.ioreg, age),
        ]
    )
    return merge([found, Cores(counts=(found.total,))]) if found.total and _real_intel(evidence) else found


def _real_intel(evidence: Evidence) -> bool:
    """Whether this is a real Intel Mac, whose cores are all of one kind."""
    return "Intel" in (chip(evidence) or "") and virtual(evidence) is False


def macos_major(evidence: Evidence) -> int | None:
    """The major version of macOS, which decides the order of the fields of number_processors."""
    version = macos_version(evidence)
    if version:
        return positive(version.split(".")[0])
    build = positive(search(r"^([0-9]{2})[A-Z]", macos_build(evidence)))
    if build:  # builds begin with 24 on macOS 15, with 25 on macOS 26
        return build - 9 if build < 25 else build + 1  # noqa: PLR2004
    darwin = positive(search(r"Darwin Kernel Version ([0-9]{2})\.", evidence.uname)) or positive(
        search(r"^([0-9]{2})\.", evidence.sysctl.get("kern.osrelease"))
    )
    if darwin and darwin != 26:  # noqa: PLR2004  Darwin 24 is macOS 15, Darwin 25 is macOS 26, and Darwin 27 is macOS 27
        return {25: 26}.get(darwin, darwin if darwin > 25 else darwin - 9)  # noqa: PLR2004
    loader = positive(search(r"^(?:mBoot-)?([0-9]{4,6})\b", clean(evidence.hardware.get("os_loader_version"))))
    # The loader follows the system: 20457 was seen with macOS 27, 13822 and 18000 with macOS 26.
    return next((major for least, major in ((20000, 27), (13000, 26), (1, 15)) if loader and loader >= least), None)


def macos_version(evidence: Evidence) -> str | None:
    """The version of macOS."""
    return next((version for version in _versions(evidence) if version), None)


def _versions(evidence: Evidence) -> tuple[str | None, ...]:
    return (
        _version(evidence.pairs("sw_vers").get("ProductVersion")),
        _version(evidence.sysctl.get("kern.osproductversion")),
        search(r"System Version: (?:macOS|OS X|Mac OS X) ([0-9.]{2,12})", evidence.text("software_text")),
        notes.macos(evidence.text("notes")),
        collect_env(evidence.text("collect_env")).macos,
    )


def _version(text: str | None) -> str | None:
    return search(r"^([0-9]{1,3}(?:\.[0-9]{1,4}){0,3})$", text)


def macos_build(evidence: Evidence) -> str | None:
    """The build of macOS."""
    build = r"\b([0-9]{2}[A-Z][0-9]{1,5}[a-z]?)\b"
    return (
        search(build, evidence.pairs("sw_vers").get("BuildVersion"))
        or search(build, evidence.sysctl.get("kern.osversion"))
        or search(rf"System Version: [^\n]*\({build}\)", evidence.text("software_text"))
        or search(build, evidence.pairs("powermetrics").get("OS version"))
        or notes.build(evidence.text("notes"))
    )


def memory(evidence: Evidence) -> int | None:
    """Installed memory in bytes."""
    return (
        positive(evidence.sysctl.get("hw.memsize"))
        or size(evidence.hardware.get("physical_memory"))
        or size(footer.parse(evidence.text("crash_footer")).memory)
        or size(notes.memory(evidence.text("notes")))
        or None
    )


def virtual(evidence: Evidence) -> bool | None:
    """Whether this is a guest: any sign of a guest is enough, and a model without one is a real Mac."""
    gpu_names = " ".join(gpu.name for gpu in graphics.gpus(evidence))
    hypervisor = whole(evidence.sysctl.get("kern.hv_vmm_present"))
    name = model(evidence)
    signs = (
        (_brand(evidence) or "").endswith("(Virtual)"),
        bool(_VIRTUAL_MODEL.search(name or "")),
        "Virtual Machine" in (machine_name(evidence) or ""),
        "Paravirtual" in gpu_names,
        "RELEASE_ARM64_VMAPPLE" in evidence.uname,
        hypervisor == 1,
        "VMM" in (evidence.sysctl.get("machdep.cpu.features") or "").split(),
        bool(_VIRTUAL_MODEL.search(_brand(evidence) or "")),
    )
    return True if any(signs) else False if name or hypervisor == 0 else None


def apple_silicon(evidence: Evidence) -> bool | None:
    """Whether the hardware has an Apple chip, whatever the process was made to believe."""
    name = chip(evidence) or ""
    if name.startswith("Apple ") or evidence.sysctl.get("hw.optional.arm64") == "1":
        return True
    if "RELEASE_ARM64" in evidence.uname or "proc " in str(evidence.hardware.get("number_processors")):
        return True
    family = re.match(r"([A-Za-z]+)([0-9]{1,3}),", model(evidence) or "")
    if family and virtual(evidence) is False and family[1] in _FIRST_APPLE_MODEL:
        return int(family[2]) >= _FIRST_APPLE_MODEL[family[1]]
    return False if re.search(r"Intel|AMD", name) else None
