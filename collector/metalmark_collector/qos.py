"""The priority that macOS gives a thread: without asking, long work may end up on the efficiency cores."""

import ctypes
import platform
from typing import Any

_USER_INITIATED = 0x19  # QOS_CLASS_USER_INITIATED of <sys/qos.h>


def ask_user_initiated(system: str | None = None, library: Any = None) -> bool | None:
    """Whether the calling thread got the user-initiated QoS class; None where there are no such classes.

    Never raises: a priority that is not to be had is a fact to record, no reason not to measure.
    """
    if (system or platform.system()) != "Darwin":
        return None
    try:
        calls = ctypes.CDLL(None) if library is None else library  # libSystem is part of every process
        refused = calls.pthread_set_qos_class_self_np(_USER_INITIATED, 0)
        return bool(refused == 0 and calls.qos_class_self() == _USER_INITIATED)
    except (AttributeError, OSError, ctypes.ArgumentError):
        return False


# As <sys/qos.h> numbers them, with the words of Apple's documentation.
_CLASSES = {
    0x21: "user-interactive",
    _USER_INITIATED: "user-initiated",
    0x15: "default",
    0x11: "utility",
    0x09: "background",
    0x00: "unspecified",
}
_DARWIN_PROCESS = 4  # PRIO_DARWIN_PROCESS of <sys/resource.h>: whether the whole process was put to the background


def current(system: str | None = None, library: Any = None) -> str | None:
    """The QoS class of the calling thread; None where there are no such classes, or it is not to be had."""
    if (system or platform.system()) != "Darwin":
        return None
    try:
        calls = ctypes.CDLL(None) if library is None else library
        if calls.getpriority(_DARWIN_PROCESS, 0) == 1:
            return "background"
        return _CLASSES.get(calls.qos_class_self())
    except (AttributeError, OSError, ctypes.ArgumentError):
        return None
