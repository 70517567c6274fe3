"""What a worker does with a task: build, check, measure; whatever happens becomes an answer."""

import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from metalmark_db.words import Mode, Outcome, Reason

from . import garbage, memory, state
from .clock import Clock
from .devices.base import Device
from .explain import explain
from .laps import BUILDING, CHECKING, COUNTING_MEMORY, SIGNING, Laps
from .measure import OverBudget, Session, Unsynchronized, measure, per_call, sustain
from .messages import Done, Task
from .plugins import KNOWN, add
from .words import OUTCOMES
from .workloads.base import Entry, Job, Prepared

Beat = Callable[[int], None]
PER_CALL_NS = 5_000_000  # below it the wait for the device is a good part of a call


def perform(task: Task, device: Device, clock: Clock, beat: Beat) -> Done:
    """The answer to a task, with what the case left different in this process."""
    garbage.set_aside()
    before = state.snapshot(device)
    laps = Laps(clock)
    answer = msgspec.structs.replace(_answer(task, device, clock, beat, laps), spent_s=laps.seconds)
    try:
        after = state.snapshot(device)
    except RuntimeError:  # a device that an error has left unusable
        return msgspec.structs.replace(answer, changed=("device",))
    return msgspec.structs.replace(answer, changed=state.changed(before, after))


def _answer(task: Task, device: Device, clock: Clock, beat: Beat, laps: Laps) -> Done:
    flags: list[str] = []
    try:
        if task.plugin is not None:
            add([Path(task.plugin)])
        entry = KNOWN[task.workload]
        job = entry.job(device, task.precision, task.seed, task.size, task.mode)
        device.reset_peak()
        prepared = entry.prepare(job)
        laps.lap(BUILDING)
        try:
            done = _measured(task, prepared, device, clock, beat, flags, laps)
            done = _compared(done, task, entry, job, prepared, laps)
        finally:
            prepared.close()
        return _signed(done, task, entry, job, laps)
    except OverBudget as over:
        return Done(outcome=Outcome.NOT_RUN, reason=Reason.BUDGET, detail=str(over), first_s=over.first_s)
    except Unsynchronized as fault:
        return Done(outcome=Outcome.ERROR, reason=fault.reason, detail=str(fault))
    except Exception:  # noqa: BLE001 - a case may raise anything, and its text decides the outcome
        text = traceback.format_exc()
        return Done(outcome=OUTCOMES[explain(text).kind], detail=text)
    finally:
        if task.mode is Mode.COMPILE:
            _forget_compiled()
        garbage.collect()


def _forget_compiled() -> None:
    """What was compiled holds the model and its memory; the files of it stay for the next round."""
    import torch  # noqa: PLC0415 - this module is imported by the parent's tests too

    torch.compiler.reset()


def _compared(done: Done, task: Task, entry: Entry, job: Job, prepared: Prepared, laps: Laps) -> Done:
    """The answer with its truth; after measuring, so that the first call that was timed was the first."""
    if task.references is None:
        return done
    from .truth import check_case  # noqa: PLC0415 - imports torch

    truth, wrong = check_case(
        entry,
        job,
        Path(task.references),
        prepared=prepared,
        brief=task.brief,
        time_s=task.reference_s,
        estimate_s=task.reference_estimate_s,
    )
    laps.lap(CHECKING)
    if wrong is None:
        return msgspec.structs.replace(done, truth=truth)
    return msgspec.structs.replace(done, outcome=Outcome.WRONG_RESULT, detail=wrong, truth=truth)


def _signed(done: Done, task: Task, entry: Entry, job: Job, laps: Laps) -> Done:
    """The answer with its work signature, which is counted once for all rounds, precisions and devices."""
    if task.references is None:
        return done
    from .signature import signature  # noqa: PLC0415 - imports torch

    signed = msgspec.structs.replace(done, signature=signature(entry, job, Path(task.references)))
    laps.lap(SIGNING)
    return signed


def _measured(
    task: Task, prepared: Prepared, device: Device, clock: Clock, beat: Beat, flags: list[str], laps: Laps
) -> Done:
    session = Session(
        prepared.step,
        device,
        clock,
        clock.now_ns() + int(task.share_s * 1e9),
        between=beat,
        flags=flags,
        compiles=task.mode is Mode.COMPILE,
        grace_ns=int(task.grace_s * 1e9),
        laps=laps,
    )
    samples = measure(session, task.round_number)
    iteration_ns = min(samples.block_ns) / samples.iterations
    calls = per_call(session) if iteration_ns < PER_CALL_NS else None
    peak, source = memory.peak_bytes(device, prepared.step)
    laps.lap(COUNTING_MEMORY)
    sustained = sustain(session, iteration_ns, task.sustain_s) if task.sustain_s else None
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
