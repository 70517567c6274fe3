"""What a check finds: how things stand, in which words, and what to do about it."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How a thing stands, best first."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


class Verdict(Struct, frozen=True):
    """What one check says; a remedy is there exactly where something is not ok."""

    state: State
    what: str
    remedy: str | None = None


class Finding(Struct, frozen=True, kw_only=True):
    """The verdict of a check with the check's name: one line of the answer."""

    check: str
    state: State
    what: str
    remedy: str | None


def fine(what: str) -> Verdict:
    """Nothing to do."""
    return Verdict(State.OK, what)


def warning(what: str, remedy: str) -> Verdict:
    """The machine can be measured, but not well, or not everything."""
    return Verdict(State.WARNING, what, remedy)


def problem(what: str, remedy: str) -> Verdict:
    """Something that a run would measure cannot be measured."""
    return Verdict(State.PROBLEM, what, remedy)


def exit_code(findings: list[Finding]) -> int:
    """0 where all is ok, 1 where the worst is a warning, 2 where something is a problem."""
    order = list(State)
    return max((order.index(finding.state) for finding in findings), default=0)
