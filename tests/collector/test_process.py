"""A worker process: whatever it does, the parent gets an answer and nothing is left behind."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from metalmark_collector.judge import judge
from metalmark_collector.messages import Done, Hello, Task
from metalmark_collector.process import Death, Worker
from metalmark_db.words import Outcome, Precision

TASK = Task(workload="matmul-2048", precision=Precision.FP32, seed=1, round_number=0, share_s=1.0, size="tiny")
Hostile = Callable[..., Callable[[str], Worker]]


@pytest.fixture
def start(hostile: Hostile) -> Iterator[Callable[..., Worker]]:
    """Starts a hostile worker that has said hello; ends it after the test."""
    started: list[Worker] = []

    def make(trick: str) -> Worker:
        worker = hostile(matmul_2048=trick)("cpu")
        started.append(worker)
        assert isinstance(worker.greet(), Hello)
        return worker

    yield make
    for worker in started:
        worker.close()


def test_a_worker_introduces_itself_and_serves_one_task_after_the_other() -> None:
    worker = Worker("cpu")
    try:
        hello = worker.greet()
        assert isinstance(hello, Hello)
        assert hello.unusable is None
        assert hello.flops_per_s is not None
        assert hello.flops_per_s > 1e8
        for number in range(2):
            answer = worker.ask(
                Task(workload="lenet5-train-b128", precision=Precision.FP32, seed=1, round_number=number, share_s=2.0),
                limit_s=60,
            )
            assert isinstance(answer, Done)
            assert answer.outcome is Outcome.OK
            assert answer.round is not None
            assert answer.round.number == number
            assert answer.round.iterations * min(answer.round.block_ns) > 0
            assert min(answer.round.block_ns) >= 10_000_000  # blocks are long enough for the clock
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("trick", "outcome", "exit_code"),
    [
        ("abort", Outcome.CRASH, -signal.SIGABRT),
        ("segfault", Outcome.CRASH, -signal.SIGSEGV),
        ("vanish", Outcome.CRASH, 0),
    ],
)
def test_a_worker_that_dies_gives_its_exit_code_and_becomes_a_crash(
    start: Callable[..., Worker], trick: str, outcome: Outcome, exit_code: int
) -> None:
    death = start(trick).ask(TASK, limit_s=60)
    assert isinstance(death, Death)
    assert (death.exit_code, death.timed_out) == (exit_code, False)
    assert judge(death)[0] is outcome


def test_a_killed_worker_is_noticed_and_its_stderr_is_kept(start: Callable[..., Worker]) -> None:
    death = start("killed").ask(TASK, limit_s=60)
    assert isinstance(death, Death)
    assert death.exit_code == -signal.SIGKILL
    assert judge(death)[0] in (Outcome.OUT_OF_MEMORY, Outcome.CRASH)  # nobody can tell who sent SIGKILL
    death = start("abort").ask(TASK, limit_s=60)
    assert isinstance(death, Death)
    assert "failed assertion" in judge(death)[1]


def test_a_worker_that_hangs_is_ended_at_its_deadline(start: Callable[..., Worker]) -> None:
    worker = start("hang")
    began = time.monotonic()
    death = worker.ask(TASK, limit_s=1.0)
    assert isinstance(death, Death)
    assert death.timed_out
    assert judge(death)[0] is Outcome.TIMEOUT
    assert time.monotonic() - began < 30
    assert not psutil.pid_exists(worker.pid)


@pytest.mark.parametrize(
    ("trick", "outcome"),
    [
        ("out_of_memory", Outcome.OUT_OF_MEMORY),
        ("unsupported", Outcome.UNSUPPORTED_OP),
        ("error", Outcome.ERROR),
    ],
)
def test_what_a_case_raises_becomes_its_outcome(start: Callable[..., Worker], trick: str, outcome: Outcome) -> None:
    answer = start(trick).ask(TASK, limit_s=60)
    assert isinstance(answer, Done)
    assert answer.outcome is outcome
    assert answer.detail


@pytest.mark.parametrize("trick", ["flood", "forge"])
def test_nothing_that_a_case_prints_is_taken_for_a_message(start: Callable[..., Worker], trick: str) -> None:
    answer = start(trick).ask(TASK, limit_s=60)
    assert isinstance(answer, Done)
    assert answer.outcome is Outcome.OK


def test_a_child_that_a_case_left_behind_ends_with_its_worker(
    start: Callable[..., Worker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORPHAN_FILE", str(tmp_path / "pid"))
    worker = start("orphan")
    assert isinstance(worker.ask(TASK, limit_s=60), Done)
    orphan = int((tmp_path / "pid").read_text())
    assert psutil.pid_exists(orphan)
    worker.close()
    deadline = time.monotonic() + 10
    while psutil.pid_exists(orphan) and psutil.Process(orphan).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_ended_worker_leaves_no_descriptor_open(hostile: Hostile) -> None:
    before = psutil.Process().num_fds()
    worker = hostile()("cpu")
    worker.greet()
    worker.close()
    worker.close()  # a second time does nothing
    assert psutil.Process().num_fds() == before


def test_the_parent_rests_while_a_case_is_measured(start: Callable[..., Worker]) -> None:
    worker = start("slow")
    before = time.process_time()
    worker.ask(Task(workload="matmul-2048", precision=Precision.FP32, seed=1, round_number=0, share_s=3.0), limit_s=60)
    assert time.process_time() - before < 0.05  # of more than three seconds: waiting costs nothing


def test_a_device_nobody_knows_is_a_death_with_a_reason() -> None:
    worker = Worker("abacus")
    death = worker.greet(60)
    assert isinstance(death, Death)
    assert "abacus" in death.stderr
