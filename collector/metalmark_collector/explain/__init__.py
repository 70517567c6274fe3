"""What an error text means: the last fatal message decides, then the exit status, then what was printed."""

import re

from . import kinds
from .details import bytes_requested, dtype, fallback_ops, op_before, op_of_result, torch_name
from .kinds import Cause, Explanation, Kind
from .signs import SIGNS, Sign
from .silent import wrong_result

__all__ = ["Explanation", "Kind", "explain", "fallback_ops"]

_LONGEST = 100_000  # characters; the end of a log is what counts
_SHELL = 128  # a shell gives 128 + n for signal n
_KILL, _STOPS = 9, {2, 13, 15}
_COREUTILS_TIMEOUT = 124


def explain(text: str, exit: int | None = None, timed_out: bool = False) -> Explanation:  # noqa: A002  the user's word
    """The kind of an outcome, the operation and number format it is about, and what helps.

    ``exit`` is the status as Python's subprocess gives it (negative for a signal) or as a shell does
    (128 + n); ``timed_out`` says that the runner's own limit ended the program.
    """
    text = text[-_LONGEST:]
    if timed_out:
        return _explanation(kinds.TIME_LIMIT, op=op_before(text, len(text)))
    found = _last(text, weak=False) or _last(text, weak=True)
    if found is not None:
        return _from_message(text, *found, exit_status=exit)
    return _from_status(exit) or _from_output(text, exit)


def _last(text: str, *, weak: bool) -> tuple[Sign, re.Match[str]] | None:
    """The message that stands last; of those that share its line or hold it, the first of the table."""
    found = [(sign, match) for sign in SIGNS if sign.weak is weak for match in sign.pattern.finditer(text)]
    if not found:
        return None
    last = max(match.start() for _, match in found)
    line = text.rfind("\n", 0, last) + 1
    return next((sign, match) for sign, match in found if match.end() > last or match.start() >= line)


def _from_message(text: str, sign: Sign, match: re.Match[str], *, exit_status: int | None) -> Explanation:
    groups = match.groupdict()
    cause = sign.cause
    if cause is kinds.WORK_LOST and exit_status not in (None, 0):
        cause = kinds.WATCHDOG
    op = groups.get("op")
    if cause.kind in (Kind.OUT_OF_MEMORY, Kind.CRASH):
        op = op_before(text, match.start())
    return _explanation(
        cause,
        op=op if op is None or "::" in op else torch_name(op),
        dtype_name=groups.get("dtype"),
        requested=bytes_requested(text, match.start()) if cause.kind is Kind.OUT_OF_MEMORY else None,
    )


def _from_status(status: int | None) -> Explanation | None:
    """What a signal means; None for a program that ended by itself."""
    if status is None or 0 <= status <= _SHELL:
        return _explanation(kinds.TIME_LIMIT) if status == _COREUTILS_TIMEOUT else None
    signal = -status if status < 0 else status - _SHELL
    if signal in _STOPS:
        return _explanation(kinds.FAILED)
    causes = {_KILL: kinds.KILLED, 6: kinds.ABORT}
    return _explanation(causes.get(signal, kinds.SEGFAULT))


def _from_output(text: str, status: int | None) -> Explanation:
    if (wrong := wrong_result(text)) is not None:
        return _explanation(kinds.MISMATCH, op=op_of_result(text, wrong.start()))
    if status not in (None, 0):
        return _explanation(kinds.FAILED)
    ops = fallback_ops(text)
    return _explanation(kinds.FALLBACK, op=ops[-1]) if ops else _explanation(kinds.NONE)


def _explanation(
    cause: Cause, *, op: str | None = None, dtype_name: str | None = None, requested: int | None = None
) -> Explanation:
    return Explanation(kind=cause.kind, op=op, dtype=dtype(dtype_name), bytes_requested=requested, advice=cause.advice)
