# ruff: noqa: RUF001  labels in other alphabets
"""Macs of kinds that nobody has recorded yet, made by hand from what is known of their outputs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Recorded = Callable[..., dict[str, object]]
Roles = tuple[int | None, int | None, int | None]


def hardware(**fields: object) -> dict[str, object]:
    return {"SPHardwareDataType": [{"_name": "hardware_overview", **fields}]}


def displays(*gpus: dict[str, str]) -> dict[str, object]:
    return {"SPDisplaysDataType": list(gpus)}


def sw_vers(version: str) -> str:
    return f"ProductName:\t\tmacOS\nProductVersion:\t\t{version}\n"


def roles(found: dict[str, object]) -> tuple[object, object, object]:
    return (found["super_cores"], found["performance_cores"], found["efficiency_cores"])


@pytest.mark.parametrize(
    ("chip", "macos", "processors", "counts", "expected"),
    [
        ("Apple M5 Pro", "26.3", "proc 15:5:0:10", [5, 10], (5, 10, 0)),
        ("Apple M5 Ultra", "26.5", "proc 36:12:0:24", [12, 24], (12, 24, 0)),
        ("Apple M6", "27.1", "proc 12:2:4:6", [2, 4, 6], (2, 4, 6)),
        # Three levels on macOS 26 were never seen: their order is certain, their names are not.
        ("Apple M6", "26.6", "proc 12:2:4:6", [2, 4, 6], (None, None, None)),
        ("Apple M7 Ultra", "28.0", "proc 40:8:24:8", [8, 24, 8], (8, 24, 8)),
        ("Apple A18 Pro", "15.5", "proc 6:2:4", [2, 4], (0, 2, 4)),
        ("Apple A20", "26.5", "proc 6:2:4:0", [2, 4], (None, None, 4)),
        ("Apple A20 Pro", "27.0", "proc 6:2:0:4", [2, 4], (2, 0, 4)),
        ("Apple processor", "26.5", "proc 6:2:4:0", [2, 4], (None, None, 4)),
        # An M4 has no Super core, so one of the three values is not what it seems.
        ("Apple M4", "27.0", "proc 10:4:6:0", [4, 6], (None, None, None)),
    ],
)
def test_cores_of_a_new_chip_are_named_only_where_system_and_chip_leave_no_choice(
    recorded: Recorded, chip: str, macos: str, processors: str, counts: list[int], expected: Roles
) -> None:
    found = recorded(
        system_profiler_hardware=hardware(chip_type=chip, number_processors=processors), sw_vers=sw_vers(macos)
    )
    assert (found["chip"], found["vendor"], found["arch"]) == (chip, "apple", "arm64")
    assert (found["cpu_cores"], found["tier_counts"], roles(found)) == (sum(counts), counts, expected)


def test_the_kernel_tells_the_version_of_macos_where_nothing_else_does(recorded: Recorded) -> None:
    mac = hardware(chip_type="Apple M5 Max", number_processors="proc 18:6:0:12")
    kernel = "Darwin {0}.4.0 Darwin Kernel Version {0}.4.0: Thu; root:xnu-1/RELEASE_ARM64_T6050 arm64"
    assert roles(recorded(system_profiler_hardware=mac, uname_mrsv=kernel.format(25))) == (6, 12, 0)
    assert recorded()["macos_version"] is None
    assert roles(recorded(uname_mrsv=kernel.format(26))) == (None, None, None)


SYSCTL = "machdep.cpu.brand_string: Apple M6\nhw.physicalcpu: 12\nhw.memsize: 25769803776\n"


def levels(*counts: int, kind: str = "physicalcpu", announced: int | None = None) -> str:
    listed = "".join(f"hw.perflevel{n}.{kind}: {count}\n" for n, count in enumerate(counts))
    return listed + f"hw.nperflevels: {announced or len(counts)}\n"


@pytest.mark.parametrize(
    ("listed", "counts"),
    [
        (levels(2, 4, 6), [2, 4, 6]),
        (levels(2, 4, 6, kind="logicalcpu"), [2, 4, 6]),
        (levels(2, 4, 6, kind="physicalcpu_max"), [2, 4, 6]),
        (levels(6, 0, 6), [6, 6]),  # a level without cores is none
        (levels(6, 6, announced=3), [6, 6]),  # the third level has no core left
        (levels(2, 4, announced=3), None),
        ("hw.perflevel1.physicalcpu: 8\nhw.perflevel0.physicalcpu: 4\n", [4, 8]),
        ("hw.perflevel1.physicalcpu: 10\n", None),
    ],
)
def test_levels_are_complete_when_they_hold_all_cores(
    recorded: Recorded, listed: str, counts: list[int] | None
) -> None:
    found = recorded(sysctl=SYSCTL + listed)
    assert (found["cpu_cores"], found["tier_counts"], found["cpu_tiers"]) == (12, counts, None)


def test_threads_of_an_intel_core_are_no_cores(recorded: Recorded) -> None:
    found = recorded(
        sysctl="machdep.cpu.brand_string: Intel(R) Core(TM) i9-9980HK CPU @ 2.40GHz\nhw.model: MacBookPro16,1\n"
        "hw.physicalcpu: 8\nhw.logicalcpu: 16\nhw.ncpu: 16\nhw.nperflevels: 1\nhw.perflevel0.logicalcpu: 16\n"
    )
    assert (found["cpu_cores"], found["tier_counts"]) == (8, [8])


HARDWARE = {
    "German": """Hardware:

    Hardware-Übersicht:

      Modellname: MacBook Pro
      Modell-Identifizierung: Mac15,6
      Chip: Apple M3 Pro
      Gesamtanzahl der Kerne: 11 (5 Leistung und 6 Effizienz)
      Speicher: 18 GB
      System-Firmware-Version: 10151.1.1
