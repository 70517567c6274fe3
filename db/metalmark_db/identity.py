"""Identity of a machine: names a configuration that many computers share, never one computer."""

from .record import Machine


def machine_id(machine: Machine) -> str | None:
    """Placeholder until the fingerprint lands."""
    return None
