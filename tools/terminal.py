"""Runs programs for the person at the terminal: little is shown, unless something fails."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"

# What would reach into .venv from outside, and what make tells a make that is called inside it.
STRANGERS = {"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
STRANGERS |= {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "ARGS"}

interrupted = threading.Event()


def catch_interrupts() -> None:
    """Leaves Ctrl-C to the program that runs: the terminal sends it there too, and that one tidies up and decides."""
    signal.signal(signal.SIGINT, lambda *_: interrupted.set())


def stop(paragraph: str, code: int = 1) -> NoReturn:
    """Ends with a paragraph for the person at the terminal; after Ctrl-C there is nothing to explain."""
    if not interrupted.is_set():
        print(paragraph.rstrip(), file=sys.stderr)
    raise SystemExit(code)


def program(name: str) -> str:
    """The path of a program of .venv."""
    return str(VENV / "bin" / name)


def environment(**more: str) -> dict[str, str]:
    """The environment of every program started here: the user's own, less the strangers above."""
    kept = {name: value for name, value in os.environ.items() if name not in STRANGERS}
    return {**kept, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **more}


def call(command: Sequence[str], **more: str) -> int:
    """Runs a program at this terminal, with more variables in its environment, and gives its exit code."""
    with _started(command, env=environment(**more)) as child:
        return _exit_code(child)


def must(command: Sequence[str], **more: str) -> None:
    """Runs a program at this terminal and ends with its exit code where that is not 0."""
    if code := call(command, **more):
        raise SystemExit(code)


def quietly(command: Sequence[str]) -> int:
    """Runs a long program behind one moving line, shows all that it said only when it fails, gives its exit code."""
    began, said = time.monotonic(), b""
    pipe, silence = subprocess.PIPE, subprocess.DEVNULL
    with _started(command, env=environment(), stdin=silence, stdout=pipe, stderr=subprocess.STDOUT) as child:
        for chunk in _chunks(child):
            said += chunk
            last = said.decode(errors="replace").rstrip().rpartition("\n")[2].strip()
            _moving_line(f"{time.monotonic() - began:5.0f} s  {last}")
        code = _exit_code(child)
    _moving_line("")
    if code and not interrupted.is_set():
        print(said.decode(errors="replace"), file=sys.stderr)
    return code


@contextmanager
def _started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A program that runs in the checkout, and to which a request to end (SIGTERM) is handed on."""
    with subprocess.Popen(command, cwd=ROOT, **options) as child:
        before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            yield child
        finally:
            signal.signal(signal.SIGTERM, before)


def _exit_code(child: subprocess.Popen[bytes]) -> int:
    """Waits for the end; a child ended by a signal has the exit code that a shell would give it."""
    code = child.wait()
    return 128 - code if code < 0 else code


def _chunks(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What a child writes, as it comes; an empty piece each second while it is silent, so that the clock moves on."""
    output = child.stdout.fileno() if child.stdout else -1
    while True:
        if not select.select([output], [], [], 1.0)[0]:
            yield b""
        elif chunk := os.read(output, 65536):
            yield chunk
        else:
            return


def _moving_line(text: str) -> None:
    """Shows a line in place of the one before it, on a terminal only."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{text[:width]}", end="", file=sys.stderr, flush=True)
