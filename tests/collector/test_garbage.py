"""Garbage is collected between cases, and what torch has loaded is walked over once a case only."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from metalmark_collector import garbage


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


def test_cleaning_up_frees_what_was_set_aside_while_it_was_in_use() -> None:
    ring = Ring()
    garbage.set_aside()
    gone = weakref.ref(ring)
    del ring
    gc.collect()
    assert gone() is not None
    garbage.clean_up()
    assert gone() is None
    assert gc.get_freeze_count() > 10_000
