"""Linux machines, power and reports of kinds that nobody has recorded yet; and recordings that are damaged."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metalmark_collector.fingerprint import fingerprint, replay_probe
from metalmark_collector.fingerprint.collect_env import parse

Recorded = Callable[..., dict[str, object]]
FIXTURES = Path(__file__).parents[1] / "data/fixtures"


def lscpu(**fields: str) -> dict[str, object]:
    named = {
        "cores": "Core(s) per socket:",
        "sockets": "Socket(s):",
        "host": "Hypervisor vendor:",
        "cpu": "Model name:",
    }
    return {"lscpu": [{"field": named[key], "data": value} for key, value in fields.items()]}


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        (
            {"uname_mrsv": "Linux 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64\n", "systemd_detect_virt": "none"},
            True,
        ),
        ({"uname_mrsv": "Linux 6.10.14-linuxkit #1 SMP aarch64\n"}, True),
        ({"proc_cpuinfo": "model name\t: VirtualApple @ 2.50GHz\nflags\t: fpu\n"}, True),
        ({"lscpu": lscpu(cpu="AMD Ryzen 7", host="KVM")}, True),
        ({"dmi_id": "sys_vendor: Hetzner\nproduct_name: vServer\n"}, True),
        ({"dmi_id": "sys_vendor: Nutanix\nproduct_name: AHV\n"}, True),
        ({"dmi_id": "sys_vendor: Xen\nproduct_name: HVM domU\n"}, True),
        ({"dmi_id": "sys_vendor: Xenon\nproduct_name: Xenon Radon Duo\n"}, False),
        ({"dmi_id": "sys_vendor: Microsoft Corporation\nproduct_name: Surface Pro 7\n"}, False),
    ],
)
def test_guests_of_every_host_are_known(recorded: Recorded, files: dict[str, object], *, virtual: bool) -> None:
    assert recorded(**files)["virtual"] is virtual


def test_a_container_on_an_apple_chip_sees_through_rosetta(recorded: Recorded) -> None:
    cpuinfo = "vendor_id\t: VirtualApple\nmodel name\t: VirtualApple @ 2.50GHz\nflags\t: fpu\n"
    found = recorded(proc_cpuinfo=cpuinfo, uname_mrsv="Linux 6.10.14 #1 SMP x86_64\n")
    assert (found["arch"], found["process_arch"], found["rosetta"]) == ("arm64", "x86_64", True)
    assert (found["vendor"], found["chip"], found["machine_id"]) == ("apple", None, None)


@pytest.mark.parametrize(
    ("cores", "sockets", "total"), [("8", "2", 16), ("8", "1", 8), ("-", "1", None), ("0", "1", None)]
)
def test_the_summary_of_lscpu_tells_cores_where_no_list_of_them_is(
    recorded: Recorded, cores: str, sockets: str, total: int | None
) -> None:
    assert recorded(lscpu=lscpu(cores=cores, sockets=sockets))["cpu_cores"] == total


def test_cores_of_several_sockets_are_counted_without_lscpu(recorded: Recorded) -> None:
    block = "processor\t: {n}\nphysical id\t: {socket}\nsiblings\t: 4\ncore id\t\t: {core}\ncpu cores\t: 2\n"
    blocks = [block.format(n=n, socket=n // 4, core=n % 4 // 2) for n in range(8)]
    assert recorded(proc_cpuinfo="\n".join(blocks))["cpu_cores"] == 4


@pytest.mark.parametrize(
    ("uname", "arch"),
    [
        ("Linux 6.6.0 #1 SMP riscv64\n", "riscv64"),
        ("Linux 6.6.0 #1 SMP ppc64le\n", "ppc64le"),
        ("Linux host 6.1.0-13-amd64 #1 SMP Debian 6.1.55-1 x86_64 GNU/Linux\n", "x86_64"),
        ("Linux 6.6.0 #1 SMP aarch64\n", "arm64"),
        ("Linux 6.6.0 #1 SMP\n", None),
    ],
)
def test_architectures_are_read_from_either_form_of_uname(recorded: Recorded, uname: str, arch: str | None) -> None:
    assert recorded(uname_a=uname)["arch"] == arch


NO_GPU = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n",
    "No devices were found\n",
    "Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n",
)


@pytest.mark.parametrize("text", NO_GPU)
def test_what_nvidia_smi_says_of_a_failure_is_no_gpu(recorded: Recorded, text: str) -> None:
    found = recorded(nvidia_smi=text)
    assert (found["gpu_name"], found["gpu_memory_bytes"]) == (None, None)


def test_a_gpu_that_shares_the_memory_of_the_machine_has_a_name(recorded: Recorded) -> None:
    found = recorded(nvidia_smi="name, memory.total [MiB]\nNVIDIA GB10, [N/A]\n")
    assert (found["gpu_name"], found["gpu_count"], found["gpu_memory_bytes"]) == ("NVIDIA GB10", 1, None)
    driver = {"gpus": [{"name": "NVIDIA GB10", "multiprocessors": 48, "memory_bytes": 128_000_000_000}]}
    found = recorded(cuda_driver=driver)
    assert (found["gpu_cores"], found["gpu_memory_bytes"]) == (48, 128_000_000_000)


def pmset(*devices: str, source: str = "AC") -> str:
    return "\n".join([f"Now drawing from '{source} Power'", *(f" -{device}" for device in devices), ""])


@pytest.mark.parametrize(
    ("text", "source", "percent", "state"),
    [
        (pmset(), "ac", None, None),
        (pmset("InternalBattery-0 (id=1)\t80%; AC attached; not charging present: true"), "ac", 80, "AC attached"),
        (pmset("InternalBattery-0 (id=1)\t97%; finishing charge; 0:20 remaining"), "ac", 97, "finishing charge"),
        (pmset("CP1500PFCLCD (id=2)\t100%; charging present: true"), "ac", None, None),
        (
            pmset(
                "CP1500 (id=2)\t99%; charging present: true", "InternalBattery-0 (id=1)\t80%; charging present: true"
            ),
            "ac",
            80,
            "charging",
        ),
        (pmset("Apple Inc. Magic Keyboard (id=1)\t55%; discharging present: true"), "ac", None, None),
        (pmset("Back-UPS ES 700G (id=1)\t95%; discharging; 0:33 remaining", source="UPS"), "battery", None, None),
        (
            "Currently drawing from 'Battery Power'\n -InternalBattery-0\t9%; discharging; 0:50\n",
            "battery",
            9,
            "discharging",
        ),
    ],
)
def test_only_the_battery_inside_a_mac_is_its_battery(
    recorded: Recorded, text: str, source: str, percent: int | None, state: str | None
) -> None:
    found = recorded(pmset_batt=text)
    assert (found["power_source"], found["battery_percent"], found["battery_state"]) == (source, percent, state)


@pytest.mark.parametrize(
    ("lines", "mode"),
    [
        ("lowpowermode 1\n powermode 0", None),
        ("lowpowermode 0\n powermode 2", "high"),
        ("lowpowermode 1\n powermode 1", "low"),
        ("powermode 1 (set by low battery)", "low"),
    ],
)
def test_two_keys_that_contradict_each_other_tell_no_power_mode(
    recorded: Recorded, lines: str, mode: str | None
) -> None:
    assert recorded(pmset_g=f"Currently in use:\n {lines}\n")["power_mode"] == mode


def test_on_a_ups_its_own_settings_count(recorded: Recorded) -> None:
    custom = "UPS Power:\n lowpowermode 1\nAC Power:\n lowpowermode 0\n"
    assert recorded(pmset_custom=custom, pmset_batt=pmset(source="UPS"))["power_mode"] == "low"


def test_swap_and_load_are_read_with_decimal_commas(recorded: Recorded) -> None:
    found = recorded(
        sysctl="vm.swapusage: total = 2048,00M  used = 1024,50M  free = 1023,50M\nvm.loadavg: { 1,25 1,50 2,00 }\n",
        memory_pressure="System-wide memory free percentage: 0%\n",
    )
    assert (found["swap_used_bytes"], found["load_1m"]) == (int(1024.5 * 2**20), 1.25)
    assert found["memory_free_percent"] == 0


REPORT = """PyTorch version: {torch}
Is debug build: {debug}

