"""Every switch that changes speed or precision is set aloud, the same for everyone, and recorded."""

from collections.abc import Iterator

import pytest
import torch

from metalmark_collector import settings
from metalmark_db.words import Precision


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    yield
    settings.apply(Precision.FP32)


@pytest.mark.parametrize("precision", [one for one in Precision if one is not Precision.TF32])
def test_no_precision_but_tf32_lets_tensor_cores_shorten_fp32(precision: Precision) -> None:
    settings.apply(Precision.TF32)
    switches = settings.apply(precision)
    assert switches["float32_matmul_precision"] == torch.get_float32_matmul_precision() == "highest"
    assert switches["cuda.matmul.allow_tf32"] is torch.backends.cuda.matmul.allow_tf32 is False
    assert switches["cudnn.allow_tf32"] is torch.backends.cudnn.allow_tf32 is False


def test_tf32_sets_the_same_flags_the_other_way() -> None:
    switches = settings.apply(Precision.TF32)
    assert switches["float32_matmul_precision"] == "high"
    assert switches["cuda.matmul.allow_tf32"] is torch.backends.cuda.matmul.allow_tf32 is True
    assert switches["cudnn.allow_tf32"] is torch.backends.cudnn.allow_tf32 is True


def test_what_an_earlier_case_or_a_user_left_behind_is_overruled() -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(mode=True)
    torch.set_default_dtype(torch.float64)
    switches = settings.apply(Precision.FP32)
    assert switches["cudnn.benchmark"] is torch.backends.cudnn.benchmark is False
    assert switches["cudnn.deterministic"] is torch.backends.cudnn.deterministic is False
    assert switches["deterministic_algorithms"] is torch.are_deterministic_algorithms_enabled() is False
    assert switches["default_dtype"] == "float32"
    assert torch.get_default_dtype() is torch.float32


def test_applying_twice_gives_the_same_record() -> None:
    assert settings.apply(Precision.BF16) == settings.apply(Precision.BF16)
