"""The function that both tools time in processes of their own: a checksum of one mebibyte, half a millisecond or more.

Started as ``_function.py NUMBER`` this is one round of ours: a fresh process, our measuring loop,
one JSON line. No torch, whose import would lengthen pyperf's twenty processes more than our three.
"""

import hashlib
import sys
from typing import Any, cast

import msgspec

from metalmark_collector.clock import SystemClock
from metalmark_collector.devices.base import Device, Work
from metalmark_collector.measure import Session, measure

SHARE_NS = 4_000_000_000  # of a case in a standard run; mostly the stop rule ends a round before
_DATA = bytes(range(256)) * 4096


def work() -> bytes:
    """One call."""
    return hashlib.sha256(_DATA).digest()


class Host:
    """The part of a device that the measuring loop needs, where nothing is enqueued."""

    kind = "cpu"

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def read_element(self, output: Any) -> float:
        """A byte of the result."""
        return float(output[-1])


def main(number: int) -> None:
    """One round, to standard output."""
    clock = SystemClock()
    session = Session(cast(Work, work), cast(Device, Host()), clock, end_ns=clock.now_ns() + SHARE_NS)
    sys.stdout.buffer.write(msgspec.json.encode(measure(session, number)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
