"""The Makefile: which Python it takes, what it says where there is none, and that an old make can read it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder of programs for PATH that has what the Makefile needs, and no Python."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("make", "sh", "cat"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return folder


def put(folder: Path, name: str, script: str) -> None:
    """Puts a shell script among the programs."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def pretend(version: str) -> str:
    """A script that answers the question for its version as that version would, and tells its name otherwise."""
    question = f"import sys; sys.version_info = {tuple(int(part) for part in version.split('.'))} + (0,)"
    return f'[ "$1" = -c ] && exec {sys.executable} -c "{question}; $2"; echo "python {version}: $*"'


def test_a_python_that_exists_but_does_not_run_is_passed_over(make: Make, path: Path) -> None:
    put(path, "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    put(path, "python3.12", pretend("3.10"))
    put(path, "python3.14", pretend("3.14"))
    put(path, "python3", pretend("3.11"))
    done = make("run", PATH=str(path))
    assert (done.returncode, done.stdout) == (0, "python 3.14: make.py run\n")


@pytest.mark.parametrize("version", ["3.11", "3.14"])
def test_python3_is_taken_where_its_version_fits(make: Make, path: Path, version: str) -> None:
    put(path, "python3", pretend(version))
    assert make("check", PATH=str(path)).stdout == f"python {version}: make.py check\n"


@pytest.mark.parametrize("version", ["3.10", "3.15", "2.7"])
def test_no_fitting_python_ends_with_exit_code_1_and_a_paragraph(make: Make, path: Path, version: str) -> None:
    put(path, "python3", pretend(version))
    done = make("run", PATH=str(path))
    paragraph = (ROOT / "docs" / "python.txt").read_text()
    assert done.stderr.startswith(paragraph)
    assert re.search(r"make: \*\*\* \[.*run\] Error 1", done.stderr)
    assert "\n\n" not in paragraph
    assert "apt install python3 python3-venv" in paragraph


def test_a_python_named_on_the_command_line_is_taken(make: Make, path: Path) -> None:
    put(path, "python3", pretend("3.11"))
    put(path, "other python", pretend("3.12"))
    done = make("test", f"PYTHON={path / 'other python'}", "ARGS=-k 'two words'", PATH=str(path))
    assert done.stdout == "python 3.12: make.py test -k two words\n"


def test_make_alone_lists_every_target(make: Make) -> None:
    done = make(f"PYTHON={sys.executable}")
    names = re.findall(r"^  (\S+) +\S", done.stdout, flags=re.MULTILINE)
    listed = re.search(r"^TARGETS = (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert listed is not None
    assert names == listed[1].split()


def test_the_recipe_holds_one_line_and_nothing_that_an_old_make_or_a_mac_lacks() -> None:
    text = (ROOT / "Makefile").read_text()
    assert sum(line.startswith("\t") for line in text.splitlines()) == 1
    lacking = r"\.ONESHELL|\.RECIPEPREFIX|!=|&:|\$\(file|\bprivate\b|::=|\bsed -i|readlink|nproc|\btimeout\b"
    assert re.findall(lacking, text) == []


def test_a_python_without_ensurepip_ends_with_the_paragraph(make: Make, toy: Path) -> None:
    script = toy.parent / "python"
    hide = "import sys; sys.modules['ensurepip'] = None; sys.argv = sys.argv[1:]; import runpy; sys.path[:0] = ['.']"
    put(
        toy.parent,
        "python",
        f'exec {sys.executable} -c "{hide}; runpy.run_path(sys.argv[0], run_name=\'__main__\')" "$@"',
    )
    done = make("run", f"PYTHON={script}")
    assert done.stderr.startswith("This is Python 3.")
    assert "without ensurepip" in done.stderr
    assert "apt install python3 python3-venv" in done.stderr
    assert "Error 1" in done.stderr
    assert not (toy / ".venv").exists()


def test_an_unknown_target_of_make_py_lists_the_known_ones() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "make.py", "runn"], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 2
    assert "no target 'runn'" in done.stderr
    assert "  run " in done.stdout
