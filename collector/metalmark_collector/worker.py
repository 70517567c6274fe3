"""The worker process: serves the cases of one device, one after the other.

Started as ``python -m metalmark_collector.worker KIND TASK_FD MESSAGE_FD``. Messages go through a
pipe of their own, so that nothing a case prints can be taken for one.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from . import devices, qos
from .channel import ORDERS, ChannelClosed, Deadline, Receiver, send
from .clock import SystemClock
from .greeting import hello
from .messages import Beat, Go, Order, Task
from .perform import perform

_BEAT_S = 1.0
_DRAWING_S = 1.0  # for the parent, at most
_SHOWING_S = 0.03  # for the terminal, which draws with the GPU under test after the parent has written
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_FIRST_TO_GO = "800"  # of 1000: when memory runs out, the kernel ends the worker and not its parent


def main(arguments: list[str]) -> None:
    """Say hello, then answer every task until the parent closes the pipe."""
    kind, tasks, messages = arguments[0], int(arguments[1]), int(arguments[2])
    _settle()
    device, clock = devices.make(kind), SystemClock()
    send(messages, hello(device, clock, user_initiated=qos.ask_user_initiated()))
    inbox = Receiver(tasks, ORDERS)
    beat = _heart(messages, inbox, os.getppid())
    for task in _tasks(inbox):
        answer = perform(task, device, clock, beat)
        # After this mark the parent knows that it has read all that the case printed.
        os.write(2, f"\n{task.mark}\n".encode())
        send(messages, answer)


def _tasks(inbox: Receiver[Order]) -> Iterator[Task]:
    with contextlib.suppress(ChannelClosed):
        while True:
            order = inbox.receive()
            if isinstance(order, Task):  # a ``Go`` that came too late has nothing to say
                yield order


def _heart(messages: int, inbox: Receiver[Order], parent: int) -> Callable[[int], None]:
    """Called between blocks: tells the parent at most once a second, and ends with it.

    The next block waits until the parent and its terminal have drawn, but not for a screen that was stopped.
    """
    last = time.monotonic()

    def beat(samples: int) -> None:
        nonlocal last
        if os.getppid() != parent:
            os._exit(1)  # the parent was killed: nobody will read what would be measured
        if time.monotonic() - last >= _BEAT_S:
            send(messages, Beat(samples=samples))
            with contextlib.suppress(Deadline, ChannelClosed):
                deadline = time.monotonic() + _DRAWING_S
                while inbox.receive(deadline) != Go(samples=samples):  # the answer to an earlier beat came too late
                    pass
                time.sleep(_SHOWING_S)
            last = time.monotonic()

    return beat


def _settle() -> None:
    """Nothing is downloaded, and this process goes first when memory runs out."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)  # elsewhere the heart notices between blocks
    with contextlib.suppress(OSError):  # Linux only
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1:])
