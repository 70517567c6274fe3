"""Two tensors compared, and what is said of the difference."""

import math

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from metalmark_collector.truth import compare, verdict
from metalmark_collector.truth.compare import difference, input_dependence
from metalmark_collector.workloads.base import Tolerance
from metalmark_db.record import Truth

RIGHT = Truth(
    reference="cpu fp32",
    samples=4,
    error_norm=1e-3,
    error_max=0.1,
    error_max_rms=5e-3,
    tolerance=2e-3,
    input_dependence=0.2,
    loss_error=1e-4,
    gradient_error=1e-3,
    losses=(2.0, 1.9, 1.8, 1.7, 1.6),
)
ALLOWED = Tolerance(2e-3, loss=2e-4, gradient=2e-3)
FALLING = (2.0, 1.9, 1.8, 1.7, 1.6)


def _said(losses: tuple[float, ...] = FALLING, least: float = 0.05, **changes: float | None) -> str:
    return str(verdict.wrong(msgspec.structs.replace(RIGHT, **changes), ALLOWED, losses, least))


@given(st.floats(1e-6, 10), st.integers(1, 40), st.floats(1e-3, 1e3))
def test_a_known_error_is_found_whatever_the_size(error: float, count: int, size: float) -> None:
    reference = size * torch.randn(count, 3, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
    found = difference(reference * (1 + error), reference)
    assert found.norm == pytest.approx(error, rel=1e-6)
    assert found.largest == pytest.approx(float(reference.abs().max()) * error, rel=1e-6)
    assert found.largest_rms == pytest.approx(found.largest / found.reference_rms)
    assert found.not_finite == 0


def test_comparing_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a gigabyte is compared in pieces, the last of them shorter."""
    output, reference = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(1))
    whole = difference(output, reference)
    monkeypatch.setattr(compare, "_PIECE", 4)
    pieces = difference(output, reference)
    assert pieces.norm == pytest.approx(whole.norm)
    assert (pieces.largest, pieces.count) == (whole.largest, 35)


def test_equal_tensors_do_not_differ_at_all() -> None:
    zeros = torch.zeros(3)
    assert difference(zeros, zeros).norm == 0
    assert difference(torch.ones(3), zeros).norm == math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_counted(bad: float) -> None:
    output = torch.ones(2, 3)
    output[1, 1] = bad
    assert difference(output, torch.ones(2, 3)).not_finite == 1


def test_half_precision_is_compared_in_double_precision() -> None:
    """The sum of squares of 1,000 numbers of size 300 would overflow fp16."""
    large = torch.full((1000,), 300.0, dtype=torch.float16)
    assert difference(large, large.float()).norm == 0


def test_input_dependence_is_that_of_the_two_samples_farthest_apart() -> None:
    output = torch.tensor([[3.0, 4.0], [3.0, 4.0], [3.0, 3.0]])
    assert input_dependence(output) == pytest.approx(0.2)
    assert input_dependence(output[:2]) == 0
    assert input_dependence(output[:1]) is None
    assert input_dependence(output[0, 0]) is None


def test_a_right_result_has_no_verdict() -> None:
    assert verdict.wrong(RIGHT, ALLOWED, FALLING, 0.05) is None
    assert verdict.wrong(RIGHT, Tolerance(2e-3), (), 0.05) is None


def test_each_thing_that_is_wrong_is_said() -> None:
    assert "differs from the cpu fp32 result by 0.0021 of its size; 0.002 is allowed" in _said(error_norm=2.1e-3)
    assert "One number of the output is off by 0.061 times" in _said(error_max_rms=0.061)
    assert "hardly depends on the input: two samples' outputs differ by 0.04" in _said(input_dependence=0.04)
    assert "first step's loss differs from the cpu fp32 result by 0.00021" in _said(loss_error=2.1e-4)
    assert "first step's gradient norm differs" in _said(gradient_error=2.1e-3)
    assert "first step's gradient norm is NaN or infinite" in _said(gradient_error=None)
    assert "does not fall: 2 in the first step, 2 in step 5" in _said((2.0, 1.0, 1.0, 1.0, 2.0))
    assert "not finite after step 2" in _said((2.0, 1.9, math.nan, 1.7, 1.6))


def test_a_reference_that_proves_nothing_is_refused() -> None:
    with pytest.raises(verdict.Degenerate, match="next to nothing"):
        verdict.demand(1e-4, 0.5)
    with pytest.raises(verdict.Degenerate, match="same for all inputs"):
        verdict.demand(1.0, 0.001)


def test_samples_that_are_alike_by_chance_are_no_fault_of_the_device() -> None:
    assert verdict.demand(1.0, 0.3) == 0.05
    assert verdict.demand(1.0, 0.06) == 0.03
    assert verdict.demand(1.0, None) == 0
