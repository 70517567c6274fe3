"""Linux machines of every kind, from the few lines of their outputs that matter."""

import ctypes
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from metalmark_collector.fingerprint.cuda_driver import gpus

Recorded = Callable[..., dict[str, object]]

INTEL = "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Core(TM) i7-12700K\nflags\t\t: fpu sse2 avx2\n"


def topology(*cores: int) -> dict[str, object]:
    return {"cpus": [{"cpu": cpu, "core": core, "socket": 0} for cpu, core in enumerate(cores)]}


def test_threads_of_a_core_are_counted_once(recorded: Recorded) -> None:
    found = recorded(lscpu_topology=topology(0, 0, 1, 1, 2, 2, 3, 3), proc_cpuinfo=INTEL)
    assert (found["cpu_cores"], found["tier_counts"]) == (4, [4])
    assert (found["vendor"], found["chip"], found["virtual"]) == ("intel", "Intel(R) Core(TM) i7-12700K", False)


def test_an_old_lscpu_writes_numbers_as_text(recorded: Recorded) -> None:
    cpus = [{"cpu": "0", "core": "0", "socket": "0"}, {"cpu": "1", "core": "0", "socket": "1"}]
    assert recorded(lscpu_topology={"cpus": cpus})["cpu_cores"] == 2


def test_a_hybrid_intel_processor_has_two_levels(recorded: Recorded) -> None:
    found = recorded(lscpu_topology=topology(0, 0, 1, 1, 2, 3, 4, 5), hybrid_cpus="cpu_atom: 4-7\ncpu_core: 0-3\n")
    assert (found["cpu_cores"], found["tier_counts"], found["cpu_tiers"]) == (6, [2, 4], None)


def test_levels_of_an_arm_processor_come_from_their_capacity(recorded: Recorded) -> None:
    capacity = "cpu0: 446\ncpu1: 446\ncpu2: 1024\ncpu3: 1024\ncpu4: 1024\n"
    found = recorded(lscpu_topology=topology(0, 1, 2, 3, 4), cpu_capacity=capacity, uname_m="aarch64\n")
    assert (found["tier_counts"], found["arch"]) == ([3, 2], "arm64")


def test_favoured_cores_of_an_x86_processor_are_no_level(recorded: Recorded) -> None:
    found = recorded(lscpu_topology=topology(0, 1), cpu_capacity="cpu0: 1024\ncpu1: 1009\n", uname_m="x86_64\n")
    assert found["tier_counts"] == [2]


def test_apple_hardware_under_linux_is_known_by_its_device_tree(recorded: Recorded) -> None:
    found = recorded(
        device_tree="model: Apple MacBook Pro (14-inch, M1 Pro, 2021)\ncompatible: apple,j314s apple,t6000 apple,arm\n",
        lscpu={"lscpu": [{"field": "Vendor ID:", "data": "Apple"}, {"field": "Model name:", "data": "Icestorm-M1"}]},
        os_release='NAME="Fedora Linux Asahi Remix"\nVERSION_ID=41\n',
        uname_m="aarch64\n",
    )
    assert (found["chip"], found["soc"], found["vendor"], found["arch"]) == ("Apple M1 Pro", "T6000", "apple", "arm64")
    assert (found["os_name"], found["os_version"]) == ("Linux", "Fedora Linux Asahi Remix 41")
    assert (found["virtual"], found["rosetta"]) == (False, False)


@pytest.mark.parametrize(
    ("files", "virtual"),
    [
        ({"systemd_detect_virt": "kvm\n"}, True),
        ({"systemd_detect_virt": "none\n", "proc_cpuinfo": INTEL}, False),
        ({"proc_cpuinfo": "flags : fpu hypervisor sse2\n"}, True),
        ({"dmi_id": "sys_vendor: QEMU\nproduct_name: Standard PC (Q35 + ICH9, 2009)\n"}, True),
        ({"dmi_id": "sys_vendor: Amazon EC2\nproduct_name: c7g.xlarge\n"}, True),
        ({"dmi_id": "sys_vendor: Amazon EC2\nproduct_name: c7g.metal\n"}, False),
        ({"dmi_id": "sys_vendor: LENOVO\nproduct_name: 21HM\n", "proc_cpuinfo": INTEL}, False),
        ({"device_tree": "model: linux,dummy-virt\n"}, True),
        ({}, None),
    ],
)
def test_a_guest_is_known_by_any_of_three_sources(
    recorded: Recorded, files: dict[str, str], *, virtual: bool | None
) -> None:
    assert recorded(**files)["virtual"] is virtual


