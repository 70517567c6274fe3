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
    ("text", "cleaned"),
    [
        ("no answer from 192.168.178.23.", "no answer from <ip>."),
        ("bound to en0_10.20.30.40", "bound to en0_<ip>"),
        ("fe80::1c2b:3d4e:5f60:7182: connection refused", "<ip>: connection refused"),
        ("at fe80::1c2b:3d4e:5f60:7182%en0.", "at <ip>%en0."),
        ("[2001:db8::17]:29500", "[<ip>]:29500"),
        ("3C-22-FB-AA-01-02 and 3c22.fbaa.0102", "<mac> and <mac>"),
        ("cannot open /home/jane", "cannot open .../<user>"),
        ("file:///Users/jane.doe/secret/net.py", "file://.../net.py"),
        ("PATH=/opt/x/bin:/Users/jane.doe/secret/bin", "PATH=.../bin:.../bin"),
        ("~jane/secret/net.py", ".../net.py"),
        (r"C:\Users\jane\secret\net.py", ".../net.py"),
        ("/Users/jane.doe/x: jane.doe may not write, nor JANE.DOE_2", ".../x: <user> may not write, nor <user>_2"),
        ("in /var/folders/xx/k3jv9x4s1", "in .../k3jv9x4s1"),
        ("jane.doe@example.org", "<email>"),
        ("Serial Number (system): C02XK1ABJGH5", "Serial Number (system): <serial>"),
        ('"serial_number" : "XK91AB"', '"serial_number" : "<serial>"'),
        ("this is C02XK1ABJGH5, not FVFG30XYQ6L4", "this is <serial>, not <serial>"),
        ("00008103-001A2B3C4D5E001E", "<uuid>"),
        ("on Jane\u2019s MacBook Pro and Janes-MacBook-Pro.local", "on <host> Pro and <host>"),
    ],
)
def test_what_is_personal_on_any_machine_is_gone(text: str, cleaned: str) -> None:
    assert scrub(text) == cleaned


def test_a_name_inside_a_file_name_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "jane")
    assert scrub("in /tmp/torchinductor_jane") == "in .../torchinductor_<user>"


@pytest.mark.parametrize(
    "text",
    [
        "MPS backend out of memory (MPS allocated: 9.00 GiB, max allowed: 9.07 GiB)",
        "The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS device",
        "torch 2.14.1 on macOS 26.1 (25B78), mps:0, 3x224x224, 1/2, and/or",
        "see https://github.com/pytorch/pytorch/issues/141287",
        "AVX512VNNI, BFLOAT16, CUDNN_STATUS_NOT_SUPPORTED, sm_90a, M4_MAX, RELEASE_ARM64_T6041, 25A354, 0x7fff5fbff8a0",
        "std::vector, at::native::add, 12:30:45, dim 0: 3, serial execution, a @ b, torch==2.14.1, MacBook Pro, a Mac",
    ],
)
def test_what_explains_the_error_stays(text: str) -> None:
    assert scrub(text) == text


def test_the_end_of_a_long_text_is_kept() -> None:
    cleaned = scrub("start " + "x" * 10_000 + " the last message")
    assert len(cleaned) == LONGEST
    assert cleaned.endswith("the last message")
    assert cleaned.startswith("...")
