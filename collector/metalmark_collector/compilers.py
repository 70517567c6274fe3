"""Whether ``torch.compile`` has what it needs on this machine, found without starting a compiler.

On macOS the compilers in ``/usr/bin`` are stubs: starting one on a Mac without developer tools opens
a window that asks to install them.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path

_TOOLCHAIN = "Toolchains/XcodeDefault.xctoolchain"
_LINUX = ("g++", "clang++", "c++")  # torch looks for the first; any other has to be named to it
_STUBS = Path("/usr/bin")
_ANSWER_S = 10

Which = Callable[[str], str | None]


def developer_folder() -> Path | None:
    """Where Xcode or its command line tools are; None on a Mac that has neither."""
    try:
        done = subprocess.run(
            ["/usr/bin/xcode-select", "-p"], check=False, capture_output=True, text=True, timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def find(
    system: str = sys.platform,
    environ: Mapping[str, str] = os.environ,
    which: Which = shutil.which,
    developer: Callable[[], Path | None] = developer_folder,
) -> str | None:
    """The C++ compiler that torch would start; None where there is none."""
    named = environ.get("CXX")
    candidates = (named,) if named else ("clang++",) if system == "darwin" else _LINUX
    found = next((path for name in candidates if (path := which(name))), None)
    if found is None or system != "darwin" or Path(found).parent != _STUBS:
        return found
    folder = developer()
    tools = () if folder is None else (folder / "usr/bin/clang++", folder / _TOOLCHAIN / "usr/bin/clang++")
    return next((str(tool) for tool in tools if tool.is_file()), None)


def why_not(compiler: str | None, headers: Path | None = None, system: str = sys.platform) -> str | None:
    """None if ``compiler`` (what ``find`` gave) can be used, else a sentence with the remedy."""
    mac = system == "darwin"
    if compiler is None:
        remedy = "xcode-select --install" if mac else "sudo apt install g++ (Debian), or your system's like"
        return f"torch.compile needs a C++ compiler, and this machine has none. Install one with: {remedy}"
    headers = headers or Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        return (
            "torch.compile needs the header files of this Python, which are not installed. "
            "On Debian: sudo apt install python3-dev. Pythons of python.org and uv have them."
        )
    return None


def environment(folder: Path, compiler: str | None, system: str = sys.platform) -> dict[str, str]:
    """Variables for the workers of a run: caches of compiled code that begin empty, and a compiler torch finds."""
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(folder), "TRITON_CACHE_DIR": str(folder / "triton")}
    if compiler is not None and system != "darwin" and Path(compiler).name != _LINUX[0]:
        variables["CXX"] = compiler
    return variables
