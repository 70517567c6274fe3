"""What a worker does with a task: build, check, measure; whatever happens becomes an answer."""

import gc
import traceback
from collections.abc import Callable

import msgspec

from metalmark_db.words import Outcome, Reason

from . import memory, state
from .clock import Clock
from .devices.base import Device
from .explain import explain
from .measure import OverBudget, Session, Unsynchronized, measure, per_call, sustain
from .messages import Done, Task
from .words import OUTCOMES
from .workloads import WORKLOADS
from .workloads.base import Prepared

Beat = Callable[[int], None]
PER_CALL_NS = 5_000_000  # below it the wait for the device is a good part of a call


def perform(task: Task, device: Device, clock: Clock, beat: Beat) -> Done:
    """The answer to a task, with what the case left different in this process."""
    before = state.snapshot(device)
    answer = _answer(task, device, clock, beat)
    return msgspec.structs.replace(answer, changed=state.changed(before, state.snapshot(device)))


def _answer(task: Task, device: Device, clock: Clock, beat: Beat) -> Done:
    flags: list[str] = []
    try:
        device.reset_peak()
        prepared = WORKLOADS[task.workload].build(device, task.precision, task.seed, task.size)
        try:
            return _measured(task, prepared, device, clock, beat, flags)
        finally:
            prepared.close()
    except OverBudget as over:
        return Done(outcome=Outcome.NOT_RUN, reason=Reason.BUDGET, detail=str(over))
    except Unsynchronized as fault:
        return Done(outcome=Outcome.ERROR, reason=fault.reason, detail=str(fault))
    except Exception:  # noqa: BLE001 - a case may raise anything, and its text decides the outcome
        text = traceback.format_exc()
        return Done(outcome=OUTCOMES[explain(text).kind], detail=text)
    finally:
        gc.collect()


def _measured(task: Task, prepared: Prepared, device: Device, clock: Clock, beat: Beat, flags: list[str]) -> Done:
    session = Session(prepared.step, device, clock, clock.now_ns() + int(task.share_s * 1e9), between=beat, flags=flags)
    samples = measure(session, task.round_number)
    iteration_ns = min(samples.block_ns) / samples.iterations
    calls = per_call(session) if iteration_ns < PER_CALL_NS else None
    peak, source = memory.peak_bytes(device, prepared.step)
    sustained = sustain(session, samples.iterations, task.sustain_s) if task.sustain_s else None
    return Done(
        outcome=Outcome.OK,
        flags=tuple(flags),
        settings=dict(prepared.settings),
        sustained=sustained,
        round=msgspec.structs.replace(
            samples,
            per_call_ns=calls,
            peak_memory_bytes=peak,
            peak_memory_source=source,
            process_peak_bytes=memory.process_peak_bytes(),
        ),
    )
