"""A second process that makes documents ready while the first one writes them: ``python -m metalmark_db.ahead``.

Not a pool of Python's: that would run the caller's own main module once more, whatever it is. What goes through the
pipes is the length of a message in eight bytes, then the message: documents there, answers back in the same order.
"""

import contextlib
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import IO

import msgspec

from .errors import DataProblem
from .prepare import Prepared, Source, made_ready

_WAITING = 16  # documents between reading and writing, at most: all that is held in memory
_LENGTH = struct.Struct("<Q")
_READY = b"\0"
_REFUSED = b"\1"
_AGAIN_S = 0.2

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Prepared).decode

_Waiting = tuple[str, DataProblem | None] | BaseException | None  # a name; None after the last one


def ahead(documents: Source) -> Iterator[tuple[str, Prepared | DataProblem]]:
    """Each document made ready, in order.

    Raises:
        DataProblem: the second process died; what was taken in by then stays.
    """
    words = [sys.executable, "-c", "from metalmark_db.ahead import work; work()"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # errors go where ours go
    assert child.stdin is not None  # noqa: S101 - both were asked for
    assert child.stdout is not None  # noqa: S101
    names: queue.Queue[_Waiting] = queue.Queue(_WAITING)
    stop = threading.Event()
    feeder = threading.Thread(target=_feed, args=(documents, child.stdin, names, stop), daemon=True)
    feeder.start()
    try:
        while (waiting := names.get()) is not None:
            if isinstance(waiting, BaseException):
                raise waiting
            name, problem = waiting
            yield name, _answer(child.stdout) if problem is None else problem
    finally:
        stop.set()
        child.kill()
        child.wait()
        feeder.join()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _feed(documents: Source, pipe: IO[bytes], names: "queue.Queue[_Waiting]", stop: threading.Event) -> None:
    """Hand documents to the second process, in a thread, since it answers while it is being asked."""
    try:
        for name, data in documents:
            problem = data if isinstance(data, DataProblem) else None
            if not _put(names, (name, problem), stop):
                return
            if not isinstance(data, DataProblem):
                _write(pipe, data)
        _put(names, None, stop)
    except BrokenPipeError:
        _put(names, None, stop)  # the reader of its answers tells of its death
    except BaseException as error:  # noqa: BLE001 - the other thread raises it
        _put(names, error, stop)


def _put(names: "queue.Queue[_Waiting]", waiting: _Waiting, stop: threading.Event) -> bool:
    while not stop.is_set():
        with contextlib.suppress(queue.Full):
            names.put(waiting, timeout=_AGAIN_S)
            return True
    return False


def _answer(pipe: IO[bytes]) -> Prepared | DataProblem:
    answer = _read(pipe)
    if answer is None:
        raise DataProblem("The process that reads documents died. Run the command again: it goes on where this ended.")
    return DataProblem(answer[1:].decode()) if answer[:1] == _REFUSED else _decode(answer[1:])


def _write(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)) + message)
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes | None:
    head = pipe.read(_LENGTH.size)
    return pipe.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else None


def work() -> None:
    """Answer each document on standard input, until it ends; the second process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the first one's affair, which ends this one
    with contextlib.suppress(BrokenPipeError):
        while (data := _read(sys.stdin.buffer)) is not None:
            _write(sys.stdout.buffer, _answer_to(data))


def _answer_to(data: bytes) -> bytes:
    found = made_ready(data)
    if not isinstance(found, DataProblem):
        try:
            return _READY + _encode(found)
        except (OverflowError, ValueError, TypeError) as error:  # a number that no message holds
            found = DataProblem(f"it holds what no table takes: {error}")
    return _REFUSED + str(found).encode("utf-8", "replace")
