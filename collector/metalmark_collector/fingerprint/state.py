"""State of the machine that both systems tell: memory, swap, load, niceness; and power on Linux."""

from .evidence import Evidence
from .values import clean, number, search, size, whole

_PROFILES = {"low-power": "low", "quiet": "low", "balanced": "automatic", "performance": "high"}


def swap_used(evidence: Evidence) -> int | None:
    """Swap in use, in bytes."""
    mac = size(search(r"\bused = ([0-9.,]+[KMGT]?)", evidence.sysctl.get("vm.swapusage")))
    if mac is not None:
        return mac
    memory = evidence.pairs("meminfo")
    total, free = size(memory.get("SwapTotal")), size(memory.get("SwapFree"))
    return total - free if total is not None and free is not None and free <= total else None


def memory_available(evidence: Evidence) -> int | None:
    """Memory that can be had without swapping, in bytes."""
    available = size(evidence.pairs("meminfo").get("MemAvailable"))
    return available if available is not None else _vm_stat(evidence)


def _vm_stat(evidence: Evidence) -> int | None:
    """Free, speculative and inactive pages of macOS; their size differs between the architectures."""
    text = evidence.text("vm_stat")
    page = whole(search(r"page size of ([0-9]{1,7}) bytes", text))
    pages = [whole(search(rf"Pages {kind}:\s+([0-9]{{1,12}})\.", text)) for kind in ("free", "speculative", "inactive")]
    known = [count for count in pages if count is not None]
    return whole(page * sum(known)) if page and len(known) == len(pages) else None


def load(evidence: Evidence) -> float | None:
    """Load average of the last minute."""
    mac = search(r"^\{ ([0-9.,]+) ", evidence.sysctl.get("vm.loadavg"))
    return number(mac) if mac else number(search(r"^([0-9.]+) ", evidence.text("loadavg")))


def niceness(evidence: Evidence) -> int | None:
    """Nice value of the process, which may be negative."""
    told = evidence.process.get("niceness")
    return told if isinstance(told, int) and not isinstance(told, bool) and -20 <= told <= 20 else None  # noqa: PLR2004


def qos(evidence: Evidence) -> str | None:
    """Priority class of macOS that the process was started in."""
    return search(r"^([a-z-]{4,20})$", clean(evidence.process.get("qos")))


def power_source(evidence: Evidence) -> str | None:
    """Where the power of a Linux laptop comes from; a machine without supplies listed does not tell."""
    supplies = {name: value for name, value in evidence.pairs("power_supply").items() if not name.startswith("BAT")}
    if "1" in supplies.values():
        return "ac"
    discharging = "Discharging" in evidence.pairs("battery_status").values()
    return "battery" if discharging or (supplies and evidence.text("battery_status")) else None


def power_mode(evidence: Evidence) -> str | None:
    """The power profile of the firmware, in the words of macOS."""
    return _PROFILES.get(clean(evidence.text("platform_profile")) or "")


def low_power_mode(evidence: Evidence) -> bool | None:
    """Whether the profile is one that saves power."""
    mode = power_mode(evidence)
    return None if mode is None else mode == "low"
