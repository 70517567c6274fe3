"""make.py with real virtual environments: installed once, mended when broken, quiet under Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Make = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]
PYTHON = f"PYTHON={sys.executable}"


def came(toy: Path) -> bool:
    """Whether pip has installed the project since this was last asked."""
    mark = toy / "pip-came-here"
    there = mark.exists()
    mark.unlink(missing_ok=True)
    return there


def test_run_installs_once_measures_builds_and_names_the_command_that_shows_the_site(make: Make, toy: Path) -> None:
    first = make("run", PYTHON)
    database = f"sqlite:///{toy}/build/metalmark.sqlite"
    assert first.returncode == 0, first.stderr
    assert "about 3 GB on Linux" in first.stdout
    assert f"metalmark run --effort quick {database}\nmetalmark build {database}\n" in first.stdout
    assert "    .venv/bin/metalmark serve\n" in first.stdout
    assert came(toy)
    second = make("run", PYTHON, METALMARK_DB="sqlite:////elsewhere.sqlite")
    assert "nstall" not in second.stdout
    assert "metalmark build sqlite:////elsewhere.sqlite\n" in second.stdout
    assert not came(toy)


def test_the_exit_code_of_the_program_ends_make_run_before_the_site_is_built(make: Make) -> None:
    done = make("run", PYTHON, TOY_EXIT="7")
    assert "Error 7" in done.stderr
    assert "metalmark build" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_changed_pyproject_is_installed_into_the_same_environment(make: Make, toy: Path) -> None:
    make("build", PYTHON)
    (toy / ".venv" / "mine").touch()
    came(toy)
    with (toy / "pyproject.toml").open("a") as file:
        file.write("\n[tool.ruff]\n")
    make("build", PYTHON)
    assert not came(toy), "settings of a tool are no reason to install"
    text = (toy / "pyproject.toml").read_text()
    (toy / "pyproject.toml").write_text(text.replace("[project]", '[project]\ndescription = "more"'))
    assert "Bringing .venv up to date" in make("build", PYTHON).stdout
    assert came(toy)
    assert (toy / ".venv" / "mine").exists()


def test_a_broken_environment_is_made_anew(make: Make, toy: Path) -> None:
    make("build", PYTHON)
    (toy / ".venv" / "bin" / "python").unlink()
    mended = make("build", PYTHON)
    assert "making it anew" in mended.stdout
    assert "metalmark build" in mended.stdout


@pytest.fixture
def start(toy: Path, terminal: dict[str, str]) -> Callable[..., subprocess.Popen[str]]:
    """Starts make as a terminal does, in a process group of its own, in a program that takes a minute."""

    def begin(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["make", *words],
            cwd=toy,
            env={**terminal, "TOY_SECONDS": "60"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    return begin


def test_a_moved_environment_is_made_anew_and_an_interrupted_installation_finished(
    make: Make, toy: Path, start: Start
) -> None:
    make("build", PYTHON)
    stamp = toy / ".venv" / "metalmark-setup.json"
    stamp.write_text(stamp.read_text().replace(str(toy), "/where/it/was"))
    came(toy)
    with start("build", PYTHON) as first:
        while not (toy / "pip-came-here").exists():
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGINT)
        said, _ = first.communicate(timeout=20)
    assert first.returncode != 0
    assert "making it anew" in said
    assert "Traceback" not in said
    assert came(toy)
    half = next((toy / ".venv").glob("lib/python*/site-packages")) / "torch-1.0.dist-info"
    half.mkdir()
    assert "metalmark build" in make("build", PYTHON).stdout
    assert came(toy)
    assert not half.exists()


def test_after_ctrl_c_the_program_has_the_last_word(make: Make, start: Start) -> None:
    make("build", PYTHON)
    with start("run", PYTHON) as first:
        assert first.stdout is not None
        assert first.stdout.readline().startswith("metalmark run")
        os.killpg(first.pid, signal.SIGINT)
        said, _ = first.communicate(timeout=20)
    assert "kept what was measured" in said
    assert "Traceback" not in said
    assert "metalmark build" not in said


def test_a_request_to_end_reaches_the_program_and_leaves_nothing_running(make: Make, start: Start) -> None:
    make("build", PYTHON)
    with start("run", PYTHON) as first:
        assert first.stdout is not None
        first.stdout.readline()
        first.terminate()
        first.communicate(timeout=20)  # ends when nobody holds the pipe any more
    assert first.returncode != 0


def test_what_pip_says_is_shown_when_it_fails_and_the_next_call_mends_it(make: Make, toy: Path) -> None:
    make("build", PYTHON)
    backend, stamp = toy / "backend.py", toy / ".venv" / "metalmark-setup.json"
    text = backend.read_text()
    backend.write_text("raise SystemExit('no such wheel')")
    stamp.unlink()
    done = make("run", PYTHON)
    backend.write_text(text)
    assert "no such wheel" in done.stderr
    assert "pip could not install what Metalmark needs" in done.stderr
    assert re.search(r"Error 1$", done.stderr, flags=re.MULTILINE)
    assert "Installed in" in make("build", PYTHON).stdout


def test_clean_removes_what_was_made_and_keeps_measurements(make: Make, toy: Path) -> None:
    make("clean", PYTHON)
    before = {path for path in toy.rglob("*") if path.is_file()}
    made = [".venv/bin/python", "build/html/index.html", "build/pages/index.md", "dist/x.whl", ".coverage.1"]
    made += ["site/assets/dist/x.js", "site/assets/node_modules/x/y.js", "tests/db/__pycache__/x.pyc"]
    kept = ("build/metalmark.sqlite", "build/pages/.gitkeep", "site/assets/package.json")
    for name in (*made, *kept):
        (toy / name).parent.mkdir(parents=True, exist_ok=True)
        (toy / name).touch()
    done = make("clean", PYTHON)
    assert "Removing .venv\n" in done.stdout
    assert "Kept build/metalmark.sqlite" in done.stdout
    left = {path for path in toy.rglob("*") if path.is_file()} - before
    assert left == {toy / name for name in kept}
