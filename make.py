"""The work behind `make TARGET`; the table at the end is the list of targets.

The same without make: `python3.13 make.py TARGET`.
"""

from __future__ import annotations  # an older Python must read on, to be told what to install

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.browser import set_up_browser
from tools.environment import set_up
from tools.terminal import ROOT, VENV, call, catch_interrupts, must, program, quietly, stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHECKS = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["lint-imports", "--no-logo"])
CACHES = {
    "__pycache__",
    ".hypothesis",
    ".import_linter_cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "node_modules",
}
KEPT = ("metalmark.sqlite", "pages")  # in build/: somebody's measurements, and the folder that the repository holds


def run(words: Sequence[str]) -> None:
    """Measures this machine, builds the site, and names the command that shows it."""
    _ready("run")
    _metalmark("run", "--effort", "quick", *words)
    _metalmark("build")
    print(f"\nThe site is built. To see it:\n\n    {shlex.quote(os.path.relpath(program('metalmark')))} serve\n")


def test(words: Sequence[str]) -> None:
    """Runs the tests that take seconds."""
    _ready("dev")
    set_up_browser()
    must([program("python"), "-m", "pytest", "-m", "not slow", *words])


def test_slow(words: Sequence[str]) -> None:
    """Runs the tests that take minutes."""
    _ready("dev")
    set_up_browser()
    must([program("python"), "-m", "pytest", "-m", "slow", *words])


def wheel_test(words: Sequence[str]) -> None:
    """Installs the wheel where there is no checkout, and uses it."""
    _ready("dev")
    must([program("python"), "-m", "pytest", "-m", "slow", "tests/packaging/test_wheel.py", *words])


def check(_: Sequence[str]) -> None:
    """Runs every check, also after one that found something."""
    set_up("dev")
    failed = []
    for command in CHECKS:
        print(f"== {' '.join(command)}", flush=True)
        if call([program(command[0]), *command[1:]]):
            failed.append(" ".join(command))
    if failed:
        stop(f"Not yet right: {', '.join(failed)}.")


def bench(words: Sequence[str]) -> None:
    """Runs the benchmarks in the order of their names."""
    scripts = sorted((ROOT / "benchmarks").glob("[!_]*.py"))
    if not scripts:
        stop("There are no benchmarks in benchmarks/.")
    _ready("dev")
    failed = []
    for script in scripts:
        print(f"\n== {script.stem}", flush=True)
        if call([program("python"), str(script), *words]):
            failed.append(script.name)
    if failed:
        stop(f"Failed: {', '.join(failed)}.")


def build(words: Sequence[str]) -> None:
    """Builds the site of what is in the database."""
    _ready("run")
    _metalmark("build", *words)


def serve(words: Sequence[str]) -> None:
    """Shows the built site."""
    set_up("run")
    _metalmark("serve", *words)


def wheel(_: Sequence[str]) -> None:
    """Builds the source distribution, and from it the wheel."""
    _ready("dev")
    if code := quietly([program("python"), "-m", "build", "--outdir", "dist"]):
        stop("The wheel could not be built; the build's own words stand above.", code)
    for path in sorted((ROOT / "dist").glob("metalmark-*")):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


def setup(_: Sequence[str]) -> None:
    """Installs what every other target needs."""
    _ready("dev")
    set_up_browser()


def clean(_: Sequence[str]) -> None:
    """Removes what the other targets made, except measurements."""
    removed = [path for path in _made() if path.exists() or path.is_symlink()]
    for path in removed:
        print(f"Removing {path.relative_to(ROOT)}", flush=True)
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if not removed:
        print("There is nothing to remove.")
    if (ROOT / "build" / "metalmark.sqlite").exists():
        print("Kept build/metalmark.sqlite, which holds your measurements; delete it yourself to be rid of it.")


def show_help(_: Sequence[str]) -> None:
    """Lists the targets, as make alone does."""
    print('Usage: make TARGET [PYTHON=/path/to/python3.13] [ARGS="words for the program behind"]\n')
    for name, work in TARGETS.items():
        print(f"  {name:<12}{work.__doc__}")


def _ready(level: str) -> None:
    """Sees to .venv and to the site's browser assets, which know by themselves whether they are up to date."""
    set_up(level)
    must([program("python"), "-m", "metalmark_site.assets"])


def _metalmark(*words: str) -> None:
    """Runs the program itself; in the checkout its database lies in build/, unless METALMARK_DB names another."""
    default = f"sqlite:///{ROOT / 'build' / 'metalmark.sqlite'}"
    must([program("metalmark"), *words], METALMARK_DB=os.environ.get("METALMARK_DB") or default)


def _made() -> Iterator[Path]:
    """Everything that the targets make, and nothing that the repository holds."""
    yield from (VENV, ROOT / "dist", ROOT / "site" / "assets" / "dist")
    yield from (path for path in sorted((ROOT / "build").glob("*")) if not path.name.startswith(KEPT))
    yield from (path for path in sorted((ROOT / "build" / "pages").glob("*")) if path.name != ".gitkeep")
    for folder, inside, files in os.walk(ROOT):
        yield from (Path(folder, name) for name in (*inside, *files) if name in CACHES or name.startswith(".coverage"))
        inside[:] = [name for name in inside if name not in {*CACHES, ".git", ".venv"}]


TARGETS: dict[str, Callable[[Sequence[str]], None]] = {
    "help": show_help,
    "run": run,
    "test": test,
    "check": check,
    "test-slow": test_slow,
    "bench": bench,
    "build": build,
    "serve": serve,
    "wheel": wheel,
    "wheel-test": wheel_test,
    "setup": setup,
    "clean": clean,
}


def main(words: Sequence[str]) -> int:
    """Does what the first word says, and gives the exit code."""
    name = words[0] if words else "help"
    if name not in TARGETS:
        print(f"make.py knows no target {name!r}.\n", file=sys.stderr)
        show_help([])
        return 2
    catch_interrupts()
    TARGETS[name](words[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