def test_memory_of_the_kernel_is_never_taken_for_installed_memory(recorded: Recorded) -> None:
    found = recorded(proc_meminfo="MemTotal:       32541032 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n")
    assert (found["memory_bytes"], found["memory_total_bytes"]) == (None, 32541032 * 1024)
    assert found["swap_used_bytes"] == 60 * 1024


def test_memory_modules_that_the_firmware_lists_are_added_up(recorded: Recorded) -> None:
    module = "E:MEMORY_DEVICE_{n}_SIZE=17179869184\nE:MEMORY_DEVICE_{n}_SERIAL_NUMBER=SECRET\n"
    found = recorded(dmi_memory=module.format(n=0) + module.format(n=1))
    assert found["memory_bytes"] == 32 * 2**30
    assert "SECRET" not in json.dumps(found)


def test_a_name_that_nobody_filled_in_is_no_model(recorded: Recorded) -> None:
    assert recorded(dmi_id="product_name: To Be Filled By O.E.M.\n")["model"] is None
    assert recorded(dmi_id="product_name: ThinkPad X1\n")["model"] == "ThinkPad X1"


def test_several_gpus_are_counted_and_their_memory_is_that_of_one(recorded: Recorded) -> None:
    row = "NVIDIA H200, 143771 MiB\n"
    driver = {"gpus": [{"name": "NVIDIA H200", "multiprocessors": 132, "memory_bytes": 1}] * 2}
    found = recorded(nvidia_smi="name, memory.total [MiB]\n" + row * 2, cuda_driver=driver)
    assert (found["gpu_name"], found["gpu_count"], found["gpu_cores"]) == ("NVIDIA H200", 2, 132)
    assert found["gpu_memory_bytes"] == 143771 * 2**20


def test_without_nvidia_smi_the_driver_tells(recorded: Recorded) -> None:
    driver = {"gpus": [{"name": "NVIDIA GeForce RTX 4090", "multiprocessors": 128, "memory_bytes": 25393692672}]}
    found = recorded(cuda_driver=driver)
    assert (found["gpu_name"], found["gpu_cores"]) == ("NVIDIA GeForce RTX 4090", 128)
    assert found["gpu_memory_bytes"] == 25393692672


def test_an_error_of_nvidia_smi_is_no_gpu(recorded: Recorded) -> None:
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    assert recorded(nvidia_smi=text)["gpu_count"] is None


PCI = "devices: pci:v0000{}d00001234sv00000000sd00000000bc{}sc00i00\n"
BRIDGE, CONSOLE = PCI.format("8086", "06"), PCI.format("1A03", "03")


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"gpu_devices": BRIDGE}, 0),
        ({"gpu_devices": BRIDGE + CONSOLE + "card0: pci:v00001A03d00002000sv0sd0bc03sc00i00\n"}, 0),
        ({"gpu_devices": BRIDGE + PCI.format("10DE", "03")}, None),  # a card without its driver has no name
        ({"gpu_devices": BRIDGE + PCI.format("8086", "03")}, None),  # so has a GPU inside the processor
        ({"gpu_devices": BRIDGE + PCI.format("1002", "12")}, None),
        ({"gpu_devices": BRIDGE + PCI.format("1414", "03")}, None),  # the card that Windows lends to its Linux
        ({"gpu_devices": BRIDGE + "card0: of:NgpuT(null)Capple,agx-g13g\n"}, None),
        ({"gpu_devices": BRIDGE, "device_tree": "model: NVIDIA Jetson Orin Nano\n"}, None),
        ({"gpu_devices": ""}, None),
        ({}, None),
    ],
)
def test_a_machine_has_no_gpu_only_where_its_list_of_devices_says_so(
    recorded: Recorded, files: dict[str, str], count: int | None
) -> None:
    found = recorded(**files)
    assert (found["gpu_count"], found["gpu_name"], found["gpu_cores"]) == (count, None, None)


def test_a_server_without_a_gpu_has_an_id(recorded: Recorded) -> None:
    modules = "E:MEMORY_DEVICE_0_SIZE=17179869184\n"
    files = {"proc_cpuinfo": INTEL, "dmi_memory": modules, "lscpu_topology": topology(0, 1)}
    assert recorded(**files)["machine_id"] is None
    assert recorded(gpu_devices=BRIDGE + CONSOLE)["machine_id"] is not None


