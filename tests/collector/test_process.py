"""A worker process: whatever it does, the parent gets an answer and nothing is left behind."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import psutil
import pytest

from metalmark_collector.judge import judge
from metalmark_collector.messages import Done, Hello, Task
from metalmark_collector.process import Death, Worker
from metalmark_db.words import Outcome, Precision

Hostile = Callable[..., Callable[..., Worker]]


def task(workload: str = "matmul-2048", share_s: float = 1.0, round_number: int = 0) -> Task:
    """A task of tiny size."""
    return Task(
        workload=workload,
        precision=Precision.FP32,
        seed=1,
        round_number=round_number,
        share_s=share_s,
        size="tiny",
    )


@pytest.fixture
def start(hostile: Hostile) -> Iterator[Callable[..., Worker]]:
    """Starts a hostile worker that has said hello; ends it after the test."""
    started: list[Worker] = []

    def make(trick: str = "work", **others: str) -> Worker:
        worker = hostile(matmul_2048=trick, **others)("cpu")
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
            answer = worker.ask(task("lenet5-train-b128", 2.0, number), limit_s=60)
            assert isinstance(answer, Done)
            assert answer.outcome is Outcome.OK
            assert answer.round is not None
            assert answer.round.number == number
            assert answer.round.iterations * min(answer.round.block_ns) > 0
            assert median(answer.round.block_ns) >= 15_000_000  # long enough for the clock, on a busy machine too
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("trick", "outcomes", "exit_code"),
    [
        ("abort", {Outcome.CRASH}, -signal.SIGABRT),
        ("segfault", {Outcome.CRASH}, -signal.SIGSEGV),
        ("killed", {Outcome.CRASH, Outcome.OUT_OF_MEMORY}, -signal.SIGKILL),  # nobody can tell who sent it
        ("vanish", {Outcome.CRASH}, 0),
    ],
)
def test_a_worker_that_dies_gives_its_exit_code_and_becomes_a_crash(
    start: Callable[..., Worker], trick: str, outcomes: set[Outcome], exit_code: int
) -> None:
    death = start(trick).ask(task(), limit_s=60)
    assert isinstance(death, Death)
    assert (death.exit_code, death.timed_out) == (exit_code, False)
    outcome, detail = judge(death)
    assert outcome in outcomes
    assert ("failed assertion" in detail) is (trick == "abort")  # what it printed is kept


def test_a_worker_that_hangs_is_ended_at_its_deadline(start: Callable[..., Worker]) -> None:
    worker = start("hang")
    began = time.monotonic()
    death = worker.ask(task(), limit_s=1.0)
    assert isinstance(death, Death)
    assert death.timed_out
    assert judge(death)[0] is Outcome.TIMEOUT
    assert time.monotonic() - began < 30
    assert not psutil.pid_exists(worker.pid)


def test_what_a_case_raises_becomes_its_outcome_and_what_it_prints_is_no_message(start: Callable[..., Worker]) -> None:
    """One worker serves all five cases: only the outcome of each is its own."""
    expected = {
        "matmul-2048": ("out_of_memory", Outcome.OUT_OF_MEMORY),
        "copy-bandwidth": ("unsupported", Outcome.UNSUPPORTED_OP),
        "vgg16-train-b4": ("error", Outcome.ERROR),
        "resnet18-infer-b32": ("flood", Outcome.OK),
        "resnet50-infer-b8": ("forge", Outcome.OK),
    }
    tricks = {name.replace("-", "_"): trick for name, (trick, _) in expected.items()}
    worker = start(tricks.pop("matmul_2048"), **tricks)
    for name, (_, outcome) in expected.items():
        answer = worker.ask(task(name), limit_s=60)
        assert isinstance(answer, Done)
        assert answer.outcome is outcome, name
        assert bool(answer.detail) is (outcome is not Outcome.OK)


def test_a_child_that_a_case_left_behind_ends_with_its_worker(
    start: Callable[..., Worker], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORPHAN_FILE", str(tmp_path / "pid"))
    worker = start("orphan")
    assert isinstance(worker.ask(task(), limit_s=60), Done)
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
    worker.ask(task(share_s=3.0), limit_s=60)
    assert time.process_time() - before < 0.05  # of more than three seconds: waiting costs nothing


def test_a_device_nobody_knows_is_a_death_with_a_reason() -> None:
    worker = Worker("abacus")
    death = worker.greet(60)
    assert isinstance(death, Death)
    assert "abacus" in death.stderr


def test_a_case_that_eats_all_memory_is_out_of_memory_and_its_worker_goes_on(start: Callable[..., Worker]) -> None:
    worker = start("eat", copy_bandwidth="work")
    eaten = worker.ask(task(), limit_s=60)
    assert isinstance(eaten, Done)
    assert eaten.outcome is Outcome.OUT_OF_MEMORY
    assert isinstance(worker.ask(task("copy-bandwidth"), limit_s=60), Done)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process say who goes first")
def test_when_memory_runs_out_the_system_ends_the_worker_before_its_parent(start: Callable[..., Worker]) -> None:
    def score(pid: int | str) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text(encoding="ascii"))

    assert score(start().pid) > score("self")


def test_a_worker_that_cannot_be_started_leaves_no_pipe_open(monkeypatch: pytest.MonkeyPatch) -> None:
    before = psutil.Process().num_fds()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(FileNotFoundError):
        Worker("cpu")
    assert psutil.Process().num_fds() == before