""",
    "French": """Matériel :

    Informations sur le matériel :

      Nom du modèle : MacBook Pro
      Identifiant du modèle : Mac15,6
      Puce : Apple M3 Pro
      Nombre total de cœurs : 11 (5 performance et 6 efficacité)
      Mémoire : 18 Go
""",
    "Japanese": """ハードウェア:

      機種名: MacBook Pro
      機種ID: Mac15,6
      チップ: Apple M3 Pro
      コアの総数: 11（パフォーマンス: 5、効率性: 6）
      メモリ: 18 GB
""",
    "Japanese with wide colons": """      機種名：MacBook Pro
      機種ID：Mac15,6
      チップ：Apple M3 Pro
      コアの総数：11（5パフォーマンスと6効率）
      メモリ：18 GB
""",
    "Russian": """Аппаратные средства:

      Название модели: MacBook Pro
      Идентификатор модели: Mac15,6
      Чип: Apple M3 Pro
      Общее количество ядер: 11 (5 производительности и 6 эффективности)
      Память: 18 ГБ
""",
}


@pytest.mark.parametrize("text", HARDWARE.values(), ids=HARDWARE)
def test_hardware_is_read_in_every_language(recorded: Recorded, text: str) -> None:
    found = recorded(system_profiler_hardware=text)
    assert (found["chip"], found["model"], found["machine_name"]) == ("Apple M3 Pro", "Mac15,6", "MacBook Pro")
    assert (found["cpu_cores"], found["tier_counts"], found["memory_bytes"]) == (11, [5, 6], 18 * 2**30)
    assert roles(found)[0] is None


def test_an_intel_mac_in_german_keeps_its_cores_and_no_cache_is_taken_for_memory(recorded: Recorded) -> None:
    found = recorded(
        system_profiler_hardware="      Modell-Identifizierung: MacBookPro14,3\n"
        "      Prozessortyp: Quad-Core Intel Core i7\n      Prozessorgeschwindigkeit: 2,8 GHz\n"
        "      Anzahl der Prozessoren: 1\n      Gesamtanzahl der Kerne: 4\n      L2-Cache (pro Kern): 256 KB\n"
        "      L3-Cache: 6 MB\n      Speicher: 16 GB\n"
    )
    assert (found["chip"], found["cpu_cores"], found["tier_counts"]) == ("Quad-Core Intel Core i7", 4, [4])
    assert found["memory_bytes"] == 16 * 2**30


GRAPHICS = {
    "German": "Grafik/Monitore:\n\n    Apple M3 Pro:\n\n      Chipsatz-Modell: Apple M3 Pro\n      Typ: GPU\n"
    "      Gesamtanzahl der Kerne: 14\n      Metal-Unterstützung: Metal 3\n      Monitore:\n        Color LCD:\n",
    "French": "Carte graphique/moniteurs :\n\n    Apple M3 Pro :\n\n      Jeu de composants : Apple M3 Pro\n"
    "      Nombre total de cœurs : 14\n      Prise en charge de Metal : Metal 3\n",
    "Japanese": "グラフィックス/ディスプレイ:\n\n    Apple M3 Pro:\n\n      チップセットのモデル: Apple M3 Pro\n"
    "      コアの総数: 14\n      Metalのサポート: Metal 3\n",
}


@pytest.mark.parametrize("text", GRAPHICS.values(), ids=GRAPHICS)
def test_a_gpu_is_read_in_every_language(recorded: Recorded, text: str) -> None:
    found = recorded(system_profiler_displays=text)
    assert (found["gpu_name"], found["gpu_count"], found["gpu_cores"]) == ("Apple M3 Pro", 1, 14)
    assert found["metal"] == "Metal 3"


GPU_TEXT = (
    "Graphics/Displays:\n\n    Apple M3 Pro:\n\n      Chipset Model: Apple M3 Pro\n      Total Number of Cores: 14\n"
)
CPU_TEXT = (
    "Hardware:\n\n    Hardware Overview:\n\n      Model Name: MacBook Pro\n      Chip: Apple M3 Pro\n"
    "      Total Number of Cores: 11 (5 performance and 6 efficiency)\n      Memory: 18 GB\n\n"
)


@pytest.mark.parametrize("text", [GPU_TEXT + CPU_TEXT, CPU_TEXT + GPU_TEXT])
def test_cores_of_processor_and_gpu_in_one_file_are_told_apart(recorded: Recorded, text: str) -> None:
    found = recorded(system_profiler_hardware=text)
    assert (found["cpu_cores"], found["gpu_cores"], found["gpu_name"]) == (11, 14, "Apple M3 Pro")


def test_both_data_types_in_one_json_are_told_apart(recorded: Recorded) -> None:
    both = hardware(chip_type="Apple M4", number_processors=10) | displays(
        {"_name": "Apple M4", "sppci_bus": "spdisplays_builtin", "sppci_cores": "8"}
    )
    found = recorded(system_profiler_hardware=both)
    assert (found["cpu_cores"], found["gpu_cores"], found["gpu_name"]) == (10, 8, "Apple M4")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16 Go", 16 * 2**30),
        ("16\u202fGo", 16 * 2**30),
        ("16 ГБ", 16 * 2**30),
        ("8 Гб", 8 * 2**30),
        ("1,5 TB", 1536 * 2**30),
        ("512 MB", 512 * 2**20),
        ("2,4 GHz", None),
        ("16 gigabytes", None),
        ("N/A", None),
        ("0 GB", None),
    ],
)
def test_a_size_is_read_in_every_spelling_and_nothing_else_is_one(
    recorded: Recorded, text: str, size: int | None
) -> None:
    assert recorded(system_profiler_hardware=hardware(physical_memory=text))["memory_bytes"] == size


@pytest.mark.parametrize(
    "noise",
    [
        "objc[123]: Class X is implemented in both {a} and [b]\n",
        "Error: [foo] bar\n",
        "2026-05-05 09:12:11.123456+0200 system_profiler[1234:abcd] noise {\n",
    ],
)
def test_log_lines_with_brackets_are_not_taken_for_json(recorded: Recorded, tmp_path: Path, noise: str) -> None:
    text = json.dumps(hardware(chip_type="Apple M4 Max", number_processors="proc 16:12:4"), indent=1)
    for mixed in (noise + text, text + "\n" + noise):
        (tmp_path / "system_profiler_hardware.json").write_text(mixed)
        assert (recorded()["chip"], recorded()["cpu_cores"]) == ("Apple M4 Max", 16)


def test_json_that_breaks_off_anywhere_tells_less_and_nothing_else(recorded: Recorded, tmp_path: Path) -> None:
    mac = hardware(chip_type="Apple M3 Max", number_processors="proc 16:12:4", physical_memory="128 GB")
    text = json.dumps(mac, indent=1)
    complete = recorded(system_profiler_hardware=mac)
    for end in range(len(text)):
        (tmp_path / "system_profiler_hardware.json").write_text(text[:end])
        found = recorded()
        assert all(found[key] in (None, {}, complete[key]) for key in found), text[:end]


@pytest.mark.parametrize(
    ("gpus", "name", "count", "memory"),
    [
        (["Intel UHD Graphics 630", "Radeon Pro 560X"], "Radeon Pro 560X", 2, 4),
        (["Intel Iris Plus Graphics", "AMD Radeon RX 6800 XT"], "AMD Radeon RX 6800 XT", 2, 4),
        (["AMD Radeon Pro Vega II", "AMD Radeon Pro Vega II"], "AMD Radeon Pro Vega II", 2, 4),
        (["Intel Iris Plus Graphics"], "Intel Iris Plus Graphics", 1, None),
    ],
)
def test_of_the_gpus_of_an_intel_mac_the_one_that_torch_takes_is_named(
    recorded: Recorded, gpus: list[str], name: str, count: int, memory: int | None
) -> None:
    listed = displays(*({"_name": "kHW_Item", "sppci_model": gpu, "spdisplays_vram": "4 GB"} for gpu in gpus))
    found = recorded(system_profiler_displays=listed)
    assert (found["gpu_name"], found["gpu_count"], found["gpu_cores"]) == (name, count, None)
    assert found["gpu_memory_bytes"] == (None if memory is None else memory * 2**30)


@pytest.mark.parametrize(
    "sysctl",
    [
        "machdep.cpu.brand_string: Apple processor\nhw.model: VirtualMac2,1\n",
        "machdep.cpu.brand_string: QEMU Virtual CPU version 2.5+\nhw.model: iMacPro1,1\n",
        "machdep.cpu.brand_string: Intel(R) Core(TM) i7-8750H CPU @ 2.20GHz\nhw.model: Parallels16,1\n",
        "machdep.cpu.brand_string: Intel(R) Xeon(R) CPU\nhw.model: Macmini6,2\nmachdep.cpu.features: FPU VMM AES\n",
    ],
)
def test_every_maker_of_virtual_machines_is_known(recorded: Recorded, sysctl: str) -> None:
    found = recorded(sysctl=sysctl)
    assert (found["virtual"], found["machine_id"], found["gpu_cores"]) == (True, None, None)