OS: {system}

Python version: 3.11.9 (main, Apr  2 2024) [Clang 14.0.6 ] (64-bit runtime)
Python platform: {platform}

CPU:
{cpu}

Versions of relevant libraries:
"""


@pytest.mark.parametrize(
    ("system", "platform", "cpu", "expected"),
    [
        ("macOS 26.4.1 (arm64)", "", "Apple M5 Max", ("26.4.1", "arm64", "Apple M5 Max", False)),
        ("macOS 14.6 (x86_64)", "", "VirtualApple @ 2.50GHz", ("14.6", "x86_64", None, True)),
        (
            "macOS 14.6 (x86_64)",
            "",
            "Intel(R) Core(TM) i7-9750H",
            ("14.6", "x86_64", "Intel(R) Core(TM) i7-9750H", False),
        ),
        ("macOS 12.4", "macOS-12.4-arm64-arm-64bit", "", ("12.4", "arm64", None, False)),
        ("macOS 15.0 (arm64)", "", "Could not collect", ("15.0", "arm64", None, False)),
        (
            "Ubuntu 24.04 LTS (x86_64)",
            "",
            "Architecture:   x86_64\nModel name:   AMD EPYC 7763",
            (None, "x86_64", "AMD EPYC 7763", False),
        ),
        (
            "Microsoft Windows 11 Pro",
            "",
            "Name: Intel(R) Core(TM) i9\nFamily: 207",
            (None, None, "Intel(R) Core(TM) i9", None),
        ),
        (
            "Microsoft Windows 10",
            "",
            "Architecture=9\nName=Intel(R) Core(TM) i7",
            (None, None, "Intel(R) Core(TM) i7", None),
        ),
    ],
)
@pytest.mark.parametrize("prefix", ["", "> ", "  "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_report_is_read_on_every_system_and_inside_an_answer(
    system: str, platform: str, cpu: str, expected: tuple[object, ...], prefix: str, end: str
) -> None:
    text = REPORT.format(torch="2.7.0+cu126", debug="False", system=system, platform=platform, cpu=cpu)
    found = parse(end.join(prefix + line for line in text.splitlines()))
    assert (found.macos, found.arch, found.cpu, found.rosetta) == expected
    assert (found.torch, found.python, found.debug_build) == ("2.7.0+cu126", "3.11.9", False)


def test_a_report_from_under_rosetta_is_one_of_an_apple_chip(recorded: Recorded) -> None:
    cpu = "VirtualApple @ 2.50GHz"
    report = REPORT.format(torch="2.2.2", debug="False", system="macOS 14.6 (x86_64)", platform="", cpu=cpu)
    found = recorded(collect_env=report)
    assert (found["arch"], found["process_arch"], found["rosetta"], found["chip"]) == ("arm64", "x86_64", True, None)


@pytest.mark.parametrize(("word", "debug"), [("Yes", True), ("No", False), ("True", True), ("N/A", None)])
def test_old_reports_say_yes_and_no(word: str, *, debug: bool | None) -> None:
    text = REPORT.format(torch="1.5.0", debug=word, system="Mac OSX 10.15.4", platform="", cpu="")
    assert (parse(text).debug_build, parse(text).macos) == (debug, "10.15.4")


MACHINES = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
COUNTS = ("cpu_cores", "gpu_cores", "battery_percent", "cpu_speed_limit", "gpu_utilization_percent", "niceness")


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with pieces left out, doubled and changed."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(data))
        end = start + chance.randint(0, 60)
        piece = data[start:end]
        other = [b"", piece * 2, bytes(byte ^ 1 << chance.randint(0, 7) for byte in piece), b"\xff\x00"]
        data = data[:start] + chance.choice(other) + data[end:]
    return data


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(folder=st.sampled_from(MACHINES), seed=st.integers(0, 2**32))
def test_a_damaged_recording_is_read_and_no_count_is_made_up(tmp_path: Path, folder: Path, seed: int) -> None:
    """A number may be damaged too, but it stands in what is left, or is the sum of cores that do."""
    chance = random.Random(seed)
    for path in tmp_path.iterdir():
        path.unlink()
    for path in folder.iterdir():
        if path.name != "expected.json":
            (tmp_path / path.name).write_bytes(damaged(path.read_bytes(), chance))
    found = fingerprint(replay_probe(tmp_path))
    text = "\n".join(path.read_text(errors="replace") for path in tmp_path.iterdir())
    numbers = {int(digits) for digits in re.findall(r"[0-9]{1,18}", text)}
    numbers |= {int.from_bytes(bytes.fromhex(data), "little") for data in re.findall(r"<((?:[0-9a-fA-F]{2})+)>", text)}
    tiers = found["tier_counts"] if isinstance(found["tier_counts"], list) else []
    derived = (sum(tiers), None) if folder.parent.name == "macos" else (*tiers, sum(tiers), None, found["cpu_cores"])
    assert all(found[key] in numbers or found[key] in derived for key in COUNTS)
    assert all(count in numbers or count in derived for count in tiers)
