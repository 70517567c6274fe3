"""Checks of Python, torch and the system below them."""

from ..devices import is_apple_silicon
from ..preflight import NATIVE, Kind
from .finding import Verdict, fine, problem, warning
from .sight import Sight
from .state_checks import spoilers
from .torch_facts import (
    FIRST_WITH_NEW_TAG,
    LAST_ON_INTEL_MACS,
    NEW_TAG,
    OLDEST,
    known_broken,
    mps_needs,
    newest_for,
    tag_needs,
)
from .versions import Version, dotted, is_release, version

_MAC = "macOS"
_UPDATE = "Update macOS: System Settings, General, Software Update."
_REPORT = "Keep the outputs with: metalmark doctor --bundle DIR, and report them."
_LIBRARIES = ("torchvision", "transformers")  # that workloads are made of


def python(sight: Sight) -> Verdict:
    """Python is built for the processor of this machine, and knows its system."""
    software, machine = sight.software, sight.machine
    for concern in spoilers(sight, Kind.ROSETTA):
        return problem(concern.what, concern.todo)
    told, known = version(sight.python_macos), version(software.os_version)
    if software.os_name == _MAC and told and known and told[0] < known[0]:
        return warning(
            f"This Python takes macOS {software.os_version} for {sight.python_macos}; pip then installs an old torch.",
            NATIVE,
        )
    native = "native " if software.process_arch and software.process_arch == machine.arch else ""
    return fine(f"Version {software.python_version}, {native}{software.process_arch}.")


def torch(sight: Sight) -> Verdict:
    """Torch is installed, is a release, and is one that Metalmark is made for."""
    told = sight.software.torch_version
    if told is None:
        return _torch_missing(sight)
    found = version(told)
    for concern in spoilers(sight, Kind.DEBUG_BUILD):
        return problem(concern.what, concern.todo)
    if found and found < OLDEST:
        return problem(
            f"torch {told} is older than {dotted(OLDEST)}, which Metalmark needs.", _get(f">={dotted(OLDEST)}")
        )
    if not is_release(told):
        return warning(
            f"torch {told} is a nightly or was built from its sources; its results stand beside nobody else's.",
            "For numbers to compare, install a release: pip install --force-reinstall torch",
        )
    return fine(f"Version {told}.")


def _get(version_: str) -> str:
    return f"pip install --upgrade 'torch{version_}'"


def _torch_missing(sight: Sight) -> Verdict:
    if sight.software.os_name == _MAC and sight.software.process_arch == "x86_64":
        if sight.software.rosetta or is_apple_silicon(sight.machine):
            return problem("torch is not installed, and there is none for a Python under Rosetta.", NATIVE)
        return problem(
            f"torch is not installed: its last release for Intel Macs is {dotted(LAST_ON_INTEL_MACS)}, and Metalmark "
            f"needs {dotted(OLDEST)}.",
            "Measure a Mac with Apple silicon, or this one under Linux.",
        )
    return problem("torch is not installed; measuring needs it.", "pip install 'metalmark[bench]'")


def libraries(sight: Sight) -> Verdict | None:
    """The libraries that workloads are made of are installed."""
    if sight.software.torch_version is None:
        return None
    versions = {name: getattr(sight.software, f"{name}_version") for name in _LIBRARIES}
    missing = [name for name, told in versions.items() if told is None]
    if missing:
        return warning(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed; the workloads made of "
            "them would fail.",
            "pip install 'metalmark[bench]'",
        )
    return fine(f"{', '.join(f'{name} {told}' for name, told in versions.items())}.")


def macos(sight: Sight) -> Verdict | None:
    """This macOS is the one that the installed torch needs, and did not make pip take an older one."""
    if sight.software.os_name != _MAC:
        return None
    here, installed = version(sight.software.os_version), version(sight.software.torch_version)
    if here is None:
        return warning("The version of macOS is unknown: sw_vers and sysctl did not tell it.", _REPORT)
    if installed is None:
        return fine(f"macOS {sight.software.os_version}.")
    tag = tag_needs(sight.wheel_tags)
    if tag and here < tag:
        return problem(
            f"The installed torch {sight.software.torch_version} is built for macOS {dotted(tag)}; this is "
            f"{sight.software.os_version}.",
            f"{_UPDATE} Or: pip install --force-reinstall '{newest_for(here) or 'torch'}'",
        )
    return _mps_on(sight, here, installed)


def _mps_on(sight: Sight, here: Version, installed: Version) -> Verdict:
    told, torch_told = sight.software.os_version, sight.software.torch_version
    needed = mps_needs(installed)
    if is_apple_silicon(sight.machine) and here < needed:
        older = newest_for(here)
        return problem(
            f"torch {torch_told} needs macOS {dotted(needed)} for MPS, whatever its error text says; this is {told}.",
            f"{_UPDATE} Or take an older torch: pip install '{older}'" if older else _UPDATE,
        )
    if is_apple_silicon(sight.machine) and here < NEW_TAG and installed < FIRST_WITH_NEW_TAG:
        return warning(
            f"torch {torch_told} is the older one that pip takes on macOS {told}: from {dotted(FIRST_WITH_NEW_TAG)} on "
            f"torch needs macOS {dotted(NEW_TAG)}.",
            f"{_UPDATE} Then: pip install --upgrade torch",
        )
    return fine(f"macOS {told}; torch {torch_told} needs {dotted(needed)} for MPS.")


def known_problems(sight: Sight) -> Verdict | None:
    """No combination of versions that is known to go wrong."""
    if sight.software.torch_version is None:
        return None
    found = known_broken(sight.machine, sight.software)
    if not found:
        return fine("None known with these versions.")
    cures = [one.helps for one in found if one.helps]
    newest = max(cures, key=lambda cure: version(cure.removeprefix("torch>=")) or (), default="")
    remedy = f"pip install --upgrade '{newest}'" if newest else _UPDATE
    return warning(" ".join(one.what for one in found), remedy)
