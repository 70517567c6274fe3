"""One look at the machine before a run: what it is, what runs on it, and in which state it is."""

from msgspec import Struct

from metalmark_db.record import Conditions, Machine, Software

from .fingerprint import Probe, read_conditions, read_machine, read_software
from .fingerprint.probe import Gathered


class Seen(Struct, frozen=True, kw_only=True):
    """What was seen; reading it takes seconds on a Mac, so it is handed on."""

    machine: Machine
    software: Software
    conditions: Conditions


def look(probe: Probe) -> Seen:
    """Machine, software and conditions, now."""
    probe = Gathered(probe)
    return Seen(machine=read_machine(probe), software=read_software(probe), conditions=read_conditions(probe))
