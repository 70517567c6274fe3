"""The CUDA device, driven through torch's own names, so that it is tested where no GPU is at hand."""

import warnings
from types import SimpleNamespace

import pytest
import torch

from metalmark_collector.devices import cuda, nvml
from metalmark_collector.devices.cuda import Cuda

FIRST = torch.device("cuda", 0)


def test_a_torch_without_cuda_says_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None, raising=False)
    assert "built without CUDA" in (Cuda().unusable() or "")


def test_a_machine_without_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA GPU" in (Cuda().unusable() or "")


def test_a_gpu_that_computes_is_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(Cuda, "torch_device", lambda _self: torch.device("cpu"))
    assert Cuda().unusable() is None


def test_an_old_driver_is_a_no_and_not_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def old_driver() -> bool:
        warnings.warn("The NVIDIA driver on your system is too old", stacklevel=1)
        return False

    monkeypatch.setattr(torch.cuda, "is_available", old_driver)
    assert cuda.is_visible() is False


def test_waiting_and_counting_are_torch_cudas_own_for_the_first_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, torch.device]] = []

    def answering(name: str, answer: object) -> None:
        def call(device: torch.device = FIRST) -> object:
            asked.append((name, device))
            return answer

        monkeypatch.setattr(torch.cuda, name, call)

    answering("is_available", answer=True)
    answering("synchronize", None)
    answering("empty_cache", None)
    answering("reset_peak_memory_stats", None)
    answering("get_device_name", "NVIDIA H200")
    answering("memory_allocated", 10)
    answering("max_memory_allocated", 20)
    answering("mem_get_info", (30, 40))
    device = Cuda()
    device.synchronize()
    device.empty_cache()
    device.reset_peak()
    assert device.chip_name() == "NVIDIA H200"
    assert (device.memory_allocated(), device.peak_memory(), device.recommended_memory()) == (10, 20, 30)
    assert {name for name, _ in asked} >= {"synchronize", "empty_cache", "reset_peak_memory_stats"}
    assert {where for _, where in asked} == {FIRST}


class Nvml:
    """The few names of NVIDIA's library that are used, for one GPU."""

    NVMLError, NVML_ERROR_NOT_FOUND = RuntimeError, 6

    def __init__(self, counted: int | None) -> None:
        self.counted = counted

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802 - the library's own name
        """A handle, for the GPU that torch named."""
        assert uuid == "GPU-1234"
        return uuid

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:  # noqa: N802
        """Millijoules, or what the library raises for a GPU that does not count."""
        assert handle == "GPU-1234"
        if self.counted is None:
            raise RuntimeError("Not Supported")
        return self.counted


@pytest.mark.parametrize("counted", [123_456, None])
def test_energy_is_that_of_the_gpu_that_torch_uses(monkeypatch: pytest.MonkeyPatch, counted: int | None) -> None:
    monkeypatch.setattr(nvml, "_library", lambda: Nvml(counted))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: SimpleNamespace(uuid="1234"))
    assert Cuda().energy() == (None if counted is None else (counted, "nvml"))


def test_an_old_torch_that_names_no_gpu_has_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_library", lambda: Nvml(1))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: SimpleNamespace())
    assert Cuda().energy() is None
