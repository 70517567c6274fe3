"""How the cases of a fleet end: most causes lie in the chip, its memory, macOS or torch, so coverage can tell them."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from _fleet_computers import Computer
from metalmark_collector import memory
from metalmark_collector.compilers import why_not
from metalmark_collector.plan import Planned
from metalmark_collector.plugins import KNOWN
from metalmark_db.plausible import Kind
from metalmark_db.words import Mode, Outcome, Precision, Reason, Task

_GIB = 2**30
_HALF_BRAIN = (Precision.BF16, Precision.AMP_BF16)
# What Metal recommends to stay under, as shares of the memory of small and of large Macs.
_WORKING_SET, _LARGE_WORKING_SET, _LARGE_GIB = 2 / 3, 3 / 4, 36
_TAKES = 1.45  # of what training is estimated to need is taken in the end, for its optimizer's copies and caches
_MOST_S = 60.0  # that one case may have
_FEWEST = 3  # iterations: first call, calibration, one sample
# Operations that came to Metal late: workload, the first release of torch that has them there, their name.
_LATE = (
    ("gpt-baby", 9, "aten::_index_put_impl_"),
    ("llama-1b", 8, "aten::isin.Tensor_Tensor_out"),
    ("bert-base-train", 7, "aten::index.Tensor_out"),
)
_FALLBACK_SLOWS = 6.0
WRONG = 12.5  # times the error that is allowed, where a result is wrong


@dataclass(frozen=True, kw_only=True)
class Try:
    """A case that is tried on a computer."""

    case: Planned
    computer: Computer
    release: int  # of torch
    macos: int | None  # 26 of 26.4.1
    limit_bytes: int
    seconds: float  # of an iteration, where nothing is in the way


@dataclass(frozen=True)
class Ended:
    """How a case ended, and which operations ran on the CPU instead."""

    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    fallback_ops: tuple[str, ...] = ()
    slows: float = 1.0  # how many times as long it took


OK = Ended(Outcome.OK)


@cache
def needed_bytes(workload: str) -> int:
    """The engine's estimate of the memory that a workload needs."""
    entry = KNOWN[workload]
    return memory.needed_bytes(entry.facts, entry.kept_bytes_per_sample, entry.copies)


def limit_bytes(device: str, computer: Computer, available_bytes: int) -> int:
    """Memory that a device recommends to stay under."""
    machine = computer.machine
    if device == "cpu":
        return available_bytes
    if device == "cuda":
        return int((machine.gpu_memory_bytes or 0) * 0.9896)
    whole = machine.memory_bytes or 0
    return int(whole * (_WORKING_SET if whole < _LARGE_GIB * _GIB else _LARGE_WORKING_SET))


def ended(one: Try, chance: random.Random) -> Iterator[tuple[Planned, Ended]]:
    """How the case ended; a second time, with what Metal lacks run on the CPU, where that was tried."""
    case = one.case
    found = next((end for cause in _CAUSES if (end := cause(one)) is not None), None) or _bad_luck(one, chance)
    yield case, found
    if found.outcome is Outcome.UNSUPPORTED_OP and case.device == "mps":
        again = Planned(
            workload=case.workload, device=case.device, precision=case.precision, mode=case.mode, fallback=True
        )
        ops = tuple(op for name, _, op in _LATE if case.workload.startswith(name))
        helps = _without_bfloat(one) is None
        yield again, Ended(Outcome.OK, fallback_ops=ops, slows=_FALLBACK_SLOWS) if helps else found


def _no_compiler(one: Try) -> Ended | None:
    if one.case.mode is not Mode.COMPILE or one.computer.compiler:
        return None
    return Ended(Outcome.NOT_RUN, Reason.NO_COMPILER, why_not(None, system="darwin"))


def _too_big(one: Try) -> Ended | None:
    needed = needed_bytes(one.case.workload)
    if needed <= one.limit_bytes:
        return None
    told = f"it needs about {needed / _GIB:.1f} GiB, and {one.limit_bytes / _GIB:.1f} GiB may be used; --force tries it"
    return Ended(Outcome.NOT_RUN, Reason.MEMORY_ESTIMATE, told)


def _too_slow(one: Try) -> Ended | None:
    needed_s = _FEWEST * one.seconds
    if needed_s <= _MOST_S:
        return None
    told = (
        f"one iteration was estimated to take {one.seconds:.1f} s and the case {needed_s:.0f} s, "
        f"and it could have {_MOST_S:.0f} s"
    )
    return Ended(Outcome.NOT_RUN, Reason.BUDGET, told)


def _without_bfloat(one: Try) -> Ended | None:
    if one.case.device != "mps" or one.case.precision not in _HALF_BRAIN or (one.macos or 0) > 13:
        return None
    told = "TypeError: BFloat16 is not supported on MPS"
    return Ended(Outcome.UNSUPPORTED_OP, detail=_trace(told))


