"""The table of checks, and the judging of what was seen."""

from collections.abc import Callable, Mapping

from ..preflight import Kind
from . import device_checks, software_checks, state_checks
from .finding import Finding, Verdict
from .sight import Sight

Check = Callable[[Sight], Verdict | None]  # None where the check says nothing of this machine

# In the order in which a person reads them: what the machine is, what is installed, what computes, in which state.
CHECKS: Mapping[str, Check] = {
    "virtual-machine": state_checks.virtual_machine,
    "python": software_checks.python,
    "torch": software_checks.torch,
    "libraries": software_checks.libraries,
    "macos": software_checks.macos,
    "known-problems": software_checks.known_problems,
    "variables": state_checks.variables,
    "cpu": device_checks.device("cpu"),
    "mps": device_checks.device("mps"),
    "cuda": device_checks.device("cuda"),
    "gpu": device_checks.gpu,
    "synchronization": device_checks.synchronization,
    "compile": device_checks.compiling,
    "power-source": state_checks.quiet(
        Kind.BATTERY, otherwise=state_checks.state(state_checks.power_source, "the power source")
    ),
    "power-mode": state_checks.quiet(
        Kind.LOW_POWER, otherwise=state_checks.state(state_checks.power_mode, "the power mode")
    ),
    "heat": state_checks.quiet(Kind.HEAT, otherwise=state_checks.state(state_checks.heat, "its thermal state")),
    "other-run": state_checks.other_run,
    "load": state_checks.quiet(Kind.LOAD, otherwise=state_checks.state(state_checks.load, "its load")),
    "priority": state_checks.quiet(Kind.NICE, otherwise=state_checks.state(state_checks.priority, "the priority")),
    "swap": state_checks.quiet(Kind.SWAP, otherwise=state_checks.state(state_checks.swap, "its swap")),
    "memory": state_checks.memory,
    "disk": state_checks.disk,
    "machine-id": state_checks.identity,
    "reporter": state_checks.reporter,
}


def examine(sight: Sight) -> list[Finding]:
    """The verdicts of all checks that have something to say."""
    verdicts = {name: check(sight) for name, check in CHECKS.items()}
    return [
        Finding(check=name, state=verdict.state, what=verdict.what, remedy=verdict.remedy)
        for name, verdict in verdicts.items()
        if verdict is not None
    ]
