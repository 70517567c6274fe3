"""Macs of every kind, from the few lines of their outputs that matter."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metalmark_collector.fingerprint import fingerprint, replay_probe

Recorded = Callable[..., dict[str, object]]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """The fingerprint of a machine whose files are given by name, without ``.txt`` or with ``.json``."""

    def read(**files: object) -> dict[str, object]:
        for name, content in files.items():
            is_text = isinstance(content, str)
            path = tmp_path / f"{name}{'.txt' if is_text else '.json'}"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return fingerprint(replay_probe(tmp_path))

    return read


def hardware(**fields: object) -> dict[str, object]:
    return {"SPHardwareDataType": [{"_name": "hardware_overview", **fields}]}


@pytest.mark.parametrize("chip", ["Apple M7 Ultra", "Apple A20", "Apple M12 Pro Max"])
def test_a_chip_that_nobody_has_heard_of_is_read_like_any_other(recorded: Recorded, chip: str) -> None:
    found = recorded(
        system_profiler_hardware=hardware(
            chip_type=chip, machine_model="Mac25,1", number_processors="proc 40:8:24:8", physical_memory="96 GB"
        ),
        sw_vers="ProductName:\t\tmacOS\nProductVersion:\t\t28.1\nBuildVersion:\t\t27A1\n",
    )
    assert (found["chip"], found["arch"], found["virtual"]) == (chip, "arm64", False)
    assert (found["tier_counts"], found["memory_bytes"]) == ([8, 24, 8], 96 * 2**30)


def test_a_complete_mac_has_a_machine_id_that_names_of_levels_do_not_change(recorded: Recorded) -> None:
    displays = {"SPDisplaysDataType": [{"_name": "Apple M5", "sppci_model": "Apple M5", "sppci_cores": "10"}]}
    levels = "hw.nperflevels: 2\nhw.perflevel0.physicalcpu: 4\nhw.perflevel1.physicalcpu: 6\nhw.memsize: 17179869184\n"
    mac = {"system_profiler_displays": displays, "system_profiler_hardware": hardware(machine_model="Mac17,2")}
    chip = "machdep.cpu.brand_string: Apple M5\n"
    first = recorded(**mac, sysctl=levels + chip)
    second = recorded(**mac, sysctl=levels + chip + "hw.perflevel0.name: Super\nhw.perflevel1.name: Efficiency\n")
    assert first["machine_id"] is not None
    assert first["machine_id"] == second["machine_id"]
    assert second["super_cores"] == 4


def test_a_virtual_mac_loses_the_word_virtual_and_gets_no_machine_id(recorded: Recorded) -> None:
    found = recorded(
        sysctl="machdep.cpu.brand_string: Apple M1 (Virtual)\nhw.model: VirtualMac2,1\nhw.memsize: 7516192768\n"
        "hw.nperflevels: 1\nhw.perflevel0.name: Standard\nhw.perflevel0.physicalcpu: 3\nkern.hv_vmm_present: 1\n",
        system_profiler_displays={"SPDisplaysDataType": [{"sppci_model": "Apple Paravirtual device"}]},
    )
    assert (found["chip"], found["virtual"], found["machine_id"]) == ("Apple M1", True, None)
    assert (found["cpu_tiers"], found["gpu_cores"]) == ([{"name": "Standard", "cores": 3}], None)


@pytest.mark.parametrize(
    "sign",
    [
        {"sysctl": "kern.hv_vmm_present: 1\nhw.model: Mac16,1\n"},
        {"uname_a": "Darwin h 24.1.0 Darwin Kernel Version 24.1.0: x; root:xnu-1/RELEASE_ARM64_VMAPPLE arm64"},
        {"system_profiler_displays": "      Chipset Model: Apple Paravirtual device\n"},
        {"system_profiler_hardware": "Model Identifier: VMware7,1\n"},
    ],
)
def test_each_sign_of_a_guest_is_enough(recorded: Recorded, sign: dict[str, str]) -> None:
    assert recorded(**sign)["virtual"] is True


@pytest.mark.parametrize(
    ("files", "rosetta"),
    [
        ({"sysctl": "sysctl.proc_translated: 1\n"}, True),
        ({"sysctl": "sysctl.proc_translated: 0\nmachdep.cpu.brand_string: Apple M1\n"}, False),
        ({"sysctl": "hw.optional.arm64: 1\n", "uname_m": "x86_64\n"}, True),
        ({"sysctl": "machdep.cpu.brand_string: VirtualApple @ 2.50GHz\n"}, True),
        ({"uname_a": "Darwin h 24.1.0 Darwin Kernel Version 24.1.0: x/RELEASE_ARM64_T8103 x86_64\n"}, True),
        ({"sysctl": "machdep.cpu.brand_string: Intel(R) Core(TM) i7\n", "uname_m": "x86_64\n"}, False),
        ({"uname_m": "arm64\n"}, False),
        ({"uname_m": "x86_64\n"}, None),
        ({"sysctl": "machdep.cpu.brand_string: Apple M1\n"}, None),
    ],
)
def test_rosetta_is_told_by_any_sign_and_unknown_without_one(
    recorded: Recorded, files: dict[str, str], *, rosetta: bool | None
) -> None:
    assert recorded(**files)["rosetta"] is rosetta


def test_a_mac_seen_through_rosetta_is_never_an_intel_mac(recorded: Recorded) -> None:
    found = recorded(
        system_profiler_hardware=hardware(
            cpu_type="Unknown",
            current_processor_speed="2,4 GHz",
            number_processors=8,
            machine_model="MacBookAir10,1",
            physical_memory="16 GB",
        )
    )
    assert (found["chip"], found["vendor"], found["arch"], found["rosetta"]) == (None, None, "arm64", True)
    assert (found["cpu_cores"], found["tier_counts"], found["machine_id"]) == (8, None, None)


def test_of_two_gpus_of_an_intel_mac_the_one_that_is_not_intels_is_used(recorded: Recorded) -> None:
    found = recorded(
        system_profiler_displays="""Graphics/Displays:

    Intel UHD Graphics 630:

      Chipset Model: Intel UHD Graphics 630
      VRAM (Dynamic, Max): 1536 MB
      Metal Family: Supported, Metal GPUFamily macOS 2

    AMD Radeon Pro 5500M:

      Chipset Model: AMD Radeon Pro 5500M
      VRAM (Total): 8 GB
      Metal Family: Supported, Metal GPUFamily macOS 2
      Displays:
        Color LCD:
          Resolution: 3072 x 1920 Retina
        LG HDR 4K:
          Resolution: 3840 x 2160
