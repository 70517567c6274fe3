"""What is told by other fields, and stored beside them so that SQL need not take texts apart."""

import re

from .record import Machine, Software

_APPLE = "Apple "
_MINOR = re.compile(r"([0-9]+\.[0-9]+)(?![0-9])")
_MAJOR = re.compile(r"([0-9]+)(?![0-9])")


def bin_of(machine: Machine) -> str | None:
    """Which bin of its chip a machine has, worded as the variants in ``chips`` are; None where cores do not tell it.

    A guest has as many cores as its host gives it. The bins of other makers' chips have names of their own.
    """
    if machine.virtual:
        return f"{machine.cpu_cores} virtual cores" if machine.cpu_cores else "virtual cores"
    if not (machine.chip or "").startswith(_APPLE):
        return None
    parts = ((machine.cpu_cores, "core CPU"), (machine.gpu_cores, "core GPU"))
    return ", ".join(f"{number}-{words}" for number, words in parts if number) or None


def torch_minor(software: Software) -> str | None:
    """The release of torch whose speed is one thing: 2.14 of 2.14.1+cu130; None where it is not known."""
    found = _MINOR.match(software.torch_version or "")
    return found[1] if found else None


def os_major(software: Software) -> str | None:
    """The system with the release of macOS, such as macOS 26; other systems by name alone, or None."""
    if software.os_name != "macOS":
        return software.os_name
    found = _MAJOR.match(software.os_version or "")
    return f"macOS {found[1]}" if found else "macOS"
