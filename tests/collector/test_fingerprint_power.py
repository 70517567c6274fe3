"""Power, heat and memory of a Mac at one moment."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metalmark_collector.fingerprint import fingerprint, read_conditions, replay_probe

Recorded = Callable[..., dict[str, object]]

BATTERY = (
    "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t63%; discharging; 4:12 remaining present: true\n"
)
BOTH = "Battery Power:\n powermode            1\n sleep 1\nAC Power:\n powermode            2\n sleep 0\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """The fingerprint of a machine whose text files are given by name."""

    def read(**files: str) -> dict[str, object]:
        for name, content in files.items():
            (tmp_path / f"{name}.txt").write_text(content)
        return fingerprint(replay_probe(tmp_path))

    return read


def test_a_laptop_on_battery_says_so(recorded: Recorded) -> None:
    found = recorded(pmset_batt=BATTERY)
    assert (found["power_source"], found["battery_percent"]) == ("battery", 63)
    assert found["battery_state"] == "discharging"


def test_a_desktop_has_power_and_no_battery(recorded: Recorded) -> None:
    found = recorded(pmset_batt="Now drawing from 'AC Power'\n")
    assert (found["power_source"], found["battery_percent"]) == ("ac", None)


@pytest.mark.parametrize(
    ("line", "mode", "low"),
    [
        ("lowpowermode 1", "low", True),
        ("lowpowermode 0", "automatic", False),
        ("powermode 0", "automatic", False),
        ("powermode 1", "low", True),
        ("powermode 2", "high", False),
        ("powermode 7", None, None),
        ("powernap 1", None, None),
    ],
)
def test_both_keys_tell_the_power_mode(recorded: Recorded, line: str, mode: str | None, *, low: bool | None) -> None:
    found = recorded(pmset_g=f"Currently in use:\n {line}\n Sleep On Power Button 1\n")
    assert (found["power_mode"], found["low_power_mode"]) == (mode, low)


def test_the_mode_is_the_one_of_the_present_power_source(recorded: Recorded) -> None:
    assert recorded(pmset_custom=BOTH, pmset_batt=BATTERY)["power_mode"] == "low"
    assert recorded(pmset_batt="Now drawing from 'AC Power'\n")["power_mode"] == "high"


def test_without_a_power_source_two_modes_that_differ_tell_nothing(recorded: Recorded) -> None:
    assert recorded(pmset_custom=BOTH)["power_mode"] is None
    assert recorded(pmset_custom=BOTH.replace("2", "1"))["power_mode"] == "low"


@pytest.mark.parametrize(("word", "low"), [("Yes", True), ("No", False), (1, True), (0, False)])
def test_system_profiler_tells_source_and_low_power_mode(tmp_path: Path, word: object, *, low: bool) -> None:
    section = {"Current Power Source": "TRUE", "LowPowerMode": word}
    other = {"LowPowerMode": "Yes" if not low else "No"}
    document = {"SPPowerDataType": [{"_name": "sppower_information", "AC Power": section, "Battery Power": other}]}
    (tmp_path / "system_profiler_power.json").write_text(json.dumps(document))
    conditions = read_conditions(replay_probe(tmp_path))
    assert (conditions.power_source, conditions.low_power_mode, conditions.power_mode) == ("ac", low, None)


@pytest.mark.parametrize(("limit", "throttled"), [("100", False), ("62", True), ("900", None), ("", None)])
def test_an_intel_mac_tells_its_speed_limit(recorded: Recorded, limit: str, *, throttled: bool | None) -> None:
    found = recorded(
        pmset_therm=f"CPU_Scheduler_Limit \t= 100\n\tCPU_Available_CPUs \t= 8\n\tCPU_Speed_Limit \t= {limit}\n"
    )
    assert found["thermal_throttled"] is throttled


def test_zero_power_is_no_measurement(recorded: Recorded) -> None:
    assert recorded(powermetrics="CPU Power: 0 mW\n")["cpu_power_mw"] is None
    assert recorded(powermetrics="CPU Power: 1234 mW\n")["cpu_power_mw"] == 1234


def test_thermal_pressure_has_a_name(recorded: Recorded) -> None:
    assert recorded(powermetrics="Current pressure level: Heavy\n")["thermal_state"] == "Heavy"
    assert recorded(notifyutil_thermal="com.apple.system.thermalpressurelevel 0\n")["thermal_state"] == "Nominal"


def test_memory_swap_and_load_of_a_mac(recorded: Recorded) -> None:
    found = recorded(
        sysctl="vm.swapusage: total = 2048.00M  used = 1024.50M  free = 1023.50M  (encrypted)\n"
        "vm.loadavg: { 1.25 1.50 2.00 }\niogpu.wired_limit_mb: 0\n",
        vm_stat="Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free:      1000.\n"
        "Pages active:    5000.\nPages inactive:  2000.\nPages speculative:   500.\n",
        memory_pressure="System-wide memory free percentage: 63%\n",
    )
    assert (found["swap_used_bytes"], found["load_1m"]) == (int(1024.5 * 2**20), 1.25)
    assert (found["memory_available_bytes"], found["memory_free_percent"]) == (3500 * 16384, 63)
    assert found["gpu_wired_limit_mb"] == 0
