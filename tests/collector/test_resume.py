"""An unfinished run goes on where it stopped: under its number, with its samples, on its software alone."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_collector import resume, sitting
from metalmark_collector.fingerprint import local_probe
from metalmark_collector.look import Seen, look
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_collector.progress import Progress, StartWorker
from metalmark_db import queries, store
from metalmark_db.engine import open_database
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Case, Machine, Round, RunHead, Software
from metalmark_db.words import Effort, Outcome, Precision, Reason

SITTING = Path(__file__).with_name("run_hostile.py")
LENET, RESNET, MATMUL = "lenet5-train-b128", "resnet18-infer-b32", "matmul-2048"
PROGRAM = "from metalmark_db.cli import main; main({})"
Hostile = Callable[..., StartWorker]


@pytest.fixture
def engine(tmp_path: Path) -> sa.Engine:
    return open_database(str(tmp_path / "m.sqlite"))


@pytest.fixture(scope="module")
def seen() -> Seen:
    """This machine."""
    return look(local_probe())


def begin(engine: sa.Engine, seen: Seen, *cases: Case, effort: Effort = Effort.QUICK) -> int:
    """A run with these cases and the facts of every workload that tests use."""
    head = RunHead(
        started_at="2026-11-30T12:00:00+00:00",
        effort=effort,
        seed=11,
        machine=seen.machine,
        software=seen.software,
        conditions_before=seen.conditions,
    )
    planned = [Planned(workload=name, device="cpu", precision=Precision.FP32) for name in (LENET, RESNET, MATMUL)]
    return store.begin_run(engine, head, [one.facts for one in planned], cases)


def case(workload: str, outcome: Outcome, reason: Reason | None = None, rounds: int = 0) -> Case:
    """A case on the CPU with that outcome."""
    planned = Planned(workload=workload, device="cpu", precision=Precision.FP32)
    samples = tuple(Round(number=number, iterations=1, block_ns=(5_000_000,) * 6) for number in range(rounds))
    return msgspec.structs.replace(planned.ended(outcome, reason), rounds=samples)


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts sittings in processes of their own."""
    with contextlib.ExitStack() as started:

        def make(folder: Path, tricks: dict[str, str], *more: str) -> subprocess.Popen[str]:
            process = _sitting(folder, tricks, *more)
            started.enter_context(process)
            started.callback(process.kill)
            return process

        yield make


def _sitting(folder: Path, tricks: dict[str, str], *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SITTING), str(folder / "m.sqlite"), json.dumps(tricks), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def wait_for(run: subprocess.Popen[str], text: str) -> None:
    """Read what it says until that comes."""
    assert run.stderr is not None
    for line in run.stderr:
        if text in line:
            return
    pytest.fail(f"the run ended without saying {text}")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_or_killed_run_goes_on_under_its_number(
    tmp_path: Path, start: Start, ending: signal.Signals
) -> None:
    """Two rounds of three cases, ended while the third hangs: the samples so far stay, the others are added."""
    first = start(tmp_path, {LENET: "work", RESNET: "abort", MATMUL: "hang"}, "2")
    wait_for(first, f"{RESNET} · cpu · fp32: crash")
    first.send_signal(ending)
    first.communicate(timeout=60)
    engine = open_database(str(tmp_path / "m.sqlite"))
    before = {one.workload: one for one in store.load_cases(engine, 1)}
    assert [round_.number for round_ in before[LENET].rounds] == [0]
    assert before[MATMUL].reason is Reason.INTERRUPTED

    second = start(tmp_path, dict.fromkeys((LENET, RESNET, MATMUL), "work"), "2", "resume")
    output, said = second.communicate(timeout=120)
    assert json.loads(output.splitlines()[-1]) == {"run": 1, "finished": True}
    after = {one.workload: one for one in store.load_cases(engine, 1)}
    assert after[RESNET] == before[RESNET]
    assert after[LENET].rounds[0] == before[LENET].rounds[0]
    assert {one.workload: [r.number for r in one.rounds] for one in after.values()} == {
        LENET: [0, 1],
        RESNET: [],
        MATMUL: [0, 1],
    }
    assert RESNET not in said
    assert "[4/6]" in said
    assert [(run.run_id, run.finished) for run in queries.runs(engine)] == [(1, True)]


