"""What spoils numbers, said before a run starts, with what to do; it warns and never refuses."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from rich.text import Text

from metalmark_db.output import say
from metalmark_db.record import Conditions, Machine, Software
from metalmark_db.terminal import gibibytes, harmless, significant

from .busy import Busy

# macOS at rest shows a load of 1 to 2, whatever the number of cores; above that a quarter of the cores
# is missed by whatever uses all of them.
_QUIET_LOAD = 2.0
_QUIET_SHARE = 0.25
# One program that keeps half a core busy takes turns with the thread that feeds the GPU.
_BUSY_PERCENT = 50.0
# A system parks what nobody uses in swap and leaves it there; half a GiB has never been seen to matter.
_PARKED_BYTES = 2**29
_SLOW_CLASSES = ("utility", "background")  # of macOS
_FULL_SPEED = 100  # percent

NATIVE = (
    "Make a native one: uv venv --python cpython-3.13-macos-aarch64-none metalmark; "
    'uv pip install --python metalmark/bin/python "metalmark[bench]"; then: metalmark/bin/metalmark run. '
    "Without uv: install Python from python.org, then: arch -arm64 python3.13 -m venv metalmark."
)


class Kind(StrEnum):
    """What can spoil a number."""

    ROSETTA = "under Rosetta"
    DEBUG_BUILD = "with a debug build of torch"
    BATTERY = "on battery"
    LOW_POWER = "in low power mode"
    HEAT = "on a hot machine"
    OTHER_RUN = "beside another run"
    LOAD = "beside other programs"
    SWAP = "with swap in use"
    NICE = "at low priority"
    ENVIRONMENT = "with variables set that change results"
    VIRTUAL = "in a virtual machine"


class Concern(Struct, frozen=True, kw_only=True):
    """One thing that spoils numbers: what is wrong, and what to do."""

    kind: Kind
    what: str
    todo: str


_ANOTHER_RUN = Concern(
    kind=Kind.OTHER_RUN,
    what="Another run of Metalmark is measuring on this machine.",
    todo="End one of the two: each takes the time of the other.",
)


def concerns(
    machine: Machine,
    software: Software,
    conditions: Conditions,
    busy: Sequence[Busy] = (),
    *,
    alone: bool = True,
) -> list[Concern]:
    """Everything known that spoils numbers on this machine now, the worst first; what is unknown is no concern."""
    another = [] if alone else [_ANOTHER_RUN]
    return [
        *another,
        *_of_software(software),
        *_of_power(conditions),
        *_of_load(machine, conditions, busy),
        *_of_kind(machine),
    ]


def show(found: Sequence[Concern]) -> None:
    """Say it on standard error."""
    if found:
        say("These spoil the numbers; the run starts all the same:", stderr=True)
    for concern in found:
        say(Text.assemble("- ", (harmless(concern.what), "bold"), " ", harmless(concern.todo)), stderr=True)


def _of_software(software: Software) -> Iterator[Concern]:
    if software.rosetta:
        what = "This Python was built for Intel and runs under Rosetta, at about half the speed and without the GPU."
        yield Concern(kind=Kind.ROSETTA, what=what, todo=NATIVE)
    if software.torch_debug:
        yield Concern(
            kind=Kind.DEBUG_BUILD,
            what="This torch is a debug build, whose times mean nothing.",
            todo="Install a release: pip install --force-reinstall torch.",
        )
    names = sorted(software.environment)
    if names:
        yield Concern(
            kind=Kind.ENVIRONMENT,
            what=f"Set, and able to change results: {', '.join(names)}.",
            todo=f"The run records them. Remove with: unset {' '.join(names)}",
        )


def _of_power(conditions: Conditions) -> Iterator[Concern]:
    if conditions.power_source == "battery":
        yield Concern(
            kind=Kind.BATTERY,
            what="The computer runs on battery, where it may go slower.",
            todo="Plug it in and leave the lid open.",
        )
    if conditions.low_power_mode:
        yield Concern(
            kind=Kind.LOW_POWER,
            what="Low power mode is on; it costs a third of the speed and more.",
            todo="Switch it off: System Settings, Battery, Low Power Mode: Never (on Linux: powerprofilesctl set "
            "balanced).",
        )
    limit = conditions.cpu_speed_limit
    slowed = limit is not None and limit < _FULL_SPEED
    if slowed or conditions.thermal_state not in (None, "Nominal"):
        state = f"CPU speed limit {limit} %" if slowed else f"thermal state {conditions.thermal_state}"
        yield Concern(
            kind=Kind.HEAT,
            what=f"The machine is hot and slows itself down ({state}).",
            todo="Wait ten minutes, with the lid open and air below the computer.",
        )


def _of_load(machine: Machine, conditions: Conditions, busy: Sequence[Busy]) -> Iterator[Concern]:
    load, quiet = conditions.load_1m, max(_QUIET_LOAD, _QUIET_SHARE * (machine.cpu_cores or 1))
    loaded = load is not None and load > quiet
    if loaded or any(program.percent >= _BUSY_PERCENT for program in busy):
        told = f" (load {significant(load, 2)})" if loaded else ""
        names = ", ".join(f"{program.name} ({program.percent:.0f} % of a core)" for program in busy)
        yield Concern(
            kind=Kind.LOAD,
            what=f"Other programs are busy{told}{': ' if names else ''}{names}.",
            todo="Quit them or let them finish; after a restart or an update wait ten minutes.",
        )
    if conditions.gpu_users:
        programs = (
            "Another program computes" if conditions.gpu_users == 1 else f"{conditions.gpu_users} programs compute"
        )
        yield Concern(kind=Kind.LOAD, what=f"{programs} on the GPU.", todo="End what you can; nvidia-smi lists them.")
    swap = conditions.swap_used_bytes
    if swap is not None and swap > _PARKED_BYTES:
        yield Concern(
            kind=Kind.SWAP,
            what=f"{gibibytes(swap)} of swap are in use: memory was short.",
            todo="Close programs, browsers first; what stays in swap goes with a restart.",
        )
    if conditions.niceness is not None and conditions.niceness > 0:
        yield Concern(
            kind=Kind.NICE,
            what=f"This process runs at low priority (nice {conditions.niceness}), on a Mac on the slow cores.",
            todo="Start it from a terminal of its own, without nice.",
        )
    elif conditions.qos in _SLOW_CLASSES:
        yield Concern(
            kind=Kind.NICE,
            what=f"This process has the priority class {conditions.qos}, which may keep it on the slow cores.",
            todo="Start it from a terminal of its own, not from a scheduled job or taskpolicy.",
        )


def _of_kind(machine: Machine) -> Iterator[Concern]:
    if machine.virtual:
        yield Concern(
            kind=Kind.VIRTUAL,
            what="This is a virtual machine, which shares its cores with others.",
            todo="Its CPU results are shown apart and never ranked; measure the machine itself where you can.",
        )
