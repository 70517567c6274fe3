"""Operating system, Python and libraries."""

import re
from collections.abc import Callable, Mapping

from ..scrub import cover_names
from . import notes
from .collect_env import parse as collect_env
from .evidence import Evidence
from .mac import macos_build, macos_version
from .process import result_variables
from .torch_process import NAMES
from .values import clean, positive, search


def os_name(evidence: Evidence) -> str | None:
    """The system, macOS or Linux."""
    if macos_version(evidence) or macos_build(evidence) or re.search(r"^Darwin\b", evidence.uname, re.MULTILINE):
        return "macOS"
    linux = evidence.text("os_release") or re.search(r"^Linux\b", evidence.uname, re.MULTILINE)
    return "Linux" if linux else None


def kernel(evidence: Evidence) -> str | None:
    """Release of the kernel; whoever built it may have put a name into it."""
    told = (
        search(r"Darwin Kernel Version ([0-9]{1,3}(?:\.[0-9]{1,3}){2})", evidence.uname)
        or search(r"\bLinux (?:\S+ )?([0-9]{1,3}\.[0-9]{1,4}[\w.+~-]{0,80})", evidence.uname)
        or search(r"^([0-9]{1,3}(?:\.[0-9]{1,3}){2})$", evidence.sysctl.get("kern.osrelease"))
        or search(r"Kernel Version: Darwin ([0-9]{1,3}(?:\.[0-9]{1,3}){2})", evidence.text("software_text"))
        or search(r"^([0-9]{1,3}(?:\.[0-9]{1,3}){2}[\w.+~-]{0,80})\s*$", evidence.uname, re.MULTILINE)
        or notes.kernel(evidence.text("notes"))
    )
    return told and cover_names(told)


def python_version(evidence: Evidence) -> str | None:
    """Version of Python."""
    return clean(evidence.process.get("python_version")) or collect_env(evidence.text("collect_env")).python


def torch_version(evidence: Evidence) -> str | None:
    """Version of torch as it says itself, or else as it is installed."""
    told = clean(evidence.torch.get("torch_version"))
    return told or package("torch")(evidence) or collect_env(evidence.text("collect_env")).torch


def torch_debug(evidence: Evidence) -> bool | None:
    """Whether torch is a debug build, where torch itself or a report of it says so."""
    told = evidence.torch.get("torch_debug")
    return told if isinstance(told, bool) else collect_env(evidence.text("collect_env")).debug_build


def torch_git(evidence: Evidence) -> str | None:
    """Commit torch was built from."""
    return search(r"^([0-9a-f]{7,40})$", clean(evidence.torch.get("torch_git")))


def torch_build(evidence: Evidence) -> dict[str, str] | None:
    """Build settings of torch by name, of those that are on the list."""
    told = evidence.torch.get("torch_build")
    listed = {name: value for name, value in told.items() if name in NAMES} if isinstance(told, dict) else {}
    return _texts(listed) or None


def threads(evidence: Evidence) -> int | None:
    """Threads that torch computes with on the CPU."""
    return positive(evidence.torch.get("threads"))


def package(name: str) -> Callable[[Evidence], str | None]:
    """A reader of the version of an installed package."""

    def read(evidence: Evidence) -> str | None:
        told = search(r"^([0-9][\w.+!-]{0,80})$", clean(evidence.packages.get(name)))
        return told and cover_names(told)

    return read


def environment(evidence: Evidence) -> dict[str, str]:
    """Variables that change results."""
    told = evidence.process.get("environment")
    return result_variables(_texts(told)) if isinstance(told, dict) else {}


def _texts(told: Mapping[object, object]) -> dict[str, str]:
    found = ((clean(key), clean(text)) for key, text in told.items())
    return {name: value for name, value in found if name and value is not None}
