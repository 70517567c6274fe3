"""NVIDIA GPUs of every kind: parts of one, several unequal ones, and who else uses them."""

from collections.abc import Callable

import pytest

Recorded = Callable[..., dict[str, object]]

STATE = """
==============NVSMI LOG==============

Timestamp                                 : Tue Dec  1 02:48:00 2026
Driver Version                            : {driver}
CUDA Version                              : 13.0

Attached GPUs                             : 1
"""
GPU = """GPU 00000000:01:00.0
    FB Memory Usage
        Total                             : 143771 MiB
        Reserved                          : 600 MiB
        Used                              : {used} MiB
        Free                              : 143167 MiB
    BAR1 Memory Usage
        Total                             : 262144 MiB
        Used                              : 1 MiB
    Performance State                     : P0
    Clocks {word} Reasons
        Idle                              : Active
        HW Slowdown                       : {hot}
            HW Thermal Slowdown           : {hot}
        SW Thermal Slowdown               : Not Active
    Utilization
        {gpu}                               : {busy} %
        Memory                            : 0 %
"""


def state(
    used: int = 4,
    busy: int = 0,
    hot: str = "Not Active",
    driver: str = "580.95.05",
    word: str = "Event",
    gpu: str = "GPU",
) -> str:
    return STATE.format(driver=driver) + GPU.format(used=used, busy=busy, hot=hot, word=word, gpu=gpu)


def driven(*gpus: tuple[str, int]) -> dict[str, object]:
    return {"gpus": [{"name": name, "multiprocessors": cores, "memory_bytes": 2**34} for name, cores in gpus]}


def test_of_unequal_gpus_the_one_that_torch_takes_first_is_named(recorded: Recorded) -> None:
    found = recorded(
        nvidia_smi="name, memory.total [MiB]\nNVIDIA T400, 2048 MiB\nNVIDIA GeForce RTX 4090, 24564 MiB\n",
        cuda_driver=driven(("NVIDIA GeForce RTX 4090", 128), ("NVIDIA T400", 6)),
    )
    assert (found["gpu_name"], found["gpu_cores"], found["gpu_count"]) == ("NVIDIA GeForce RTX 4090", 128, 2)
    assert found["gpu_memory_bytes"] == 24564 * 2**20


def test_a_part_of_a_gpu_is_not_taken_for_the_whole(recorded: Recorded) -> None:
    found = recorded(
        nvidia_smi="name, memory.total [MiB]\nNVIDIA H200, 143771 MiB\n",
        cuda_driver=driven(("NVIDIA H200 MIG 1g.18gb", 16)),
    )
    assert (found["gpu_name"], found["gpu_cores"], found["gpu_memory_bytes"]) == ("NVIDIA H200 MIG 1g.18gb", 16, 2**34)
    assert (found["bandwidth_gb_s"], found["fp32_tflops"]) == (None, None)


def test_a_driver_that_sees_nothing_leaves_the_cores_unknown(recorded: Recorded) -> None:
    found = recorded(nvidia_smi="name, memory.total [MiB]\nNVIDIA H200, 143771 MiB\n", cuda_driver={"gpus": []})
    assert (found["gpu_name"], found["gpu_cores"], found["bandwidth_gb_s"]) == ("NVIDIA H200", None, 4800)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA GB10, [N/A]\n", "NVIDIA GB10"),
        ("Orin (nvgpu), [Not Supported]\n", "Orin (nvgpu)"),
        ("No devices were found\n", None),
        ("Failed to initialize NVML: Driver/library version mismatch\n", None),
    ],
)
def test_what_nvidia_smi_does_not_know_is_not_made_up(recorded: Recorded, text: str, name: str | None) -> None:
    found = recorded(nvidia_smi="name, memory.total [MiB]\n" + text)
    assert (found["gpu_name"], found["gpu_memory_bytes"]) == (name, None)


@pytest.mark.parametrize(("word", "gpu"), [("Throttle", "Gpu"), ("Event", "GPU")])
def test_memory_use_and_driver_are_read_in_old_and_new_wordings(recorded: Recorded, word: str, gpu: str) -> None:
    found = recorded(nvidia_state=state(used=70_000, busy=97, word=word, gpu=gpu))
    assert found["gpu_memory_used_bytes"] == 70_000 * 2**20
    assert (found["gpu_utilization_percent"], found["gpu_driver"]) == (97, "580.95.05")


def test_memory_of_several_gpus_is_added_up(recorded: Recorded) -> None:
    found = recorded(nvidia_state=state(used=5) + GPU.format(used=7, busy=3, hot="Not Active", word="Event", gpu="GPU"))
    assert (found["gpu_memory_used_bytes"], found["gpu_utilization_percent"]) == (12 * 2**20, 0)


def test_a_gpu_that_slows_down_for_heat_says_so_and_a_cool_one_says_nothing_of_the_cpu(recorded: Recorded) -> None:
    assert recorded(nvidia_state=state(hot="Active"))["thermal_state"] == "HW Thermal Slowdown"
    assert recorded(nvidia_state=state())["thermal_state"] is None


@pytest.mark.parametrize(
    ("apps", "used", "users"),
    [
        ("1024 MiB\n512 MiB\n", 2000, 2),
        ("[N/A]\n", 2000, 1),
        ("", 4, 0),
        ("", 30_000, None),  # somebody uses it, whom a container does not see
        ("No devices were found\n", 4, None),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", 4, None),
    ],
)
def test_programs_on_the_gpu_are_counted_where_they_can_be_seen(
    recorded: Recorded, apps: str, used: int, users: int | None
) -> None:
    assert recorded(nvidia_apps=apps, nvidia_state=state(used=used))["gpu_users"] == users


def test_without_nvidia_nothing_is_known_of_its_users(recorded: Recorded) -> None:
    found = recorded(proc_loadavg="0.1 0.1 0.1 1/2 3\n")
    assert [found[key] for key in ("gpu_users", "gpu_memory_used_bytes", "gpu_utilization_percent", "gpu_driver")] == [
        None
    ] * 4
