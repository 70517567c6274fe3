"""What a case may not change in the worker that serves the next one."""

import gc
import multiprocessing
import os
import threading
from typing import Any

from .devices.base import Device

MEMORY_SHARE = 0.05
OF_A_COMPILER = frozenset({"live threads", "children"})  # what torch.compile leaves, and only its like come after it
MEMORY_BYTES = 2**20  # of change that is never worth a new process


def snapshot(device: Device) -> dict[str, Any]:
    """The state of this process that speed and precision depend on, by name; cheap to read.

    The switches of precision and determinism are left out: every case sets all of them (``settings``).
    """
    import torch  # noqa: PLC0415 - this module is imported by the parent's tests too

    gc.collect()
    device.empty_cache()
    return {
        "threads of torch": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "grad mode": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")),
        "determinism": torch.are_deterministic_algorithms_enabled(),
        "niceness": os.getpriority(os.PRIO_PROCESS, 0),
        "live threads": frozenset(threading.enumerate()),
        "children": frozenset(child.pid for child in multiprocessing.active_children()) | _children(),
        "current folder": _folder(),
        "device memory": device.memory_allocated(),
    }


def changed(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, ...]:
    """Names of what a case left different; device memory may differ by 5 %."""
    return tuple(name for name, was in before.items() if not _same(name, was, after[name]))


def _same(name: str, was: Any, now: Any) -> bool:
    if name == "device memory" and was is not None and now is not None:
        return bool(abs(now - was) <= max(MEMORY_SHARE * was, MEMORY_BYTES))
    if name in ("live threads", "children"):
        return bool(now <= was)  # one that ended disturbs nobody
    return bool(was == now)


def _children() -> frozenset[int]:
    """Direct children on Linux, where they can be read without a library; elsewhere unknown and empty."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123 - plain
            return frozenset(map(int, file.read().split()))
    except (OSError, ValueError):
        return frozenset()


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a text to compare, nothing to do with it
    except OSError:
        return None
