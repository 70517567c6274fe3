"""Python's garbage collector in a worker: a walk over all that torch has loaded takes a third of a second.

So what is there already is set aside before something is timed, and everything is walked over once a
case, when it has ended.
"""

import gc


def set_aside() -> None:
    """Make later collections cheap: they walk over what is made from now on, and no longer over the rest."""
    gc.collect()
    gc.freeze()


def clean_up() -> None:
    """Collect all garbage, also among what was set aside, and set aside what stays."""
    gc.unfreeze()
    set_aside()
