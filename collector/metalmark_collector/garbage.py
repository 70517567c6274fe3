"""Python's garbage collector in a worker: a walk over all that torch has loaded takes a third of a second.

So that is set aside when a case begins, and what the case made is walked over when it begins to be
timed and when it has ended.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 1  # the generations of what was made since the last collection


def set_aside() -> None:
    """Leave what is there out of all later collections; nothing is walked over."""
    gc.freeze()


def collect() -> None:
    """Free what the case made and no longer uses, and make what it keeps old."""
    gc.collect()


@contextmanager
def held_off() -> Iterator[None]:
    """No collection in here; what was made since the last one is walked over before."""
    gc.collect(_YOUNG)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
