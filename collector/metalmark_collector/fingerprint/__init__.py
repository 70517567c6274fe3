"""Which machine this is, with which software, in which state: read from allow-listed outputs only.

A probe gives texts (``probe``, ``sources``), ``Evidence`` parses them, and one reader per field
(``readers``) takes its value from there or gives None.
"""

from metalmark_db.record import Conditions, Machine, Software

from .evidence import Evidence
from .flat import fingerprint
from .probe import Probe, local_probe, replay_probe
from .readers import CONDITIONS, MACHINE, SOFTWARE

__all__ = [
    "Probe",
    "fingerprint",
    "local_probe",
    "read_conditions",
    "read_machine",
    "read_software",
    "replay_probe",
]


def read_machine(probe: Probe) -> Machine:
    """The hardware."""
    evidence = Evidence(probe)
    return Machine(**{field: read(evidence) for field, read in MACHINE.items()})


def read_software(probe: Probe) -> Software:
    """System, Python and libraries; ``torch_git`` and ``torch_debug`` are left to a running torch."""
    evidence = Evidence(probe)
    return Software(**{field: read(evidence) for field, read in SOFTWARE.items()})


def read_conditions(probe: Probe) -> Conditions:
    """The state of the machine now."""
    evidence = Evidence(probe)
    return Conditions(**{field: read(evidence) for field, read in CONDITIONS.items()})
