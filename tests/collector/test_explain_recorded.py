"""What people really saw: the recorded failures, with the right answers beside them."""

import json
from pathlib import Path
from typing import Any

import pytest

from metalmark_collector.explain import Kind, explain
from metalmark_collector.fingerprint.values import size

FAILURES = Path(__file__).parents[1] / "data/fixtures/failures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FAILURES / "expected.json").read_text())

# The people who posted these texts named the operation elsewhere; the texts do not. None is the right answer
# there, and "matmul" is what the text of 034 names: the step of attention that failed.
OPS_OUTSIDE_THE_TEXT: dict[str, str | None] = {
    "009.txt": None,  # linear
    "010.txt": None,  # copy (non_blocking)
    "015.txt": None,  # replication_pad1d; there was no output
    "019.txt": None,  # nonzero
    "034.txt": "matmul",  # scaled_dot_product_attention
    "036.txt": None,  # cumsum of bool
    "048.txt": None,  # scaled_dot_product_attention
}


def explained(name: str) -> Any:
    case = EXPECTED[name]
    return explain((FAILURES / name).read_text(), case.get("exit"), case.get("timed_out", False))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_recorded_failure_has_its_kind(name: str) -> None:
    assert explained(name).kind in (EXPECTED[name]["kind"], *EXPECTED[name].get("also_ok", []))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_operation_that_a_text_names_is_found(name: str) -> None:
    assert explained(name).op == OPS_OUTSIDE_THE_TEXT.get(name, EXPECTED[name]["op"])


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"036.txt"}))
def test_every_number_format_that_a_text_names_is_found(name: str) -> None:
    assert explained(name).dtype == EXPECTED[name].get("dtype")


@pytest.mark.parametrize("name", sorted(name for name, case in EXPECTED.items() if "bytes_requested" in case))
def test_the_bytes_asked_for_are_read(name: str) -> None:
    assert explained(name).bytes_requested == size(EXPECTED[name]["bytes_requested"])


def test_all_recorded_failures_and_all_kinds_are_tried() -> None:
    assert len(EXPECTED) >= 56
    assert {case["kind"] for case in EXPECTED.values()} == {kind.value for kind in Kind}
