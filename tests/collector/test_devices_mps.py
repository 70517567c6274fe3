"""The MPS device, driven through torch's own names where no Metal is at hand."""

from collections.abc import Callable

import pytest
import torch

from metalmark_collector.devices.mps import Mps

Says = Callable[..., None]


@pytest.fixture
def metal(monkeypatch: pytest.MonkeyPatch) -> Says:
    """A torch that says about Metal what the test wants; its tensors live on the CPU."""

    def says(*, built: bool = True, available: bool = True, name: str = "Apple M4") -> None:
        monkeypatch.setattr(torch.backends.mps, "is_built", lambda: built)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: available)
        monkeypatch.setattr(torch.backends.mps, "get_name", lambda: name, raising=False)
        monkeypatch.setattr(Mps, "torch_device", lambda _self: torch.device("cpu"))

    return says


def test_a_mac_that_computes_is_usable(metal: Says) -> None:
    metal()
    assert Mps().unusable() is None


@pytest.mark.parametrize(
    ("built", "available", "name", "word"),
    [
        (False, False, "", "built without MPS"),
        (True, False, "", "no Metal device"),
        (True, True, "Apple Paravirtual device", "virtual machine"),
    ],
)
def test_every_way_of_having_no_metal_has_its_sentence(
    metal: Says, built: bool, available: bool, name: str, word: str
) -> None:
    metal(built=built, available=available, name=name)
    assert word in (Mps().unusable() or "")


def test_a_torch_that_cannot_name_the_gpu_is_judged_by_what_it_computes(
    metal: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    metal()
    monkeypatch.delattr(torch.backends.mps, "get_name")
    assert Mps().unusable() is None


def test_tensors_are_put_on_mps() -> None:
    assert Mps().torch_device() == torch.device("mps")


def test_waiting_and_counting_are_torch_mps_own(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(torch.mps, "synchronize", lambda: called.append("synchronize"))
    monkeypatch.setattr(torch.mps, "empty_cache", lambda: called.append("empty_cache"))
    monkeypatch.setattr(torch.mps, "current_allocated_memory", lambda: 4096)
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 5_700_000_000, raising=False)
    device = Mps()
    device.synchronize()
    device.empty_cache()
    assert called == ["synchronize", "empty_cache"]
    assert device.memory_allocated() == 4096
    assert device.recommended_memory() == 5_700_000_000


def test_a_torch_without_the_working_set_leaves_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.mps, "recommended_max_memory", raising=False)
    assert Mps().recommended_memory() is None


class _Accelerator:
    """torch.accelerator with the peak counter that MPS got in 2026."""

    def __init__(self, peak: int) -> None:
        self.peak = peak

    def reset_peak_memory_stats(self, _device: torch.device) -> None:
        self.peak = 0

    def max_memory_allocated(self, _device: torch.device) -> int:
        return self.peak


class _OldAccelerator(_Accelerator):
    """torch.accelerator before: the names exist, MPS does not answer."""

    def max_memory_allocated(self, _device: torch.device) -> int:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("accelerator", "peak"), [(_Accelerator(4096), 4096), (_Accelerator(0), None), (_OldAccelerator(1), None)]
)
def test_the_peak_is_torchs_or_unknown(
    accelerator: _Accelerator, peak: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "accelerator", accelerator, raising=False)
    assert Mps().peak_memory() == peak
    Mps().reset_peak()
    assert accelerator.peak == 0


def test_a_torch_without_accelerators_has_no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "accelerator", raising=False)
    Mps().reset_peak()
    assert Mps().peak_memory() is None