def test_only_what_was_never_tried_is_tried(engine: sa.Engine, seen: Seen) -> None:
    stands = [
        case(LENET, Outcome.OK, rounds=1),
        case(RESNET, Outcome.NOT_RUN, Reason.MEMORY_ESTIMATE),
    ]
    begin(engine, seen, *stands, case(MATMUL, Outcome.NOT_RUN, Reason.BUDGET))
    found = resume.find(engine, seen)
    assert found.cases == tuple(stands)
    assert found.done == {(stands[0].key, 0), (stands[1].key, 0)}
    assert [one.workload for one in found.plan.cases["cpu"]] == [LENET, RESNET, MATMUL]
    assert (found.plan.seed, found.plan.effort) == (11, Effort.QUICK)


def test_an_ok_case_lacks_the_rounds_it_has_no_samples_of_and_a_failed_one_lacks_none(
    engine: sa.Engine, seen: Seen
) -> None:
    begin(engine, seen, case(LENET, Outcome.OK, rounds=2), case(RESNET, Outcome.CRASH))
    found = resume.find(engine, seen)
    three = msgspec.structs.replace(found, plan=msgspec.structs.replace(found.plan, rounds=3))
    assert sorted((key[0], number) for key, number in three.done) == [
        (LENET, 0), (LENET, 1), (RESNET, 0), (RESNET, 1), (RESNET, 2),
    ]  # fmt: skip


def test_a_run_of_chosen_workloads_goes_on_with_these_alone(engine: sa.Engine, seen: Seen) -> None:
    begin(engine, seen, case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED))
    assert {kind: [one.workload for one in some] for kind, some in resume.find(engine, seen).plan.cases.items()} == {
        "cpu": [MATMUL]
    }


def test_the_last_unfinished_run_is_taken(engine: sa.Engine, seen: Seen) -> None:
    waiting = case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED)
    old, new, finished = (begin(engine, seen, waiting) for _ in range(3))
    store.finish_run(engine, finished, seen.conditions, finished=True)
    assert resume.find(engine, seen).run_id == new
    store.finish_run(engine, new, seen.conditions, finished=True)
    assert resume.find(engine, seen).run_id == old


def test_nothing_to_continue_is_said_with_what_there_is(engine: sa.Engine, seen: Seen) -> None:
    with pytest.raises(UsageProblem, match=r"no unfinished run to continue. Start one with: metalmark run$"):
        resume.find(engine, seen)
    begin(engine, seen, case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED))
    with pytest.raises(UsageProblem, match="run 1 is an unfinished quick run"):
        resume.find(engine, seen, Effort.FULL)
    other = msgspec.structs.replace(seen, machine=Machine(chip="Apple M9"))
    with pytest.raises(UsageProblem, match="comes from another one"):
        resume.find(engine, other)


def test_a_run_on_other_software_is_not_continued_and_the_difference_is_named(engine: sa.Engine, seen: Seen) -> None:
    begin(engine, seen, case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED))
    now = msgspec.structs.replace(seen.software, torch_version="2.99.0", environment={"OMP_NUM_THREADS": "1"})
    with pytest.raises(UsageProblem) as refused:
        resume.find(engine, msgspec.structs.replace(seen, software=now))
    assert f"torch: {seen.software.torch_version} then, 2.99.0 now" in str(refused.value)
    assert "OMP_NUM_THREADS: not set then, 1 now" in str(refused.value)
    assert "metalmark show 1" in str(refused.value)


@pytest.mark.parametrize(
    ("then", "now", "same"),
    [
        ("2.14.1", "2.14.1", True),
        ("2.14.1+cu130", "2.14.1", True),  # the package, and the running torch
        ("2.14.1+cu130", "2.14.1+cpu", False),
        ("2.14.1", "2.14.2", False),
        ("2.14.1+cu130", "2.14", False),
    ],
)
def test_a_build_of_torch_counts_where_both_sides_name_one(then: str, now: str, same: bool) -> None:
    assert (resume.changes(Software(torch_version=then), Software(torch_version=now)) == []) is same


