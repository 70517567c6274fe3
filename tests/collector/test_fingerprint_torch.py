"""What a running torch says of itself: its build by allow-list, its threads, and no path of whoever built it."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from metalmark_collector.commands.fingerprint import fingerprint as command
from metalmark_collector.fingerprint import read_software, replay_probe
from metalmark_collector.fingerprint.sources import SOURCES, Command
from metalmark_collector.fingerprint.torch_process import build, build_settings

MAC = """PyTorch built with:
  - GCC 4.2
  - C++ Version: 201703
  - clang 17.0.0
  - OpenMP 202011
  - LAPACK is enabled (usually provided by MKL)
  - NNPACK is enabled
  - CPU capability usage: NO AVX
  - Build settings: BLAS_INFO=accelerate, BUILD_TYPE=Release, CXX_COMPILER=/Users/jane/clang++, CXX_FLAGS= -I/Users/j\
ane -DUSE_QNNPACK=1 -O2 -DNDEBUG, LAPACK_INFO=accelerate, TORCH_VERSION=2.14.1, USE_CUDA=0, USE_EIGEN_FOR_BLAS=ON,\
 USE_MPS=ON, USE_OPENMP=/Users/jane/libomp,\x20
"""


def test_build_settings_are_kept_by_name_and_paths_are_not() -> None:
    found = build_settings(MAC)
    assert found["COMPILER"] == "GCC 4.2"
    assert (found["CPU_CAPABILITY"], found["OPENMP"]) == ("NO AVX", "202011")
    assert (found["BLAS_INFO"], found["BUILD_TYPE"], found["USE_MPS"]) == ("accelerate", "Release", "ON")
    assert "USE_OPENMP" not in found
    assert "jane" not in json.dumps(found)


@pytest.mark.parametrize("text", ["", "nonsense", "USE_CUDA=", "=ON"])
def test_a_text_without_settings_has_none(text: str) -> None:
    assert build_settings(text) == {}


def test_a_torch_that_does_not_show_its_build_is_no_obstacle() -> None:
    assert build(cast(ModuleType, SimpleNamespace())) is None


def test_the_process_tells_what_torch_says_of_itself() -> None:
    live = SOURCES["torch"].live
    assert isinstance(live, Command)
    told = json.loads(subprocess.run(live.argv, capture_output=True, check=True, timeout=300).stdout)
    code = "import torch; print(torch.__version__, torch.version.git_version, torch.get_num_threads())"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert [told["torch_version"], told["torch_git"], str(told["threads"])] == answer.stdout.split()
    assert told["torch_debug"] is False
    assert told["torch_build"]["BUILD_TYPE"] == "Release"


def test_a_recorded_torch_is_read(tmp_path: Path) -> None:
    told = {"torch_version": "2.14.1+cu130", "torch_git": "5c48869", "torch_debug": True, "threads": 8}
    (tmp_path / "torch.json").write_text(json.dumps(told | {"torch_build": {"BLAS_INFO": "mkl"}}))
    (tmp_path / "process.json").write_text(json.dumps({"packages": {"torch": "2.14.1"}}))
    software = read_software(replay_probe(tmp_path))
    assert (software.torch_version, software.torch_git, software.torch_debug) == ("2.14.1+cu130", "5c48869", True)
    assert (software.threads, software.torch_build) == (8, {"BLAS_INFO": "mkl"})


@pytest.mark.parametrize(
    "told",
    [
        {"torch_git": "Unknown", "torch_debug": "no", "torch_build": [], "threads": 0},
        {"torch_git": 7, "torch_debug": None, "torch_build": {}, "threads": "many"},
        {"torch_git": "/home/jane", "torch_build": {"": "", "a": 3}, "threads": True},
    ],
)
def test_what_torch_cannot_have_said_is_unknown(tmp_path: Path, told: dict[str, object]) -> None:
    (tmp_path / "torch.json").write_text(json.dumps(told))
    software = read_software(replay_probe(tmp_path))
    assert (software.torch_git, software.torch_debug, software.torch_build, software.threads) == (None,) * 4


def test_the_command_starts_torch_only_when_told_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = (sys.executable, "-c", """print('{"threads": 5}')""")
    monkeypatch.setitem(SOURCES, "torch", type(SOURCES["torch"])(("torch.json",), None, Command(said, 60.0), slow=True))
    command(as_json=True)
    assert json.loads(capsys.readouterr().out)["threads"] is None
    command(torch=True, as_json=True)
    assert json.loads(capsys.readouterr().out)["threads"] == 5
