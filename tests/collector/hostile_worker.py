"""A real worker whose workloads misbehave: started by the tests of process and runner.

Called as ``hostile_worker.py TRICKS KIND TASK_FD MESSAGE_FD``; TRICKS is JSON, workload -> trick.
"""

import ctypes
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from metalmark_collector import perform, worker
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Prepared


def abort() -> Any:
    """Die as a failed assertion in Metal does."""
    os.write(2, b"-[MPSNDArray initWithDevice:]: failed assertion `Error: NDArray dimension length > INT_MAX'\n")
    os.abort()


def segfault() -> Any:
    """Read where nothing is."""
    ctypes.string_at(0)


def killed() -> Any:
    """Die as by the system's out-of-memory killer."""
    os.kill(os.getpid(), signal.SIGKILL)


def vanish() -> Any:
    """End with success and without a word."""
    os._exit(0)


def hang() -> Any:
    """Never come back, and ignore being asked to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


def out_of_memory() -> Any:
    """What torch raises when the device is full."""
    raise torch.OutOfMemoryError(
        "MPS backend out of memory (MPS allocated: 9.00 GiB, other allocations: 1.00 MiB, max allowed: 9.07 GiB). "
        "Tried to allocate 1.00 GiB on private pool."
    )


def eat() -> Any:
    """Take memory until there is no more, within a limit that leaves the machine alone."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) if sys.platform == "linux" else 0
    if pages:
        most = pages * os.sysconf("SC_PAGE_SIZE") + 2**29
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    held = []
    while True:
        held.append(torch.ones(2**24))


def unsupported() -> Any:
    """What torch raises for an operation that the backend lacks."""
    raise NotImplementedError(
        "The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS device."
    )


def error() -> Any:
    """Some error that nobody foresaw, with a path of the person in it."""
    raise ValueError(f"cannot read {os.path.expanduser('~')}/secret/model.py")  # noqa: PTH111 - the text of an error


def confess() -> Any:
    """Raise an error that says all that CONFESSION holds."""
    raise RuntimeError(os.environ["CONFESSION"])


def confess_and_die() -> Any:
    """Print it all and die, as a failed assertion does."""
    os.write(2, os.environ["CONFESSION"].encode())
    os.abort()


def confess_and_work() -> Any:
    """Print it all, in a warning of an operation that fell back too, and then work."""
    os.write(2, os.environ["CONFESSION"].encode())
    return torch.ones(1)


def flood() -> Any:
    """Write 200 MB to standard output and then work."""
    for _ in range(200):
        os.write(1, b"x" * 1_000_000)
    return torch.ones(1)


def forge() -> Any:
    """Print what looks like a message of the protocol, and then work."""
    os.write(1, b'{"type":"done","outcome":"crash"}\n')
    return torch.ones(1)


def orphan() -> Any:
    """Leave a child behind that would live for an hour, and then work."""
    child = subprocess.Popen(["sleep", "3600"])
    with open(os.environ["ORPHAN_FILE"], "w") as file:  # noqa: PTH123 - as short as it gets
        file.write(str(child.pid))
    return torch.ones(1)


def work() -> Any:
    """Behave."""
    time.sleep(0.002)
    return torch.ones(1)


def slow() -> Any:
    """Behave, but take a second."""
    time.sleep(1.0)
    return torch.ones(1)


TRICKS = {
    trick.__name__: trick
    for trick in (
        abort, segfault, killed, vanish, hang, out_of_memory, eat, unsupported, error, confess, confess_and_die,
        confess_and_work, flood, forge, orphan, work, slow,
    )
}  # fmt: skip


def tricked(entry: Entry, name: str) -> Entry:
    """The entry with the trick as its iteration; noisy tricks play it once, when they are built."""
    trick = TRICKS[name]

    def builder(_job: Job) -> Prepared:
        step = trick
        if name in ("confess_and_work", "flood", "forge", "orphan"):
            trick()
            step = work
        return Prepared(step=step, output=step, close=lambda: None)

    return dataclasses.replace(entry, builder=builder)


if __name__ == "__main__":
    wanted: dict[str, str] = json.loads(sys.argv[1])
    tricky = {name: tricked(entry, wanted.get(name, "work")) for name, entry in WORKLOADS.items()}
    vars(perform)["KNOWN"] = tricky
    worker.main(sys.argv[2:])
