"""What the parent makes of a worker's end, and of what was printed beside an answer."""

import pytest

from metalmark_collector.judge import judge, overruled
from metalmark_collector.messages import Done
from metalmark_collector.process import Death
from metalmark_db.record import Round
from metalmark_db.words import Outcome

OK = Done(outcome=Outcome.OK, round=Round(number=0, iterations=1, block_ns=(5,)))
GPU_TIMEOUT = (
    "Error: command buffer exited with error status.\n"
    "\tThe Metal Performance Shaders operations encoded on it may not have completed.\n"
    "\tError: \n\t(null)\n"
    "\tCaused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)\n"
)


def death(code: int | None, stderr: str = "", *, timed_out: bool = False) -> Death:
    """A worker's end."""
    return Death(exit_code=code, timed_out=timed_out, stdout="", stderr=stderr)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (death(-6, "failed assertion `Unsupported'"), Outcome.CRASH),
        (death(-11), Outcome.CRASH),
        (death(-10), Outcome.CRASH),
        (death(0), Outcome.CRASH),  # ended well, and said nothing
        (death(1, "RuntimeError: MPS backend out of memory (MPS allocated: 9.0 GiB)"), Outcome.OUT_OF_MEMORY),
        (death(None, timed_out=True), Outcome.TIMEOUT),
        (death(-9, "everything was fine", timed_out=True), Outcome.TIMEOUT),
    ],
)
def test_an_end_without_an_answer_becomes_an_outcome(end: Death, outcome: Outcome) -> None:
    found, detail = judge(end)
    assert found is outcome
    assert detail


def test_the_signal_or_exit_code_is_told() -> None:
    assert "signal 11" in judge(death(-11))[1]
    assert "exit code 3" in judge(death(3))[1]


def test_a_gpu_timeout_on_stderr_overrules_an_ok() -> None:
    """Metal prints it, torch goes on, and the work is unfinished."""
    done, ops = overruled(OK, GPU_TIMEOUT)
    assert done.outcome is Outcome.TIMEOUT
    assert done.round is None
    assert ops == ()


@pytest.mark.parametrize(
    "printed", ["", "\n", "UserWarning: something is deprecated\n", "loading 12 weights ... done\n"]
)
def test_other_prints_leave_an_ok_as_it_is(printed: str) -> None:
    assert overruled(OK, printed) == (OK, ())


def test_operations_that_fell_back_are_listed() -> None:
    warning = (
        "UserWarning: The operator 'aten::bincount' is not currently supported on the MPS backend and will fall back "
        "to run on the CPU. This may have performance implications."
    )
    done, ops = overruled(OK, warning)
    assert done is OK
    assert ops == ("aten::bincount",)


def test_a_failure_stays_the_failure_it_is_whatever_was_printed() -> None:
    failed = Done(outcome=Outcome.ERROR, detail="ValueError")
    assert overruled(failed, GPU_TIMEOUT)[0] is failed
