"""Which machine this is, with which software, in which state: read from allow-listed outputs only.

A probe gives texts (``probe``, ``sources``), ``Evidence`` parses them, and one reader per field
(``readers``) takes its value from there or gives None.
"""

from metalmark_db.record import Conditions, Machine, Moment, Software

from .evidence import Evidence
from .flat import fingerprint
from .probe import Gathered, LocalProbe, Probe, local_probe, replay_probe
from .readers import CONDITIONS, MACHINE, MOMENT, SOFTWARE
from .sources import MOMENTARY

_BRIEFLY_S = 1.0

__all__ = [
    "Probe",
    "brief_probe",
    "fingerprint",
    "local_probe",
    "read_conditions",
    "read_machine",
    "read_moment",
    "read_software",
    "replay_probe",
]


def read_machine(probe: Probe) -> Machine:
    """The hardware."""
    evidence = Evidence(probe)
    return Machine(**{field: read(evidence) for field, read in MACHINE.items()})


def read_software(probe: Probe) -> Software:
    """System, Python and libraries; what only a running torch knows is left to a worker, or to a slow probe."""
    evidence = Evidence(probe)
    return Software(**{field: read(evidence) for field, read in SOFTWARE.items()})


def read_conditions(probe: Probe) -> Conditions:
    """The state of the machine now."""
    evidence = Evidence(probe)
    return Conditions(**{field: read(evidence) for field, read in CONDITIONS.items()})


def brief_probe() -> Probe:
    """The machine at hand, with no command waited for over a second."""
    return LocalProbe(limit_s=_BRIEFLY_S)


def read_moment(probe: Probe) -> Moment:
    """The part of the state that is read in no time, between two cases."""
    evidence = Evidence(Gathered(probe, MOMENTARY))
    return Moment(**{field: read(evidence) for field, read in MOMENT.items()})
