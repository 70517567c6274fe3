"""The small calculation that tells a device that computes from one that only says so."""

import pytest
import torch

from metalmark_collector.devices import probe


def test_a_device_that_cannot_hold_numbers_is_unusable() -> None:
    why = probe.unusable_because(torch.device("meta"))
    assert why is not None
    assert why.startswith("torch cannot compute on meta: ")


@pytest.mark.parametrize("factor", [0.0, 1.5, float("nan")])
def test_wrong_numbers_are_told_from_right_ones(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(images: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
        right = torch.nn.functional.conv2d(images, kernel)
        return right if images.dtype is torch.float64 else right * factor

    monkeypatch.setattr(probe, "conv2d", broken)
    why = probe.unusable_because(torch.device("cpu"))
    assert why is not None
    assert why.startswith("cpu gives wrong numbers")


def test_an_error_without_a_text_is_named_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(images: torch.Tensor, kernel: torch.Tensor) -> torch.Tensor:
        if images.dtype is torch.float32:
            raise AssertionError
        return torch.nn.functional.conv2d(images, kernel)

    monkeypatch.setattr(probe, "conv2d", broken)
    assert probe.unusable_because(torch.device("cpu")) == "torch cannot compute on cpu: AssertionError"
