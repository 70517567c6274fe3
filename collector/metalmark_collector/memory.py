"""How much memory a case needs, is allowed, and took."""

import resource
import sys
import threading
from collections.abc import Callable
from typing import Any

from metalmark_db.record import Workload
from metalmark_db.words import Task

from .devices.base import Device

_SPARE = 1.25
_FLOAT = 4
_SAMPLING_S = 0.001


def needed_bytes(workload: Workload, kept_bytes_per_sample: int, copies: int) -> int:
    """Estimate of the memory of a case: 1.25 x (parameters x 4 x copies + batch x bytes kept a sample).

    ``copies`` of the weights are in memory: training keeps gradients and what its optimizer remembers as
    well. An operation moves what its bytes say.
    """
    weights = (workload.parameters or 0) * _FLOAT * copies
    moved = (workload.bytes_per_iteration or 0) if workload.task is Task.OPERATION else 0
    return int(_SPARE * (weights + workload.batch * kept_bytes_per_sample + moved))


def process_peak_bytes() -> int:
    """Most memory this process had resident so far; getrusage counts bytes on macOS and kilobytes on Linux."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_bytes(device: Device, iteration: Callable[[], Any]) -> tuple[int | None, str | None]:
    """Most device memory in use so far, and its source: a counter, or samples of one extra iteration."""
    counted = device.peak_memory()
    if counted is not None:
        return counted, "counter"
    if device.memory_allocated() is None:
        return None, None
    return _sampled(device, iteration), "sampled"


def _sampled(device: Device, iteration: Callable[[], Any]) -> int:
    largest, over = device.memory_allocated() or 0, threading.Event()

    def sample() -> None:
        nonlocal largest
        while not over.wait(_SAMPLING_S):
            largest = max(largest, device.memory_allocated() or 0)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        kept = iteration()  # the result lives while the last sample is taken
        device.synchronize()
        largest = max(largest, device.memory_allocated() or 0)
        del kept
    finally:
        over.set()
        sampler.join()
    return largest
