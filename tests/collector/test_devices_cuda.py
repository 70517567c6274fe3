"""The CUDA device, driven through torch's own names, so that it is tested where no GPU is at hand."""

import warnings

import pytest
import torch

from metalmark_collector.devices import cuda
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