@pytest.mark.parametrize(
    ("ports", "displays"),
    [
        ("card0-HDMI-A-1: connected\ncard0-DP-1: disconnected\ncard1-eDP-1: connected\n", 2),
        ("card0-DP-1: disconnected\n", 0),
        ("card0-DP-1: unknown\n", None),
        ("", None),
    ],
)
def test_connected_displays_are_counted(recorded: Recorded, ports: str, displays: int | None) -> None:
    assert recorded(display_ports=ports)["displays"] == displays


def test_an_arm_server_with_an_nvidia_gpu_is_read_like_any_other(recorded: Recorded) -> None:
    found = recorded(
        uname_m="Linux 6.8.0-1030-nvidia-64k #33-Ubuntu SMP aarch64\n",
        lscpu={"lscpu": [{"field": "Vendor ID:", "data": "ARM"}, {"field": "Model name:", "data": "Neoverse-V2"}]},
        lscpu_topology=topology(*range(72)),
        dmi_id="sys_vendor: Supermicro\nproduct_name: ARS-111GL-NHR\n",
        nvidia_smi="name, memory.total [MiB]\nNVIDIA GH200 480GB, 97871 MiB\n",
        cuda_driver={"gpus": [{"name": "NVIDIA GH200 480GB", "multiprocessors": 132, "memory_bytes": 101486034944}]},
    )
    assert (found["chip"], found["vendor"], found["arch"]) == ("Neoverse-V2", "arm", "arm64")
    assert (found["gpu_name"], found["gpu_cores"], found["gpu_count"]) == ("NVIDIA GH200 480GB", 132, 1)
    assert (found["cpu_cores"], found["tier_counts"], found["virtual"]) == (72, [72], False)
    assert (found["memory_bytes"], found["rosetta"]) == (None, False)


def test_an_amd_gpu_under_rocm_has_no_name_that_anybody_told(recorded: Recorded) -> None:
    found = recorded(gpu_devices=BRIDGE + PCI.format("1002", "03"), proc_cpuinfo="vendor_id : AuthenticAMD\n")
    assert [found[key] for key in ("gpu_name", "gpu_count", "gpu_cores", "gpu_memory_bytes")] == [None] * 4


def test_a_container_without_firmware_tables_leaves_them_unknown(recorded: Recorded) -> None:
    found = recorded(proc_cpuinfo=INTEL, proc_meminfo="MemTotal: 32541032 kB\nMemAvailable: 1024 kB\n")
    assert [found[key] for key in ("model", "memory_bytes", "machine_id", "power_source")] == [None] * 4
    assert found["memory_available_bytes"] == 2**20


@pytest.mark.parametrize(
    ("supply", "status", "source"),
    [
        ("AC: 1\n", "BAT0: Charging\n", "ac"),
        ("AC: 0\n", "BAT0: Discharging\n", "battery"),
        ("", "BAT0: Discharging\n", "battery"),
        ("", "", None),
    ],
)
def test_power_of_a_laptop(recorded: Recorded, supply: str, status: str, source: str | None) -> None:
    assert recorded(power_supply=supply, battery_status=status)["power_source"] == source


def test_the_profile_of_the_firmware_is_told_in_the_words_of_macos(recorded: Recorded) -> None:
    found = recorded(platform_profile="low-power\n")
    assert (found["power_mode"], found["low_power_mode"]) == ("low", True)
    assert recorded(platform_profile="cool\n")["power_mode"] is None


@pytest.fixture
def driver() -> SimpleNamespace:
    """Answers as libcuda does: a status, and the value through a pointer. It refuses to tell of GPU 1."""

    def fill(pointer: Any, value: int, status: int = 0) -> int:
        pointer._obj.value = value
        return status

    def name(buffer: ctypes.Array[ctypes.c_char], _size: int, device: ctypes.c_int) -> int:
        buffer.value = b"GPU %d" % device.value
        return 0

    return SimpleNamespace(
        cuInit=lambda _flags: 0,
        cuDeviceGetCount=lambda count: fill(count, 2),
        cuDeviceGet=fill,
        cuDeviceGetName=name,
        cuDeviceGetAttribute=lambda value, _which, device: fill(value, 132, status=device.value),
        cuDeviceTotalMem_v2=lambda value, device: fill(value, 80, status=device.value),
    )


def test_what_the_driver_refuses_is_unknown_and_not_zero(driver: Any) -> None:
    assert gpus(driver) == [
        {"name": "GPU 0", "multiprocessors": 132, "memory_bytes": 80},
        {"name": "GPU 1", "multiprocessors": None, "memory_bytes": None},
    ]


def test_a_driver_that_does_not_start_has_no_gpus(driver: Any) -> None:
    driver.cuInit = lambda _flags: 999
    assert gpus(driver) == []
