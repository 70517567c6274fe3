"""Garbage is collected between cases, and what torch has loaded is never walked over."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from metalmark_collector import garbage
from metalmark_collector.devices.fake import FakeDevice, steady
from metalmark_collector.messages import Task
from metalmark_collector.perform import perform
from metalmark_db.words import Mode, Outcome, Precision


class Ring:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _collector_as_it_was() -> Iterator[None]:
    """What these tests set aside is given back."""
    yield
    gc.unfreeze()


def test_what_is_set_aside_is_no_longer_walked_over() -> None:
    garbage.set_aside()
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < 5_000


def test_garbage_that_a_case_made_is_freed_when_it_has_ended() -> None:
    garbage.set_aside()
    ring = Ring()
    garbage.collect()  # as when its timing begins: what is in use becomes old
    gone = weakref.ref(ring)
    del ring
    with garbage.held_off():
        pass
    assert gone() is not None
    garbage.collect()
    assert gone() is None


def test_before_a_block_what_the_last_one_left_is_freed_and_in_it_nothing_is() -> None:
    left = weakref.ref(Ring())
    assert left() is not None
    with garbage.held_off():
        assert left() is None
        assert not gc.isenabled()
    assert gc.isenabled()


def test_all_the_time_of_a_case_what_was_there_before_is_set_aside() -> None:
    frozen: list[int] = []
    device = FakeDevice(script=steady(20_000_000))
    task = Task(
        workload="matmul-2048",
        precision=Precision.FP32,
        seed=1,
        round_number=0,
        share_s=3.0,
        mode=Mode.EAGER,
        size="tiny",
        mark="mark",
    )
    answer = perform(task, device, device.clock, lambda _: frozen.append(gc.get_freeze_count()))
    assert answer.outcome is Outcome.OK
    assert min(frozen) > 10_000
