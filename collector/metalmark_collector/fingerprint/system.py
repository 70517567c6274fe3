"""Operating system, Python and libraries."""

import re
from collections.abc import Callable

from . import notes
from .collect_env import parse as collect_env
from .evidence import Evidence
from .mac import macos_build, macos_version
from .values import clean, search


def os_name(evidence: Evidence) -> str | None:
    """The system, macOS or Linux."""
    if macos_version(evidence) or macos_build(evidence) or re.search(r"^Darwin\b", evidence.uname, re.MULTILINE):
        return "macOS"
    linux = evidence.text("os_release") or re.search(r"^Linux\b", evidence.uname, re.MULTILINE)
    return "Linux" if linux else None


def kernel(evidence: Evidence) -> str | None:
    """Release of the kernel."""
    return (
        search(r"Darwin Kernel Version ([0-9]{1,3}(?:\.[0-9]{1,3}){2})", evidence.uname)
        or search(r"\bLinux (?:\S+ )?([0-9]{1,3}\.[0-9]{1,4}[\w.+~-]{0,80})", evidence.uname)
        or search(r"^([0-9]{1,3}(?:\.[0-9]{1,3}){2})$", evidence.sysctl.get("kern.osrelease"))
        or search(r"Kernel Version: Darwin ([0-9]{1,3}(?:\.[0-9]{1,3}){2})", evidence.text("software_text"))
        or search(r"^([0-9]{1,3}(?:\.[0-9]{1,3}){2}[\w.+~-]{0,80})\s*$", evidence.uname, re.MULTILINE)
        or notes.kernel(evidence.text("notes"))
    )


def python_version(evidence: Evidence) -> str | None:
    """Version of Python."""
    return clean(evidence.process.get("python_version")) or collect_env(evidence.text("collect_env")).python


def torch_version(evidence: Evidence) -> str | None:
    """Version of torch as it is installed."""
    return package("torch")(evidence) or collect_env(evidence.text("collect_env")).torch


def torch_debug(evidence: Evidence) -> bool | None:
    """Whether torch is a debug build, where a report of torch says so."""
    return collect_env(evidence.text("collect_env")).debug_build


def package(name: str) -> Callable[[Evidence], str | None]:
    """A reader of the version of an installed package."""
    return lambda evidence: clean(evidence.packages.get(name))


def environment(evidence: Evidence) -> dict[str, str]:
    """Variables that change results."""
    told = evidence.process.get("environment")
    kept = told.items() if isinstance(told, dict) else ()
    return {name: value for key, text in kept if (name := clean(key)) and (value := clean(text)) is not None}
