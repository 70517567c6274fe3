"""Looking at the machine at hand: its outputs are read once, and a real worker is started for each device."""

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import msgspec

from metalmark_db import reporter
from metalmark_db.engine import database_url
from metalmark_db.identity import unknown_parts
from metalmark_db.record import Machine

from .. import compilers, devices
from ..alone import alone
from ..busy import busiest
from ..fingerprint import Probe
from ..fingerprint.evidence import Evidence
from ..fingerprint.readers import MACHINE
from ..fingerprint.sources import SOURCES
from ..look import look
from ..messages import Hello
from ..process import Death, Worker
from .sight import Asked, Greeting, Room, Sight, Unread
from .torch_facts import tags_of

Tell = Callable[[str], None]  # told what is looked at now, for a person who waits
StartWorker = Callable[[str], Worker]


def observe(probe: Probe, tell: Tell = lambda _: None, start: StartWorker = Worker) -> Sight:
    """Everything that the checks look at; without torch no worker is started."""
    tell("reading the machine")
    seen, compiler = look(probe), compilers.find()
    with alone() as claimed:
        pass  # whether another run holds the machine; the doctor does not keep it
    sight = Sight(
        machine=seen.machine,
        software=seen.software,
        conditions=seen.conditions,
        busy=busiest(),
        alone=claimed,
        wheel_tags=tags_of(_wheel("torch")),
        python_macos=platform.mac_ver()[0] or None,
        no_compile=compilers.why_not(compiler),
        room=_room(),
        unread=tuple(unread(probe, seen.machine)),
        reporter=reporter.known(seen.machine),
    )
    return sight if seen.software.torch_version is None else greeted(sight, tell, start)


def greeted(sight: Sight, tell: Tell, start: StartWorker) -> Sight:
    """The sight with what a worker says of each device, and with what only a running torch knows of itself."""
    greetings = []
    for kind in devices.default_devices(sight.machine):
        tell(f"starting a worker for {kind} (the first start of torch can take a minute)")
        greetings.append(Greeting(kind, _greet(start, kind)))
    debug = next((one.answer.torch_debug for one in greetings if isinstance(one.answer, Hello)), None)
    software = sight.software if debug is None else msgspec.structs.replace(sight.software, torch_debug=debug)
    return msgspec.structs.replace(sight, greetings=tuple(greetings), software=software)


def _greet(start: StartWorker, kind: str) -> Hello | Death:
    worker = start(kind)
    try:
        return worker.greet()
    finally:
        worker.close()


def unread(probe: Probe, machine: Machine, system: str | None = None) -> Iterator[Unread]:
    """The parts of the machine's id that nothing told, each with the sources of this system that were asked."""
    for field in unknown_parts(machine):
        listening = _Listening(probe)
        MACHINE[field](Evidence(listening))
        asked = [
            Asked(Path(SOURCES[source].recorded[0]).stem, answered)
            for source, answered in listening.answered.items()
            if SOURCES[source].live is not None and SOURCES[source].system in (None, system or platform.system())
        ]
        yield Unread(field, tuple(asked))


class _Listening:
    """A probe that remembers which sources it was asked for, and whether they gave anything."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self.answered: dict[str, bool] = {}

    def text(self, source: str) -> str | None:
        """What the probe behind says."""
        text = self._probe.text(source)
        self.answered[source] = bool(text and text.strip())
        return text


def _wheel(package: str) -> str | None:
    """The WHEEL file of an installed package; conda's packages have none."""
    try:
        return distribution(package).read_text("WHEEL")
    except PackageNotFoundError:
        return None


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except OSError:  # below a folder that may not be read
        return False


def _room() -> Room | None:
    """Room for the database; None where it is no file."""
    url = database_url()
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    folder = Path(url.database).absolute().parent
    while not _is_folder(folder):
        folder = folder.parent
    return Room(
        folder=str(folder),
        free_bytes=shutil.disk_usage(folder).free,
        writable=os.access(folder, os.W_OK | os.X_OK),
    )
