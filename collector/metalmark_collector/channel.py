"""Lines of JSON over a pipe, read with a deadline and without spinning."""

import os
import select
import time

import msgspec

from .messages import Message, Task

LARGEST_MESSAGE = 4 * 2**20
_CHUNK = 65536


class ChannelClosed(Exception):
    """The other end is gone; nothing more will come."""


class Deadline(Exception):
    """The time that the caller allowed has passed without a whole message."""


class Receiver:
    """Messages of a worker, one after the other, however they are cut into pieces."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._decoder = msgspec.json.Decoder(Message)

    def receive(self, deadline: float) -> Message:
        """The next message; blocks until it is whole or ``time.monotonic()`` reaches ``deadline``.

        Raises:
            Deadline: the time has passed.
            ChannelClosed: the worker closed its end, or sent what is no message.
        """
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                try:
                    return self._decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise ChannelClosed(f"the worker sent something that is no message: {error}") from error
            self._wait(deadline)
            piece = os.read(self._descriptor, _CHUNK)
            if not piece:
                raise ChannelClosed("the worker closed its pipe")
            self._buffer += piece
            if len(self._buffer) > LARGEST_MESSAGE and b"\n" not in piece:
                raise ChannelClosed("the worker's message has no end")

    def _wait(self, deadline: float) -> None:
        poller = select.poll()  # not select(): a process may have more than 1,024 descriptors
        poller.register(self._descriptor, select.POLLIN | select.POLLHUP)
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            raise Deadline


def send(descriptor: int, message: Message | Task) -> None:
    """Write one whole message; raises BrokenPipeError where nobody reads."""
    line = memoryview(msgspec.json.encode(message) + b"\n")
    while line:
        line = line[os.write(descriptor, line) :]
