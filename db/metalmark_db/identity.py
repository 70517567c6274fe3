"""Identity of a machine: names a configuration that many computers share, never one computer."""

import hashlib

import msgspec
from msgspec import Struct

from .record import Machine

_GIB = 2**30


def machine_id(machine: Machine) -> str | None:
    """SHA-256 over what makes a configuration; None if a part is unknown, or for a virtual machine.

    Names of core levels change with the version of macOS and stay out; memory counts in whole GiB.
    A machine that is known to have no GPU lacks the GPU's name and cores, and nothing is unknown.
    """
    if machine.virtual is not False or machine.memory_bytes is None:
        return None
    parts = (
        machine.chip,
        machine.tier_counts,
        machine.gpu_name,
        machine.gpu_cores,
        machine.gpu_count,
        round(machine.memory_bytes / _GIB) or None,
    )
    if unknown_parts(machine) or parts[-1] is None:
        return None
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def unknown_parts(machine: Machine) -> tuple[str, ...]:
    """The fields without which a machine has no id, as far as they are unknown."""
    gpu = ("gpu_count",) if machine.gpu_count == 0 else ("gpu_name", "gpu_cores", "gpu_count")
    needed = ("virtual", "chip", "tier_counts", *gpu, "memory_bytes")
    return tuple(field for field in needed if getattr(machine, field) is None)


def fields_digest(value: Struct) -> str:
    """SHA-256 over all fields of a record: equal records, and only they, share a row."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
