"""The one seam between the readers and a machine: the machine at hand, or one whose outputs were recorded."""

import contextlib
import os
import platform
import signal
import subprocess
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, assert_never

from metalmark_db.errors import UsageProblem

from .sources import SOURCES, Command, Files, Own, Source, Whole

_SIDE_BY_SIDE = 8  # commands at once; each waits for the kernel or a driver and hardly computes
_LARGEST = 4_000_000  # bytes of one output; real ones are a thousand times smaller


class Probe(Protocol):
    """Something that can be asked for the text of a named source; None where there is none."""

    def text(self, source: str) -> str | None:
        """The output of a source of ``SOURCES``, or None."""
        ...


class LocalProbe:
    """The machine at hand; nothing is waited for longer than ``limit_s``, where one is given."""

    def __init__(self, system: str | None = None, *, slow: bool = False, limit_s: float | None = None) -> None:
        self._system = system or platform.system()
        self._slow = slow
        self._limit_s = limit_s
        self._profiling = threading.Lock()
        self._native = self._native_prefix()

    def text(self, source: str) -> str | None:
        """What the command prints or the file holds, now."""
        known = SOURCES[source]
        if known.system not in (None, self._system) or (known.slow and not self._slow):
            return None
        match known.live:
            case None:
                return None
            case Command(argv, limit_s):
                return self._run(argv, limit_s if self._limit_s is None else min(limit_s, self._limit_s))
            case Files(patterns, key_part):
                return _lines(patterns, key_part)
            case Whole(path):
                return _content(Path(path))
            case Own(describe):
                return describe()
            case _ as other:
                assert_never(other)

    def _run(self, argv: tuple[str, ...], limit_s: float) -> str | None:
        prefix = self._native if argv[0] in _TRANSLATED else ()
        # Two calls of system_profiler at once disturb each other, and one of them comes back empty.
        with self._profiling if argv[0] == "system_profiler" else contextlib.nullcontext():
            return run((*prefix, *argv), limit_s)

    def _native_prefix(self) -> tuple[str, ...]:
        translated = self._system == "Darwin" and platform.machine() == "x86_64"
        if translated and (run(("sysctl", "-n", "hw.optional.arm64"), 5.0) or "").strip() == "1":
            return ("arch", "-arm64")
        return ()


# Started by a process under Rosetta, these describe the emulated Intel machine instead of the real one.
_TRANSLATED = ("system_profiler", "ioreg")


class ReplayProbe:
    """A machine whose outputs lie in a folder: only the files of that folder count."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def text(self, source: str) -> str | None:
        """The recorded output; several files of one source are read one after the other."""
        texts = [_content(path) for path in self._files(SOURCES[source])]
        return "\n".join(text for text in texts if text is not None) if texts else None

    def files(self) -> list[Path]:
        """The files of the folder that any source reads."""
        return [path for source in SOURCES.values() for path in self._files(source)]

    def _files(self, source: Source) -> list[Path]:
        found = (path for pattern in source.recorded for path in sorted(self._folder.glob(pattern)))
        return [path for path in dict.fromkeys(found) if path.is_file()]


class Remembered:
    """A probe that asks another one only once for each source, for the time of one reading."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._known: dict[str, str | None] = {}

    def text(self, source: str) -> str | None:
        """The output of the first time."""
        if source not in self._known:
            self._known[source] = self._probe.text(source)
        return self._known[source]


class Gathered:
    """What another probe says of many sources, asked at once: commands run side by side."""

    def __init__(self, probe: Probe, sources: Iterable[str] = SOURCES) -> None:
        self._probe = probe
        commands = [name for name in sources if isinstance(SOURCES[name].live, Command)]
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            self._known = dict(zip(commands, pool.map(probe.text, commands), strict=True))

    def text(self, source: str) -> str | None:
        """The output of a command; files, and what this thread knows of itself, are read now."""
        return self._known[source] if source in self._known else self._probe.text(source)


def local_probe(*, slow: bool = False) -> Probe:
    """The machine at hand; with ``slow``, torch is imported too, in a process of its own."""
    return LocalProbe(slow=slow)


def replay_probe(folder: Path) -> Probe:
    """The machine whose recorded outputs lie in ``folder``."""
    if not folder.is_dir():
        raise UsageProblem(
            f"{folder} is not a folder. --replay takes the folder that holds the recorded outputs of one machine,"
            " such as sysctl.txt or system_profiler_hardware.json."
        )
    return ReplayProbe(folder)


def require_recorded(folder: Path) -> None:
    """Nothing, where ``folder`` holds a recorded output.

    Raises:
        UsageProblem: there is none, so that everything would be unknown.
    """
    if not ReplayProbe(folder).files():
        raise UsageProblem(
            f"{folder} holds no file that --replay reads. The outputs of a machine go by names such as sysctl.txt,"
            " sw_vers.txt, system_profiler_hardware.json or proc_cpuinfo.txt; `metalmark doctor --bundle FOLDER`"
            " writes them."
        )


def run(argv: tuple[str, ...], limit_s: float) -> str | None:
    """What a command writes to stdout; None if it is missing or takes too long.

    The exit status does not count: sysctl fails when one of many names is unknown and still prints the others.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C", "LANG": "C"},
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            output, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)
    return output[:_LARGEST].decode("utf-8", errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command with all that it started: a grandchild that holds the pipe would block the reader."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _content(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return None


def _lines(patterns: tuple[str, ...], key_part: int) -> str | None:
    root = Path("/")
    paths = [path for pattern in patterns for path in sorted(root.glob(pattern.lstrip("/")))]
    contents = [(path.parts[key_part], _content(path)) for path in paths]
    # The device tree separates strings by NUL.
    lines = [f"{key}: {' '.join(text.replace(chr(0), ' ').split())}" for key, text in contents if text is not None]
    return "\n".join(lines) if lines else None