def _late_operation(one: Try) -> Ended | None:
    name, release = one.case.workload, one.release
    op = next((op for start, first, op in _LATE if name.startswith(start) and release < first), None)
    if op is None or one.case.device != "mps":
        return None
    told = (
        f"NotImplementedError: The operator '{op}' is not currently implemented for the MPS device. If you want this "
        "op to be considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and "
        "mention use-case, that resulted in missing op as well as commit hash. As a temporary fix, you can set the "
        "environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this "
        "will be slower than running natively on MPS."
    )
    return Ended(Outcome.UNSUPPORTED_OP, detail=_trace(told))


def _no_metal_compiler(one: Try) -> Ended | None:
    if one.case.mode is not Mode.COMPILE or one.case.device != "mps" or one.release > 6:
        return None
    told = "torch._inductor.exc.InductorError: SyntaxError: failed to compile \nprogram_source:41:17: error: use of"
    return Ended(Outcome.ERROR, detail=_trace(f"{told} undeclared identifier 'tmp3'"))


def _out_of_memory(one: Try) -> Ended | None:
    case = one.case
    needed = needed_bytes(case.workload) * (_TAKES if case.facts.task is Task.TRAIN else 1.1)
    if case.device == "cpu" or needed <= one.limit_bytes:
        return None
    if case.device == "cuda":
        told = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {needed / 9 / _GIB:.2f} GiB."
    else:
        told = (
            f"RuntimeError: MPS backend out of memory (MPS allocated: {one.limit_bytes * 1.6 / _GIB:.2f} GiB, other "
            f"allocations: 312.45 MiB, max allowed: {one.limit_bytes * 1.7 / _GIB:.2f} GiB). Tried to allocate "
            f"{needed / 9 / _GIB:.2f} GiB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper "
            "limit for memory allocations (may cause system failure)."
        )
    return Ended(Outcome.OUT_OF_MEMORY, detail=_trace(told))


def _aborted(one: Try) -> Ended | None:
    """MPSGraph of one macOS aborts under one release of torch."""
    case = one.case
    models = KNOWN[case.workload].bound is Kind.MODEL and case.precision in _HALF_BRAIN
    if case.device != "mps" or not models or (one.release, one.macos) != (13, 27):
        return None
    told = (
        "The worker process ended without a message (signal 6).\n.../MPSGraphUtilities.mm:43:0: error: 'mps.matmul' op "
        "requires the same element type for all operands and results\nLLVM ERROR: Failed to infer result type(s)."
    )
    return Ended(Outcome.CRASH, detail=told)


def _wrong(one: Try) -> Ended | None:
    """Half precision went wrong in two releases of torch, on the older chips and the macOS of that time."""
    case = one.case
    here = case.device == "mps" and case.workload.startswith(("vit", "efficientnet"))
    if not here or case.precision is not Precision.FP16 or one.release not in (9, 10) or one.macos != 26:
        return None
    if one.computer.generation not in ("M1", "M2", "M3"):
        return None
    allowed = KNOWN[case.workload].tolerances[case.precision].output
    told = f"by {allowed * WRONG:.2g} of its size; {allowed:.2g} is allowed."
    return Ended(Outcome.WRONG_RESULT, detail=f"The output differs from the cpu fp32 result {told}")


_CAUSES: tuple[Callable[[Try], Ended | None], ...] = (
    _no_compiler,
    _too_big,
    _too_slow,
    _without_bfloat,
    _late_operation,
    _no_metal_compiler,
    _out_of_memory,
    _aborted,
    _wrong,
)


def _bad_luck(one: Try, chance: random.Random) -> Ended:
    """What befalls a case now and then; a GPU hangs more often with older releases of torch."""
    drawn, task = chance.random(), one.case.facts.task
    if task is Task.OPERATION or one.case.device == "cpu":
        drawn = min(1.0, 20 * drawn)  # little can go wrong
    heavy = task is Task.TRAIN and one.case.device == "mps"
    hangs = (0.02 if one.release < 8 else 0.006) if heavy else 0.001
    if drawn < hangs:
        return Ended(Outcome.TIMEOUT, detail="The worker process gave no answer in its time and was ended.")
    if drawn < hangs + 0.014:
        code = chance.choice((6, 10, 11))
        return Ended(Outcome.CRASH, detail=f"The worker process ended without a message (signal {code}).")
    if drawn < hangs + 0.05:
        return Ended(Outcome.NOT_RUN, Reason.BUDGET, f"its first iteration took {chance.uniform(1.2, 9):.1f} s")
    return OK


def _trace(last: str) -> str:
    """A traceback as the engine keeps it: folders are left out."""
    return (
        'Traceback (most recent call last):\n  File ".../perform.py", line 50, in _answer\n'
        "    done = _measured(task, prepared, device, clock, beat, flags, laps)\n"
        f'  File ".../measure.py", line 78, in measure\n    first = time_block(session, 1)\n{last}'
    )
