"""Power source, power mode and thermal state of a Mac."""

import re
from collections.abc import Mapping

from .evidence import Evidence
from .values import number, only, search, whole

_MODES = {0: "automatic", 1: "low", 2: "high"}
_PRESSURE = ("Nominal", "Moderate", "Heavy", "Trapping", "Sleeping")
_BATTERY = r"InternalBattery-[0-9][^\n%]{0,80}?"  # not that of a UPS, a mouse or a keyboard
_TRUE = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def source(evidence: Evidence) -> str | None:
    """Where the power comes from: ac or battery."""
    drawing = _drawing(evidence)
    noted = search(r"\bPower: (AC|Battery) Power\b", evidence.text("notes"))
    return {"AC": "ac", "UPS": "battery", "Battery": "battery"}.get(drawing or _profiled(evidence) or noted or "")


def _drawing(evidence: Evidence) -> str | None:
    return search(r"\b(?:Now|Currently) drawing from '(AC|Battery|UPS) Power'", evidence.text("pmset_batt"))


def _profiled(evidence: Evidence) -> str | None:
    """The source that SPPowerDataType marks as the current one."""
    sections = {kind: _section(evidence, f"{kind} Power") for kind in ("AC", "Battery")}
    current = [kind for kind, section in sections.items() if _flag(section.get("Current Power Source"))]
    return current[0] if len(current) == 1 else None


def _section(evidence: Evidence, name: str) -> Mapping[str, object]:
    found = (item.get(name) for item in evidence.items("power_json"))
    return next((section for section in found if isinstance(section, dict)), {})


def _flag(value: object) -> bool | None:
    return _TRUE.get(str(value).strip().lower())


def mode(evidence: Evidence) -> str | None:
    """Power mode of the present power source: automatic, low or high."""
    number_, low = _setting(evidence, "powermode"), _setting(evidence, "lowpowermode")
    if number_ is not None:  # setting lowpowermode sets powermode: where they differ, one of them is stale
        return _MODES.get(number_) if low is None or (low == 1) == (number_ == 1) else None
    # Macs whose only key is lowpowermode have no High Power mode.
    return {0: "automatic", 1: "low"}.get(low) if low is not None else None


def low_power_mode(evidence: Evidence) -> bool | None:
    """Whether Low Power Mode is on for the present power source."""
    known = mode(evidence)
    return known == "low" if known else _profiled_low(evidence)


def _profiled_low(evidence: Evidence) -> bool | None:
    names = {"ac": "AC Power", "battery": "Battery Power"}
    current = source(evidence)
    sections = [names[current]] if current else list(names.values())
    return only(_flag(_section(evidence, name).get("LowPowerMode")) for name in sections)


def _setting(evidence: Evidence, key: str) -> int | None:
    """A setting of pmset: of the source in use, or of all sources if they agree."""
    in_use = search(rf"^\s*{key}\s+([0-9]+)\b", evidence.text("pmset_g"), re.MULTILINE)
    if in_use is not None:
        return whole(in_use)
    sections: dict[str | None, int | None] = {}
    section = None
    for line in (evidence.text("pmset_custom") or "").splitlines():
        section = search(r"^(AC|Battery|UPS) Power:", line) or section
        value = search(rf"^\s*{key}\s+([0-9]+)\b", line)
        if value is not None:
            sections[section] = whole(value)
    current = "UPS" if _drawing(evidence) == "UPS" else {"ac": "AC", "battery": "Battery"}.get(source(evidence) or "")
    return sections[current] if current in sections else only(sections.values())


def speed_limit(evidence: Evidence) -> int | None:
    """CPU speed limit in percent, which only Intel Macs tell."""
    limit = whole(search(r"CPU_Speed_Limit\s*=\s*([0-9]+)", evidence.text("pmset_therm")))
    return limit if limit is not None and limit <= 100 else None  # noqa: PLR2004  percent


def throttled(evidence: Evidence) -> bool | None:
    """Whether the CPU is slowed down; silence of an Apple chip is no proof that it is not."""
    limit = speed_limit(evidence)
    return None if limit is None else limit < 100  # noqa: PLR2004  percent


def thermal_warning(evidence: Evidence) -> int | None:
    """The thermal warning level, if one has been recorded."""
    return whole(search(r"[Tt]hermal [Ww]arning [Ll]evel(?: set to|\s*=|:)\s*([0-9]+)", evidence.text("pmset_therm")))


def thermal_state(evidence: Evidence) -> str | None:
    """Thermal pressure as macOS names it."""
    level = whole(search(r"thermalpressurelevel\s+([0-9]+)", evidence.text("thermal_pressure")))
    sampled = search(r"Current pressure level: ([A-Z][a-z]{2,20})\b", evidence.text("powermetrics"))
    return _PRESSURE[level] if level is not None and level < len(_PRESSURE) else sampled


def battery_percent(evidence: Evidence) -> int | None:
    """Charge of the battery."""
    percent = whole(search(rf"{_BATTERY}([0-9]{{1,3}})%", evidence.text("pmset_batt")))
    charge = _section(evidence, "sppower_battery_charge_info").get("sppower_battery_state_of_charge")
    return percent if percent is not None else whole(charge)


def battery_state(evidence: Evidence) -> str | None:
    """State of the battery: charged, charging, discharging ..."""
    state = rf"{_BATTERY}[0-9]{{1,3}}%;\s*([A-Za-z][A-Za-z ]{{2,30}}?)\s*(?:;|present:|$)"
    return search(state, evidence.text("pmset_batt"), re.MULTILINE)


def cpu_power_mw(evidence: Evidence) -> float | None:
    """CPU power in milliwatts; 0 is what a system prints that does not measure."""
    return number(search(r"CPU Power: ([0-9.]+) mW", evidence.text("powermetrics"))) or None


def gpu_utilization(evidence: Evidence) -> int | None:
    """Share of time that the GPU is busy, in percent."""
    return whole(search(r'"Device Utilization %"\s*=\s*([0-9]+)', evidence.ioreg))


def gpu_memory_in_use(evidence: Evidence) -> int | None:
    """System memory in use by the GPU, in bytes."""
    return whole(search(r'"In use system memory"\s*=\s*([0-9]+)', evidence.ioreg))


def wired_limit_mb(evidence: Evidence) -> int | None:
    """``iogpu.wired_limit_mb``: another limit for GPU memory; 0 is the system's default."""
    return whole(evidence.sysctl.get("iogpu.wired_limit_mb"))


def memory_free_percent(evidence: Evidence) -> int | None:
    """Free memory as memory_pressure tells it."""
    return whole(search(r"memory free percentage: ([0-9]{1,3})%", evidence.text("memory_pressure")))
