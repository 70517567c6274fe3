"""A small checkout that has the real Makefile, make.py and tools/, and a project that installs without a network."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "metalmark"
version = "0.1.0"

[dependency-groups]
dev = []
"""

# The least that pip asks of a build backend for an editable install.
BACKEND = """
import os, time, zipfile
from pathlib import Path

INFO = "metalmark-0.1.0.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: metalmark\\nVersion: 0.1.0\\n" + "".join(
    f"Provides-Extra: {extra}\\n" for extra in ("bench", "site", "all"))
FILES = {
    "metalmark.pth": str(Path.cwd()),
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    f"{INFO}/entry_points.txt": "[console_scripts]\\nmetalmark = program:main\\n",
    f"{INFO}/RECORD": "",
}

def build_editable(folder, config_settings=None, metadata_directory=None):
    Path("pip-came-here").touch()
    time.sleep(float(os.environ.get("TOY_SECONDS", "0")))
    name = "metalmark-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, name), "w") as wheel:
        for path, text in FILES.items():
            wheel.writestr(path, text)
    return name
"""

# Stands where the real program stands: says what it was asked, and takes Ctrl-C as the real one does.
PROGRAM = """
import os, sys, time

def main():
    try:
        print("metalmark", *sys.argv[1:], os.environ["METALMARK_DB"], flush=True)
        time.sleep(float(os.environ.get("TOY_SECONDS", "0")))
    except KeyboardInterrupt:
        print("kept what was measured", flush=True)
        return 130
    return int(os.environ.get("TOY_EXIT", "0"))
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small checkout, in a folder whose name has a space; a module's tests share its .venv."""
    folder = tmp_path_factory.mktemp("newcomer") / "a checkout"
    for name in ("tools", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "make.py"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "metalmark_site").mkdir()
    (folder / "metalmark_site" / "assets.py").write_text("")
    return folder


@pytest.fixture
def terminal() -> dict[str, str]:
    """The environment of a fresh terminal, also where these tests were started by make."""
    ours = ("METALMARK_", "MAKE", "MFLAGS", "ARGS", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture
def make(toy: Path, terminal: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Calls make in the small checkout as a person would; variables come as keywords."""

    def call(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", *words],
            cwd=toy,
            env={**terminal, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return call
