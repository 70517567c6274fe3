"""A worker process as the parent sees it: started, asked, judged, ended."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import IO

from msgspec import Struct

from .channel import MESSAGES, ChannelClosed, Deadline, Receiver, send
from .messages import Beat, Done, Go, Hello, Task

FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"
PROGRAM = ("-P", "-m", "metalmark_collector.worker")
START_S = 300.0  # a Mac scans torch at its first start, which can take a minute
_KEPT_OUTPUT = 16_384
_CHUNK = 8192
_PARTING_S = 5.0


class Death(Struct, frozen=True, kw_only=True):
    """A worker that ended, or was ended, without an answer."""

    exit_code: int | None  # negative: the signal, as Python's subprocess gives it
    timed_out: bool
    stdout: str  # the last of what it printed
    stderr: str


class Worker:
    """One worker process for one device, in a session and process group of its own."""

    def __init__(
        self,
        kind: str,
        *,
        fallback: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
        program: Sequence[str] = PROGRAM,
    ) -> None:
        task_read, self._tasks = os.pipe()
        self._messages, message_write = os.pipe()
        with contextlib.ExitStack() as unstarted:
            for descriptor in (self._tasks, self._messages):
                unstarted.callback(os.close, descriptor)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, *program, kind, str(task_read), str(message_write)],
                    pass_fds=(task_read, message_write),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=_environment(fallback=fallback) | dict(variables),
                    start_new_session=True,  # Ctrl-C reaches the parent alone, and what a case leaves behind is found
                )
            finally:
                os.close(task_read)
                os.close(message_write)
            unstarted.pop_all()
        os.set_blocking(self._tasks, False)
        self._receiver = Receiver(self._messages, MESSAGES)
        self._stdout, self._stderr = _Tail(self._process.stdout), _Tail(self._process.stderr)
        self._death: Death | None = None
        self.printed = ""  # the end of what the last answered task wrote to standard error
        self.pid = self._process.pid

    def greet(self, limit_s: float = START_S) -> Hello | Death:
        """The worker's greeting, or how it died before it."""
        answer = self._receive(time.monotonic() + limit_s, lambda _: None)
        return answer if isinstance(answer, (Hello, Death)) else self._end(timed_out=False)

    def ask(self, task: Task, limit_s: float, on_beat: Callable[[Beat], None] = lambda _: None) -> Done | Death:
        """The answer to a task; a worker that dies, hangs or talks nonsense is ended and gives its death."""
        deadline = time.monotonic() + limit_s
        try:
            send(self._tasks, task)
        except (BrokenPipeError, BlockingIOError):
            return self._end(timed_out=False)
        answer = self._receive(deadline, on_beat)
        if isinstance(answer, Done):
            self.printed = self._stderr.until(task.mark)
        return answer if isinstance(answer, (Done, Death)) else self._end(timed_out=False)

    def close(self) -> None:
        """End the worker and everything that it started."""
        self._end(timed_out=False, patience_s=0.0)

    def _receive(self, deadline: float, on_beat: Callable[[Beat], None]) -> Hello | Done | Death:
        while True:
            try:
                message = self._receiver.receive(deadline)
            except Deadline:
                return self._end(timed_out=True)
            except ChannelClosed:
                return self._end(timed_out=False)
            if not isinstance(message, Beat):
                return message
            on_beat(message)
            # It may have just died, which the next reading tells, or never read: then it gets no more.
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                send(self._tasks, Go(samples=message.samples))

    def _end(self, *, timed_out: bool, patience_s: float = _PARTING_S) -> Death:
        """Wait shortly for a worker that is dying by itself, so that its own exit code is kept; then kill."""
        if self._death is not None:
            return self._death
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if timed_out else patience_s)
        code = self._process.poll()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for descriptor in (self._tasks, self._messages):
            os.close(descriptor)
        self._death = Death(
            exit_code=code, timed_out=timed_out, stdout=self._stdout.finish(), stderr=self._stderr.finish()
        )
        return self._death


def _environment(*, fallback: bool) -> dict[str, str]:
    """The person's own, except that operations go to the CPU only where that is recorded."""
    environment = {name: value for name, value in os.environ.items() if name != FALLBACK}
    return environment | ({FALLBACK: "1"} if fallback else {})


class _Tail:
    """Keeps the end of a stream; reads all of it, so that a chatty case never blocks."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None  # noqa: S101 - Popen was asked for a pipe
        self._stream = stream
        self._kept = bytearray()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> str:
        """The end of the output of a process that has ended."""
        self._thread.join(_PARTING_S)
        if not self._thread.is_alive():
            self._stream.close()
        return bytes(self._kept[-_KEPT_OUTPUT:]).decode("utf-8", "replace")

    def until(self, mark: str) -> str:
        """What was printed before ``mark``, which is taken out; all there is when it does not come."""
        wanted = f"\n{mark}\n".encode()
        with self._news:
            self._news.wait_for(lambda: wanted in self._kept, _PARTING_S)
            before, _, rest = bytes(self._kept).partition(wanted)
            self._kept = bytearray(rest)
        return before[-_KEPT_OUTPUT:].decode("utf-8", "replace")

    def _read(self) -> None:
        while piece := os.read(self._stream.fileno(), _CHUNK):
            with self._news:
                self._kept += piece
                if len(self._kept) > 2 * _KEPT_OUTPUT:
                    del self._kept[:-_KEPT_OUTPUT]
                self._news.notify_all()
