"""Error texts keep what explains and lose what identifies."""

import getpass
import platform
from pathlib import Path

import pytest

from metalmark_collector.scrub import LONGEST, scrub


def test_what_names_person_or_computer_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "Annas-MacBook.local")
    monkeypatch.setattr(getpass, "getuser", lambda: "anna")
    monkeypatch.setattr(Path, "home", lambda: Path("/Users/anna"))
    text = (
        'File "/Users/anna/models/secret plan/net.py", line 3, on ANNAS-MACBOOK as Anna\n'
        "serial 0E3F4A52-1B2C-4D5E-8F90-123456789ABC at 3c:22:fb:aa:01:02, 192.168.178.23, fe80::1c2b:3d4e:5f60:7182\n"
        "/opt/homebrew/lib/python3.13/site-packages/torch/nn/modules/conv.py:548: failed"
    )
    cleaned = scrub(text)
    for secret in ("anna", "Users", "macbook", "0E3F4A52", "3c:22", "192.168", "fe80", "homebrew"):
        assert secret.lower() not in cleaned.lower(), secret
    assert "conv.py:548: failed" in cleaned
    assert "line 3" in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "MPS backend out of memory (MPS allocated: 9.00 GiB, max allowed: 9.07 GiB)",
        "The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS device",
        "torch 2.14.1 on macOS 26.1 (25B78), mps:0, 3x224x224, 1/2, and/or",
        "see https://github.com/pytorch/pytorch/issues/141287",
    ],
)
def test_what_explains_the_error_stays(text: str) -> None:
    assert scrub(text) == text


def test_the_end_of_a_long_text_is_kept() -> None:
    cleaned = scrub("start " + "x" * 10_000 + " the last message")
    assert len(cleaned) == LONGEST
    assert cleaned.endswith("the last message")
    assert cleaned.startswith("...")
