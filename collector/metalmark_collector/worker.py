"""The worker process: serves the cases of one device, one after the other.

Started as ``python -m metalmark_collector.worker KIND TASK_FD MESSAGE_FD``. Messages go through a
pipe of their own, so that nothing a case prints can be taken for one.
"""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator

import msgspec

from metalmark_db.words import Outcome, Reason

from . import devices
from .channel import send
from .clock import Clock, SystemClock
from .devices.base import Device
from .explain import explain
from .measure import OverBudget, Session, Unsynchronized, measure, time_block
from .messages import Beat, Done, Hello, Task
from .words import OUTCOMES
from .workloads import WORKLOADS

_CALIBRATION_SIZE = 1024
_PROBE_SIZE = 4096
_BEAT_S = 1.0


def main(arguments: list[str]) -> None:
    """Say hello, then answer every task until the parent closes the pipe."""
    kind, tasks, messages = arguments[0], int(arguments[1]), int(arguments[2])
    _quiet_libraries()
    device, clock = devices.make(kind), SystemClock()
    send(messages, hello(device, clock))
    beat = _heart(messages, os.getppid())
    for task in _tasks(tasks):
        send(messages, perform(task, device, clock, beat))


def perform(task: Task, device: Device, clock: Clock, beat: Callable[[int], None]) -> Done:
    """The answer to a task; whatever a case raises becomes an outcome."""
    flags: list[str] = []
    try:
        prepared = WORKLOADS[task.workload].build(device, task.precision, task.seed, task.size)
        try:
            end_ns = clock.now_ns() + int(task.share_s * 1e9)
            session = Session(prepared.step, device, clock, end_ns, between=beat, flags=flags)
            samples = measure(session, task.round_number)
        finally:
            prepared.close()
        return Done(outcome=Outcome.OK, round=samples, flags=tuple(flags))
    except OverBudget as over:
        return Done(outcome=Outcome.NOT_RUN, reason=Reason.BUDGET, detail=str(over))
    except Unsynchronized as fault:
        return Done(outcome=Outcome.ERROR, reason=fault.reason, detail=str(fault))
    except Exception:  # noqa: BLE001 - a case may raise anything, and its text decides the outcome
        text = traceback.format_exc()
        return Done(outcome=OUTCOMES[explain(text).kind], detail=text)
    finally:
        gc.collect()
        device.empty_cache()


def hello(device: Device, clock: Clock) -> Hello:
    """What this worker is: torch's versions, and how fast the device is on a small matmul."""
    import torch  # noqa: PLC0415 - the parent imports this module's neighbours without torch

    unusable = device.unusable()
    rate, probe = (None, (None, None)) if unusable else (_rate(device, clock), _probe(device, clock))
    return Hello(
        torch_version=str(torch.__version__),
        torch_git=getattr(torch.version, "git_version", None),
        torch_debug=getattr(torch.version, "debug", None),
        threads=torch.get_num_threads(),
        unusable=unusable,
        chip_name=device.chip_name(),
        flops_per_s=rate,
        probe_enqueue_ns=probe[0],
        probe_synchronized_ns=probe[1],
    )


def _rate(device: Device, clock: Clock) -> float:
    """FLOP/s of a small fp32 matmul, the better of two blocks."""
    session = _matmul(device, clock, _CALIBRATION_SIZE)
    time_block(session, 1)
    best = min(time_block(session, 3).elapsed_ns for _ in range(2))
    return float(3 * 2 * _CALIBRATION_SIZE**3 / (best / 1e9))


def _probe(device: Device, clock: Clock) -> tuple[int | None, int | None]:
    """Time to enqueue a large matmul, and to finish it; None on the CPU, which does not enqueue."""
    if device.kind == "cpu":
        return None, None
    session = _matmul(device, clock, _PROBE_SIZE)
    time_block(session, 1)
    block = time_block(session, 1)
    return block.enqueue_ns, block.elapsed_ns


def _matmul(device: Device, clock: Clock, size: int) -> Session:
    import torch  # noqa: PLC0415 - see hello

    generator = torch.Generator().manual_seed(0)
    left = torch.randn(size, size, generator=generator).to(device.torch_device())
    return Session(lambda: left @ left, device, clock, end_ns=0)


def _tasks(descriptor: int) -> Iterator[Task]:
    decoder = msgspec.json.Decoder(Task)
    with os.fdopen(descriptor, "rb") as lines:
        for line in lines:
            yield decoder.decode(line)


def _heart(messages: int, parent: int) -> Callable[[int], None]:
    """Called between blocks: tells the parent at most once a second, and ends with it."""
    last = time.monotonic()

    def beat(samples: int) -> None:
        nonlocal last
        if os.getppid() != parent:
            os._exit(1)  # the parent was killed: nobody will read what would be measured
        if time.monotonic() - last >= _BEAT_S:
            last = time.monotonic()
            send(messages, Beat(samples=samples))

    return beat


def _quiet_libraries() -> None:
    """Nothing is downloaded, whatever a model library would like to look up."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"


if __name__ == "__main__":
    main(sys.argv[1:])