def test_what_one_side_does_not_know_is_no_difference() -> None:
    assert resume.changes(Software(torch_git="abc", os_version="26.1"), Software(os_version="26.1")) == []


def test_a_run_of_a_suite_that_has_changed_is_not_continued(engine: sa.Engine, seen: Seen) -> None:
    begin(engine, seen)
    with pytest.raises(UsageProblem, match="does not say what it planned"):
        resume.find(engine, seen)
    old = case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED)
    facts = msgspec.structs.replace(make_plan(Effort.QUICK, ["cpu"], 1).cases["cpu"][0].facts, id=MATMUL, version=77)
    head = store.load_head(engine, 1)
    store.begin_run(engine, head, [facts], [msgspec.structs.replace(old, version=77)])
    with pytest.raises(UsageProblem, match=f"the workload {MATMUL} has changed"):
        resume.find(engine, seen)


class Silent:
    """A watcher that shows nothing."""

    def starting(self, device: str) -> None:
        """Nothing."""

    def measuring(self, case: Planned, round_number: int) -> None:
        """Nothing."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:
        """Nothing."""


def test_a_worker_with_another_torch_ends_the_sitting_and_changes_nothing(
    engine: sa.Engine, seen: Seen, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the packages tell is the same, and the running torch says that it was built from another commit."""
    monkeypatch.setattr(sitting, "Progress", functools.partial(Progress, start_worker=hostile()))
    stored = msgspec.structs.replace(seen, software=msgspec.structs.replace(seen.software, torch_git="0" * 40))
    waiting = case(MATMUL, Outcome.NOT_RUN, Reason.INTERRUPTED)
    begin(engine, stored, waiting)
    earlier = resume.find(engine, seen)
    request = sitting.Request(size="tiny", check=False)
    with pytest.raises(UsageProblem, match="torch git"):
        sitting.sit(engine, request, earlier.plan, Silent(), seen=seen, earlier=earlier)
    assert store.load_cases(engine, 1) == (waiting,)
    assert not queries.runs(engine)[0].finished


def test_a_new_run_says_from_its_first_case_on_what_it_planned(engine: sa.Engine, seen: Seen) -> None:
    plan: Plan = make_plan(Effort.QUICK, ["cpu"], 1, only=[LENET, MATMUL])
    head = RunHead(
        started_at="2026-11-30T12:00:00+00:00",
        effort=Effort.QUICK,
        seed=1,
        machine=seen.machine,
        software=seen.software,
        conditions_before=seen.conditions,
    )
    recorder = sitting.Recorder(engine, head, plan)
    assert queries.run_ids(engine) == []
    recorder.save(case(LENET, Outcome.CRASH))
    found = {one.workload: (one.outcome, one.reason) for one in store.load_cases(engine, 1)}
    assert found == {LENET: (Outcome.CRASH, None), MATMUL: (Outcome.NOT_RUN, Reason.INTERRUPTED)}


def test_a_sitting_with_nothing_left_finishes_the_run(engine: sa.Engine, seen: Seen) -> None:
    """The run was killed after its last case and before it could say that it was through."""
    begin(engine, seen, case(LENET, Outcome.OK, rounds=1))
    earlier = resume.find(engine, seen)
    ended = sitting.sit(engine, sitting.Request(), earlier.plan, Silent(), seen=seen, earlier=earlier)
    assert (ended.run_id, ended.finished, ended.cases) == (1, True, earlier.cases)
    assert queries.runs(engine)[0].finished


@pytest.mark.parametrize(
    ("arguments", "told"),
    [([], "There is no unfinished run"), (["--device", "cpu"], "leave out --device, --workload,")],
)
def test_the_command_says_why_it_cannot_go_on(tmp_path: Path, arguments: list[str], told: str) -> None:
    given = ["run", "--resume", "--db", str(tmp_path / "m.sqlite"), *arguments]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(given)], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 2
    assert found.stdout == ""
    assert told in found.stderr
    assert "Traceback" not in found.stderr
