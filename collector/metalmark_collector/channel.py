"""Lines of JSON over a pipe, read with a deadline and without spinning."""

import math
import os
import select
import time
from typing import Generic, TypeVar

import msgspec

from .messages import Message, Order

MESSAGES: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)  # what a parent receives
ORDERS: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)  # what a worker receives
LARGEST_MESSAGE = 4 * 2**20
_CHUNK = 65536

M = TypeVar("M")


class ChannelClosed(Exception):
    """The other end is gone; nothing more will come."""


class Deadline(Exception):
    """The time that the caller allowed has passed without a whole message."""


class Receiver(Generic[M]):
    """Messages of one side, one after the other, however they are cut into pieces."""

    def __init__(self, descriptor: int, decoder: msgspec.json.Decoder[M]) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._decoder = decoder

    def receive(self, deadline: float = math.inf) -> M:
        """The next message; blocks until it is whole or ``time.monotonic()`` reaches ``deadline``, if there is one.

        Raises:
            Deadline: the time has passed.
            ChannelClosed: the other side closed its end, or sent what is no message.
        """
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                try:
                    return self._decoder.decode(line)
                except msgspec.DecodeError as error:
                    raise ChannelClosed(f"it sent something that is no message: {error}") from error
            self._wait(deadline)
            piece = os.read(self._descriptor, _CHUNK)
            if not piece:
                raise ChannelClosed("it closed its pipe")
            self._buffer += piece
            if len(self._buffer) > LARGEST_MESSAGE and b"\n" not in piece:
                raise ChannelClosed("its message has no end")

    def _wait(self, deadline: float) -> None:
        poller = select.poll()  # not select(): a process may have more than 1,024 descriptors
        poller.register(self._descriptor, select.POLLIN | select.POLLHUP)
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(None if math.isinf(left) else left * 1000):
            raise Deadline


def send(descriptor: int, message: Message | Order) -> None:
    """Write one whole message; raises BrokenPipeError where nobody reads."""
    line = memoryview(msgspec.json.encode(message) + b"\n")
    while line:
        line = line[os.write(descriptor, line) :]
