"""Checks of the machine and of its state: what spoils numbers, memory, disk, and the machine's id."""

from collections.abc import Callable

from metalmark_db.identity import machine_id
from metalmark_db.record import Conditions
from metalmark_db.terminal import gibibytes, significant

from ..preflight import Concern, Kind, concerns
from .finding import Verdict, fine, problem, warning
from .sight import Sight, Unread

_LITTLE_MEMORY = 2 * 2**30  # the larger cases of a run need more, and are then not run
_LITTLE_DISK = 2**30  # compiled code and the CPU's results of a full run
_NO_DISK = 50 * 2**20  # a run's database with room to spare
_SHOWN = 12  # digits of the machine's id


def spoilers(sight: Sight, *kinds: Kind) -> list[Concern]:
    """What `run` would warn of, of these kinds."""
    found = concerns(sight.machine, sight.software, sight.conditions, sight.busy, alone=sight.alone)
    return [concern for concern in found if concern.kind in kinds]


def quiet(*kinds: Kind, otherwise: Callable[[Sight], str]) -> Callable[[Sight], Verdict]:
    """The check that nothing of these kinds spoils the numbers; ``otherwise`` says what is seen instead."""

    def undisturbed(sight: Sight) -> Verdict:
        found = spoilers(sight, *kinds)
        if found:
            return warning(" ".join(one.what for one in found), " ".join(one.todo for one in found))
        return fine(otherwise(sight))

    return undisturbed


def state(words: Callable[[Conditions], str | None], thing: str) -> Callable[[Sight], str]:
    """What is said of a condition: its words, or that the system does not tell it."""
    return lambda sight: words(sight.conditions) or f"This system does not tell {thing}."


def power_source(conditions: Conditions) -> str | None:
    """Where the power comes from."""
    return {"ac": "On mains power.", "battery": "On battery."}.get(conditions.power_source or "")


def power_mode(conditions: Conditions) -> str | None:
    """The mode of the power source in use."""
    if conditions.power_mode:
        return f"Power mode {conditions.power_mode}."
    return None if conditions.low_power_mode is None else "Low power mode is off."


def heat(conditions: Conditions) -> str | None:
    """The thermal state, as far as a system shows it."""
    if conditions.thermal_state:
        return f"Thermal state {conditions.thermal_state}; slowing down shows in the times themselves."
    return None if conditions.cpu_speed_limit is None else "The CPU runs at full speed."


def load(conditions: Conditions) -> str | None:
    """The load."""
    return None if conditions.load_1m is None else f"Load {significant(conditions.load_1m, 2)}."


def swap(conditions: Conditions) -> str | None:
    """Swap in use."""
    used = conditions.swap_used_bytes
    return None if used is None else f"{gibibytes(used)} of swap in use." if used else "No swap in use."


def priority(conditions: Conditions) -> str | None:
    """The nice value."""
    return None if conditions.niceness is None else f"Normal priority (nice {conditions.niceness})."


def memory(sight: Sight) -> Verdict:
    """Enough memory is free."""
    free = sight.conditions.memory_available_bytes
    if free is None:
        return fine("This system does not tell its free memory.")
    if free < _LITTLE_MEMORY:
        return warning(
            f"Only {gibibytes(free)} of memory are free; cases that need more are not run.",
            "Close programs, browsers first.",
        )
    return fine(f"{gibibytes(free)} of memory are free.")


def disk(sight: Sight) -> Verdict | None:
    """The folder of the database can be written to and has room."""
    room = sight.room
    if room is None:
        return None
    if not room.writable:
        return problem(
            f"The folder of the database cannot be written to: {room.folder}.",
            "Name another with: metalmark run --db FILE",
        )
    if room.free_bytes < _LITTLE_DISK:
        what = f"Only {gibibytes(room.free_bytes)} are free where the database lies: {room.folder}."
        remedy = "Make room, or name another place with: metalmark run --db FILE"
        return (problem if room.free_bytes < _NO_DISK else warning)(what, remedy)
    return fine(f"{gibibytes(room.free_bytes)} are free where the database lies.")


def identity(sight: Sight) -> Verdict:
    """The machine's id, or what keeps it unknown."""
    found = machine_id(sight.machine)
    if found is not None:
        return fine(f"Machine id {found[:_SHOWN]}: it names this configuration, which many computers share.")
    if sight.machine.virtual:
        return fine("A virtual machine has no machine id; its results are listed apart.")
    told = "; ".join(_unread(one) for one in sight.unread) or "something is unknown"
    return warning(
        f"This machine has no machine id, so its results stand alone. {told}.",
        "Keep the outputs with: metalmark doctor --bundle DIR, and report them.",
    )


def _unread(one: Unread) -> str:
    """The field and its sources: those that said nothing, and those that said something else."""
    silent = [asked.name for asked in one.asked if not asked.answered]
    spoke = [asked.name for asked in one.asked if asked.answered]
    parts = (
        f"nothing came from {', '.join(silent)}" if silent else "",
        f"it is not in what {', '.join(spoke)} gave" if spoke else "",
    )
    return f"{one.field} is unknown" + "".join(f", {part}" for part in parts if part)


def reporter(sight: Sight) -> Verdict:
    """What ties this computer's runs together, once there is one."""
    if sight.reporter is None:
        return fine("No reporter is kept here or shown; the first run makes one, unless it is told --no-reporter.")
    return fine(
        f"Reporter {sight.reporter}: it ties this computer's runs together and comes from a random value. "
        "Another one: metalmark forget-reporter."
    )


def _virtual(sight: Sight) -> str:
    return "A real machine." if sight.machine.virtual is False else "Nothing tells whether this is a virtual machine."


other_run = quiet(Kind.OTHER_RUN, otherwise=lambda _: "No other run of Metalmark measures here.")
virtual_machine = quiet(Kind.VIRTUAL, otherwise=_virtual)
variables = quiet(Kind.ENVIRONMENT, otherwise=lambda _: "No variables that change results are set.")
