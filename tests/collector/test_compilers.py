"""Compile mode needs a compiler: found on Linux and macOS without starting one, and really used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalmark_collector import compilers

CODE = """
import sys
from pathlib import Path
from metalmark_collector import devices, truth
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.words import Mode, Precision
entry = WORKLOADS["lenet5-train-b128"]
job = entry.job(devices.make("cpu"), Precision.FP32, 1, "tiny", Mode.COMPILE)
found, wrong = truth.check_case(entry, job, Path(sys.argv[1]))
assert wrong is None, wrong
assert found.reference == "cpu fp32" and found.samples == 2 and 0 < found.error_norm < found.tolerance
"""


def _which(*known: str) -> compilers.Which:
    """A PATH with these programs, given by their whole paths."""
    by_name = {Path(path).name: path for path in known} | {path: path for path in known}
    return by_name.get


def _no_developer_folder() -> Path | None:
    return None


def test_linux_takes_the_compiler_that_torch_would_take() -> None:
    which = _which("/usr/bin/c++", "/usr/bin/g++")
    assert compilers.find("linux", {}, which) == "/usr/bin/g++"
    assert compilers.find("linux", {}, _which("/opt/llvm/clang++")) == "/opt/llvm/clang++"
    assert compilers.find("linux", {}, _which()) is None


def test_a_compiler_that_is_named_counts_alone() -> None:
    which = _which("/usr/bin/g++", "/opt/gcc/g++-14")
    assert compilers.find("linux", {"CXX": "g++-14"}, which) == "/opt/gcc/g++-14"
    assert compilers.find("linux", {"CXX": "icpx"}, which) is None


def test_a_mac_without_developer_tools_has_stubs_only() -> None:
    stub = _which("/usr/bin/clang++")
    assert compilers.find("darwin", {}, stub, _no_developer_folder) is None


@pytest.mark.parametrize("inside", ["usr/bin", "Toolchains/XcodeDefault.xctoolchain/usr/bin"])
def test_a_mac_with_developer_tools_has_the_compiler_inside_them(inside: str, tmp_path: Path) -> None:
    compiler = tmp_path / inside / "clang++"
    compiler.parent.mkdir(parents=True)
    compiler.touch()
    assert compilers.find("darwin", {}, _which("/usr/bin/clang++"), lambda: tmp_path) == str(compiler)


def test_a_mac_whose_developer_folder_was_emptied_has_none(tmp_path: Path) -> None:
    assert compilers.find("darwin", {}, _which("/usr/bin/clang++"), lambda: tmp_path) is None


def test_a_compiler_of_another_source_is_no_stub() -> None:
    brewed = "/opt/homebrew/opt/llvm/bin/clang++"
    assert compilers.find("darwin", {}, _which(brewed), _no_developer_folder) == brewed


def test_asking_for_the_developer_folder_never_raises() -> None:
    """Here, on a system without xcode-select, or on a Mac with or without tools."""
    folder = compilers.developer_folder()
    assert folder is None or folder.is_absolute()


def test_what_is_missing_is_said_with_its_remedy(tmp_path: Path) -> None:
    assert "xcode-select --install" in str(compilers.why_not(None, system="darwin"))
    assert "apt install g++" in str(compilers.why_not(None, system="linux"))
    assert "header files" in str(compilers.why_not("g++", tmp_path))
    (tmp_path / "Python.h").touch()
    assert compilers.why_not("g++", tmp_path) is None


def test_each_run_compiles_into_a_folder_of_its_own() -> None:
    variables = compilers.environment(Path("run"), "/usr/bin/g++", "linux")
    assert variables == {"TORCHINDUCTOR_CACHE_DIR": "run", "TRITON_CACHE_DIR": str(Path("run", "triton"))}


def test_a_compiler_that_torch_does_not_look_for_is_named_to_it() -> None:
    folder = Path("build")
    assert compilers.environment(folder, "/usr/bin/clang++", "linux")["CXX"] == "/usr/bin/clang++"
    assert "CXX" not in compilers.environment(folder, "/Library/Developer/usr/bin/clang++", "darwin")
    assert "CXX" not in compilers.environment(folder, None, "linux")


def test_a_compiled_training_learns_what_the_cpu_learns(tmp_path: Path) -> None:
    """A real compilation, truth check included, in a process and a cache folder of its own."""
    compiler = compilers.find()
    assert compilers.why_not(compiler) is None
    variables = compilers.environment(tmp_path / "inductor", compiler)
    program = [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path / "truth")]
    subprocess.run(program, check=True, env=os.environ | variables | {"OMP_NUM_THREADS": "1"})
    assert list((tmp_path / "inductor").rglob("*.so"))
    assert len(list((tmp_path / "truth").iterdir())) == 1
