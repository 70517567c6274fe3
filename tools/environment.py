"""The virtual environment .venv: made, filled, mended, and left alone where nothing has changed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from typing import Any

from tools.terminal import ROOT, VENV, environment, program, quietly, stop

OLDEST, NEWEST = (3, 11), (3, 14)
STAMP = VENV / "metalmark-setup.json"

# What each level installs: "run" measures and builds the site, "dev" adds the tools of the tests and checks.
LEVELS = {"run": ".[bench,site]", "dev": ".[all]"}

FIRST = "Installing torch and the rest into .venv: about 3 GB on Linux, 0.6 GB on a Mac, some minutes, once."
AGAIN = "Bringing .venv up to date with pyproject.toml."
TOOLS = "Adding the tools of the tests to .venv."
NEW = "Making the virtual environment .venv."
ANEW = "The virtual environment .venv is broken, was moved, or belongs to another Python: making it anew."
NO_VENV = "The virtual environment .venv could not be made; Python's own words stand above."
NO_INSTALL = """\
pip could not install what Metalmark needs; its own words stand above. Mend what they name (most often the network, a
full disk, or a pip configuration without torch) and give the same command again: what was downloaded is kept."""


def set_up(level: str) -> None:
    """Brings .venv to a level, and does nothing where it is there already."""
    _refuse_other_pythons()
    stamp = _read_stamp()
    before = stamp.get("level", "")
    if before == "dev":
        level = "dev"
    works = _venv_works(stamp)
    if works and stamp == _state(level):
        return
    if not works:
        _make_venv()
        before = ""
    _write_stamp("")
    _drop_half_installed()
    _install(level, {"": FIRST, level: AGAIN}.get(before, TOOLS))
    _write_stamp(level)


def _refuse_other_pythons() -> None:
    """Ends with a paragraph that says what to install, where this Python is too old, too new or lacks venv."""
    version = "{}.{}.{}".format(*sys.version_info)
    lacking = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
    if OLDEST <= sys.version_info[:2] <= NEWEST and not lacking:
        return
    lacks = f" without {' and '.join(lacking)}" if lacking else ""
    paragraph = (ROOT / "docs" / "python.txt").read_text(encoding="utf-8")
    stop(f"This is Python {version}{lacks} ({sys.executable}).\n{paragraph}")


def _needs() -> dict[str, Any]:
    """The parts of pyproject.toml that decide what .venv holds."""
    import tomllib  # noqa: PLC0415 (an older Python comes as far as _refuse_other_pythons)

    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = {name: whole.get(name) for name in ("build-system", "project", "dependency-groups")}
    return {**parts, "hatch": whole.get("tool", {}).get("hatch")}


def _state(level: str) -> dict[str, str]:
    """What the stamp says of a .venv at this level, made by this Python for this checkout."""
    digest = hashlib.sha256(json.dumps(_needs(), sort_keys=True).encode()).hexdigest()
    return {"level": level, "python": "{}.{}".format(*sys.version_info), "folder": str(ROOT), "needs": digest}


def _read_stamp() -> dict[str, str]:
    """The stamp of the last installation; empty where there is none that can be read."""
    try:
        return dict(json.loads(STAMP.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _write_stamp(level: str) -> None:
    """Notes that .venv is at this level; the empty level says that an installation has begun."""
    STAMP.write_text(json.dumps(_state(level)), encoding="utf-8")


def _venv_works(stamp: dict[str, str]) -> bool:
    """Whether .venv runs, has pip, is of this Python, and was made for this folder (its programs name it)."""
    question = "import pip, sys; print('{}.{}'.format(*sys.version_info))"
    command = [program("python"), "-I", "-c", question]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    except OSError:
        return False
    return answer.stdout.strip() == "{}.{}".format(*sys.version_info) and stamp.get("folder", str(ROOT)) == str(ROOT)


def _make_venv() -> None:
    """Makes .venv, in place of one that does not work."""
    print(ANEW if VENV.exists() else NEW, flush=True)
    # The base interpreter: the one that runs this may lie in the very .venv that is cleared.
    base = str(getattr(sys, "_base_executable", sys.executable))
    if code := quietly([base, "-m", "venv", "--clear", str(VENV)]):
        stop(NO_VENV, code)


def _drop_half_installed() -> None:
    """Forgets packages whose installation was cut off, so that pip installs them again: pip writes RECORD last."""
    for folder in VENV.glob("lib/python*/site-packages/*.dist-info"):
        if not (folder / "RECORD").exists():
            shutil.rmtree(folder)


def _install(level: str, sentence: str) -> None:
    """Installs everything of a level in one call of pip, so that torch and torchvision are chosen together."""
    print(sentence, flush=True)
    began = time.monotonic()
    tools = _needs()["dependency-groups"]["dev"] if level == "dev" else []  # pip before 25.1 knows no --group
    pip = [program("python"), "-m", "pip", "install", "--progress-bar", "off"]
    if code := quietly([*pip, "--editable", LEVELS[level], *tools]):
        stop(NO_INSTALL, code)
    print(f"Installed in {time.monotonic() - began:.0f} s.", flush=True)
