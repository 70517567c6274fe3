"""Architecture of the hardware and of the process, and Rosetta, which makes them differ."""

from . import mac, notes
from .collect_env import parse as collect_env
from .evidence import Evidence
from .values import clean, search

_SPELLINGS = {"aarch64": "arm64", "arm64": "arm64", "arm64e": "arm64", "amd64": "x86_64", "x86_64": "x86_64"}


def arch(evidence: Evidence) -> str | None:
    """Architecture of the hardware."""
    apple = mac.apple_silicon(evidence)
    if apple:
        return "arm64"
    if apple is False:
        return "x86_64"
    # VirtualApple is what a container on an Apple chip sees of it through Rosetta.
    return "arm64" if _emulated(evidence) else process_arch(evidence)


def python_arch(evidence: Evidence) -> str | None:
    """Architecture that Python names."""
    return clean(evidence.process.get("python_arch"))


def process_arch(evidence: Evidence) -> str | None:
    """Architecture of the process, arm64 or x86_64, or another one as the system names it."""
    told = (
        python_arch(evidence)
        or search(
            r"(?:^|\s)(x86_64|arm64e?|aarch64|amd64|riscv64|ppc64le|s390x|loongarch64|armv[678]l|i[3-6]86)"
            r"(?: GNU/Linux)?\s*$",
            evidence.uname,
        )
        or collect_env(evidence.text("collect_env")).arch
        or notes.arch(evidence.text("notes"))
    )
    return _SPELLINGS.get(told.lower(), told) if told else None


def rosetta(evidence: Evidence) -> bool | None:
    """Whether the process runs under Rosetta; None where nothing tells."""
    process, apple = process_arch(evidence), mac.apple_silicon(evidence)
    translated = evidence.sysctl.get("sysctl.proc_translated")
    if translated == "1" or _emulated(evidence):
        return True
    if translated == "0" or process == "arm64" or apple is False:
        return False
    if process == "x86_64" and apple:
        return True
    return False if evidence.text("os_release") and process else None


def _emulated(evidence: Evidence) -> bool:
    """Signs of an emulated Intel processor on a machine with an Apple chip."""
    brands = (evidence.sysctl.get("machdep.cpu.brand_string"), evidence.text("cpuinfo"), evidence.text("collect_env"))
    if any("VirtualApple" in (brand or "") for brand in brands):
        return True
    intel_fields = "cpu_type" in evidence.hardware and "chip_type" not in evidence.hardware
    return intel_fields and mac.apple_silicon(evidence) is True and mac.virtual(evidence) is False
