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
