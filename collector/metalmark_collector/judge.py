"""The parent's judgement: what it means that a worker ended without an answer."""

from metalmark_db.words import Outcome

from .explain import explain, fallback_ops
from .messages import Done
from .process import Death
from .words import OUTCOMES

_SILENT_END = "The worker process ended without a message"


def judge(death: Death) -> tuple[Outcome, str]:
    """Outcome and detail of a case whose worker died, from deadline, signal, exit code and stderr."""
    if death.timed_out:
        return Outcome.TIMEOUT, f"The worker process gave no answer in its time and was ended.\n{death.stderr}".strip()
    kind = explain(death.stderr, exit=death.exit_code, timed_out=False).kind
    outcome = OUTCOMES[kind]
    if outcome in (Outcome.OK, Outcome.ERROR):  # nothing in the text says why: a process that vanishes has crashed
        outcome = Outcome.CRASH
    code = death.exit_code
    ending = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return outcome, f"{_SILENT_END} ({ending}).\n{death.stderr}".strip()


def overruled(done: Done, printed: str) -> tuple[Done, tuple[str, ...]]:
    """An answer held against what was printed meanwhile, and the operations that fell back to the CPU.

    Metal reports a GPU timeout or a failed command buffer on standard error only, and torch goes on
    with unfinished work: such an ``ok`` is none.
    """
    ops = fallback_ops(printed)
    if done.outcome is not Outcome.OK or not printed.strip():
        return done, ops
    outcome = OUTCOMES[explain(printed, exit=0, timed_out=False).kind]
    if outcome in (Outcome.OK, Outcome.ERROR):  # warnings and the like: nothing that made the work wrong
        return done, ops
    return Done(outcome=outcome, detail=printed, changed=done.changed), ops
