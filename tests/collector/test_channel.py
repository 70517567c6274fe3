"""Messages over a pipe, however they are cut."""

import os
import threading
import time
from collections.abc import Iterator

import msgspec
import pytest

from metalmark_collector import channel, worker
from metalmark_collector.channel import MESSAGES, ORDERS, ChannelClosed, Deadline, Receiver, send
from metalmark_collector.messages import Beat, Done, Go
from metalmark_db.words import Outcome

Pipe = tuple[int, int]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """A pipe's two ends."""
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        try:
            os.close(end)
        except OSError:
            continue


def soon() -> float:
    """A deadline that no message of these tests needs."""
    return time.monotonic() + 20


def test_two_messages_in_one_piece_are_two_messages(pipe: Pipe) -> None:
    read, write = pipe
    send(write, Beat(samples=1))
    send(write, Done(outcome=Outcome.OK))
    receiver = Receiver(read, MESSAGES)
    assert receiver.receive(soon()) == Beat(samples=1)
    assert receiver.receive(soon()) == Done(outcome=Outcome.OK)


def test_a_message_in_many_pieces_is_one_message(pipe: Pipe) -> None:
    read, write = pipe
    line = msgspec.json.encode(Done(outcome=Outcome.CRASH, detail="ü" * 2000)) + b"\n"

    def drip() -> None:
        for place in range(0, len(line), 97):
            os.write(write, line[place : place + 97])

    writer = threading.Thread(target=drip)
    writer.start()
    answer = Receiver(read, MESSAGES).receive(soon())
    writer.join()
    assert isinstance(answer, Done)
    assert answer.detail == "ü" * 2000


def test_a_message_larger_than_the_pipe_arrives_whole(pipe: Pipe) -> None:
    read, write = pipe
    writer = threading.Thread(target=send, args=(write, Done(outcome=Outcome.OK, detail="x" * 1_000_000)))
    writer.start()
    answer = Receiver(read, MESSAGES).receive(soon())
    writer.join()
    assert isinstance(answer, Done)
    assert len(answer.detail or "") == 1_000_000


def test_half_a_message_is_a_deadline_missed(pipe: Pipe) -> None:
    read, write = pipe
    os.write(write, b'{"type":"be')
    with pytest.raises(Deadline):
        Receiver(read, MESSAGES).receive(time.monotonic() + 0.1)


def test_a_closed_pipe_is_noticed_at_once(pipe: Pipe) -> None:
    read, write = pipe
    os.write(write, b'{"type":"be')
    os.close(write)
    with pytest.raises(ChannelClosed):
        Receiver(read, MESSAGES).receive(soon())


@pytest.mark.parametrize("line", [b"hello\n", b"{}\n", b'{"type":"done","outcome":"great"}\n', b"\xff\xfe\n", b"\n"])
def test_what_is_no_message_closes_the_channel(pipe: Pipe, line: bytes) -> None:
    read, write = pipe
    os.write(write, line)
    with pytest.raises(ChannelClosed, match="no message"):
        Receiver(read, MESSAGES).receive(soon())


def test_a_message_without_end_is_cut_off(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "LARGEST_MESSAGE", 1000)
    read, write = pipe
    os.write(write, b"x" * 5000)
    with pytest.raises(ChannelClosed, match="no end"):
        Receiver(read, MESSAGES).receive(soon())


@pytest.fixture
def heart(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Thread, int]]:
    """A worker's beat, started and waiting for the parent, and where the parent's orders go."""
    monkeypatch.setattr(worker, "_BEAT_S", 0.0)
    (_, messages), (inbox, orders) = (ends := os.pipe()), os.pipe()
    beat = worker._heart(messages, Receiver(inbox, ORDERS), os.getppid())
    yield threading.Thread(target=beat, args=(3,)), orders
    for end in (*ends, inbox, orders):
        os.close(end)


def test_the_next_block_waits_until_the_parent_has_drawn(heart: tuple[threading.Thread, int]) -> None:
    beating, orders = heart
    beating.start()
    beating.join(0.3)
    assert beating.is_alive()
    send(orders, Go(samples=1))  # the answer to an earlier beat, which came too late
    beating.join(0.2)
    assert beating.is_alive()
    send(orders, Go(samples=3))
    beating.join(0.5)
    assert not beating.is_alive()


def test_a_screen_that_was_stopped_stops_no_measuring(heart: tuple[threading.Thread, int]) -> None:
    beating, _ = heart
    beating.start()
    beating.join(5)
    assert not beating.is_alive()
