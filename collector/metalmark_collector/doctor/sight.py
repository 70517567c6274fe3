"""What is seen of a machine before it is judged; everything that a check looks at."""

from msgspec import Struct

from metalmark_db.record import Conditions, Machine, Software

from ..busy import Busy
from ..messages import Hello
from ..process import Death


class Greeting(Struct, frozen=True):
    """How a worker for a device answered."""

    device: str
    answer: Hello | Death


class Asked(Struct, frozen=True):
    """A source that a reader asked: what it is called, and whether it printed anything."""

    name: str
    answered: bool


class Unread(Struct, frozen=True):
    """A part of the machine's id that no source told."""

    field: str
    asked: tuple[Asked, ...] = ()


class Room(Struct, frozen=True, kw_only=True):
    """The folder that will hold the database, or the nearest one above it that exists."""

    folder: str
    free_bytes: int
    writable: bool


class Sight(Struct, frozen=True, kw_only=True):
    """A machine as it was seen at one moment; None and empty are unknown."""

    machine: Machine
    software: Software
    conditions: Conditions
    busy: tuple[Busy, ...] = ()
    alone: bool = True  # no other run measures on this machine
    wheel_tags: tuple[str, ...] = ()  # of the installed torch, such as cp311-cp311-macosx_14_0_arm64
    python_macos: str | None = None  # what Python takes the system for: an old one says 10.16 of every later macOS
    greetings: tuple[Greeting, ...] = ()
    no_compile: str | None = None  # why torch.compile cannot work
    room: Room | None = None
    unread: tuple[Unread, ...] = ()
    reporter: str | None = None  # as runs carry it; None before the first one