""",
        system_profiler_hardware="Model Identifier: MacBookPro16,1\nProcessor Name: 8-Core Intel Core i9\n"
        "Total Number of Cores: 8\nMemory: 32 GB\n",
    )
    assert (found["gpu_name"], found["gpu_count"], found["display_count"]) == ("AMD Radeon Pro 5500M", 2, 2)
    assert found["gpu_memory_bytes"] == 8 * 2**30
    assert (found["arch"], found["rosetta"], found["tier_counts"]) == ("x86_64", False, [8])
    assert found["metal"] == "Supported, Metal GPUFamily macOS 2"


@pytest.mark.parametrize(
    ("key", "value", "metal"),
    [
        ("spdisplays_mtlgpufamilysupport", "spdisplays_metal3", "Metal 3"),
        ("spdisplays_mtlgpufamilysupport", "spdisplays_metal12", "Metal 12"),
        ("spdisplays_metalfamily", "spdisplays_mtlgpufamilyapple7", "Supported, Metal GPUFamily Apple 7"),
        ("spdisplays_metalfamily", "spdisplays_mtlgpufamilymac2", "Supported, Metal GPUFamily macOS 2"),
        ("spdisplays_metal", "spdisplays_supported", "Supported"),
        ("spdisplays_metal", "spdisplays_notsupported", None),
    ],
)
def test_metal_levels_of_every_version_are_in_the_words_of_the_text_output(
    recorded: Recorded, key: str, value: str, metal: str | None
) -> None:
    gpu = {"_name": "kHW_AppleM1Item", "sppci_model": "Apple M1", key: value}
    found = recorded(system_profiler_displays={"SPDisplaysDataType": [gpu]})
    assert (found["metal"], found["gpu_name"]) == (metal, "Apple M1")


def test_noise_before_and_inside_json_is_no_obstacle(recorded: Recorded, tmp_path: Path) -> None:
    noise = "2026-04-28 08:52:35.280 system_profiler[29046:41174793] hw.cpufamily: 0x17d5b93a\n"
    text = json.dumps(hardware(chip_type="Apple M4 Max", number_processors="proc 16:12:4"), indent=2)
    (tmp_path / "system_profiler_hardware.json").write_text(noise + text.replace("\n", "\n" + noise, 2))
    assert recorded()["chip"] == "Apple M4 Max"
    assert recorded()["tier_counts"] == [12, 4]


def test_json_that_breaks_off_gives_what_came_before(recorded: Recorded, tmp_path: Path) -> None:
    text = json.dumps(hardware(chip_type="Apple M4", number_processors=10, physical_memory="128 GB"))
    path = tmp_path / "system_profiler_hardware.json"
    path.write_text(text[: text.index("28 GB")])
    found = recorded()
    assert (found["chip"], found["cpu_cores"], found["memory_bytes"]) == ("Apple M4", 10, None)
    path.write_text(text[: text.index("0, ")])
    assert recorded()["cpu_cores"] is None


@pytest.mark.parametrize(
    ("text", "gib"), [("16 GB", 16), ("1,5 TB", 1536), ("1.5 TB", 1536), ("18\u00a0GB", 18), ("36 Go", 36)]
)
def test_memory_is_read_in_every_language(recorded: Recorded, text: str, gib: int) -> None:
    assert recorded(system_profiler_hardware=hardware(physical_memory=text))["memory_bytes"] == gib * 2**30


def test_the_middle_of_a_kernel_name_is_the_soc(recorded: Recorded) -> None:
    found = recorded(
        uname_a="Darwin host.local 27.0.0 Darwin Kernel Version 27.0.0: Mon; root:xnu-1~2/RELEASE_ARM64_T8152 arm64"
    )
    assert (found["kernel"], found["soc"], found["process_arch"]) == ("27.0.0", "T8152", "arm64")
    assert "host" not in json.dumps(found)


def test_software_text_tells_system_and_kernel(recorded: Recorded) -> None:
    found = recorded(
        system_profiler_software="      System Version: macOS 14.5 (23F79)\n      Kernel Version: Darwin 23.5.0\n"
        "      Computer Name: SECRET\n      User Name: SECRET (secret)\n"
    )
    assert (found["macos_version"], found["macos_build"], found["kernel"]) == ("14.5", "23F79", "23.5.0")
    assert found["os_name"] == "macOS"
    assert "secret" not in json.dumps(found).lower()


def test_system_names_of_old_and_new_releases_are_read(recorded: Recorded) -> None:
    found = recorded(
        sw_vers="ProductName:\tMac OS X\nProductVersion:\t10.15.7\nProductVersionExtra:\t(a)\nBuildVersion:\t19H2\n"
    )
    assert (found["os_name"], found["macos_version"], found["macos_build"]) == ("macOS", "10.15.7", "19H2")
