"""A run: every case gets its outcome, none disturbs another, and nothing measured is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from metalmark_collector import compilers, rounds
from metalmark_collector.budget import Budget
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_collector.process import Worker
from metalmark_collector.progress import Progress, flagged, with_earlier_rounds
from metalmark_collector.runner import run_plan
from metalmark_db import queries
from metalmark_db.chips import ChipFacts
from metalmark_db.engine import open_database
from metalmark_db.record import Case, Machine, Moment, Round, Truth
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

Hostile = Callable[..., Callable[..., Worker]]
SITTING = Path(__file__).with_name("run_hostile.py")


class Silent:
    """A watcher that only remembers."""

    def __init__(self) -> None:
        self.ends: list[str] = []

    def starting(self, device: str) -> None:
        """Nothing."""

    def measuring(self, case: Planned, round_number: int) -> None:
        """Nothing."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:  # noqa: ARG002 - the watcher's signature
        """Remember it."""
        self.ends.append(case.workload)


def progress(plan: Plan, start: Callable[..., Worker], saved: dict[str, Case], limit_s: float = 240) -> Progress:
    """A run's state with tiny sizes and little patience."""
    return Progress(
        plan=plan,
        machine=Machine(chip="AMD EPYC"),
        save=lambda case: saved.update({case.workload: case}),
        watcher=Silent(),
        budget=Budget(aimed_s=5, limit_s=limit_s, began=time.monotonic()),
        size="tiny",
        start_worker=start,
        patience_s=12.0,
    )


def test_a_case_that_dies_hangs_or_fails_costs_that_case_alone(hostile: Hostile) -> None:
    tricks = {
        "lenet5-train-b128": ("abort", Outcome.CRASH),
        "resnet18-infer-b32": ("vanish", Outcome.CRASH),
        "resnet50-infer-b8": ("out_of_memory", Outcome.OUT_OF_MEMORY),
        "vgg16-train-b4": ("error", Outcome.ERROR),
        "matmul-2048": ("hang", Outcome.TIMEOUT),
        "copy-bandwidth": ("work", Outcome.OK),
        "bert-base-infer-t128-b4": ("flood", Outcome.OK),
    }
    saved: dict[str, Case] = {}
    start = hostile(**{name.replace("-", "_"): trick for name, (trick, _) in tricks.items()})
    state = progress(make_plan(Effort.QUICK, ["cpu"], 3, only=list(tricks)), start, saved)
    # Estimates are for real sizes; a fast device keeps them, and with them the deadlines, small.
    state.slowness["cpu"] = 1e-3
    assert run_plan(state)
    assert {name: case.outcome for name, case in saved.items()} == {
        name: outcome for name, (_, outcome) in tricks.items()
    }
    assert all(case.device_chip == "AMD EPYC" for case in saved.values())
    assert "secret" not in (saved["vgg16-train-b4"].detail or "")
    assert str(Path.home()) not in (saved["vgg16-train-b4"].detail or "")


def test_a_device_that_cannot_be_used_is_recorded_for_every_case() -> None:
    saved: dict[str, Case] = {}
    plan = make_plan(Effort.QUICK, ["mps"], 3, only=["matmul-2048", "lenet5-train-b128"])
    assert run_plan(progress(plan, Worker, saved))
    assert {case.outcome for case in saved.values()} == {Outcome.NO_BACKEND}
    assert len(saved) == 2
    assert all(case.detail for case in saved.values())


def test_when_the_time_is_over_the_rest_is_not_run_for_its_budget(hostile: Hostile) -> None:
    saved: dict[str, Case] = {}
    state = progress(make_plan(Effort.QUICK, ["cpu"], 3), hostile(), saved, limit_s=1)
    assert run_plan(state)
    assert len(saved) == 9
    assert {(case.outcome, case.reason) for case in saved.values()} == {(Outcome.NOT_RUN, Reason.BUDGET)}


def test_an_interrupted_run_keeps_what_was_measured(tmp_path: Path) -> None:
    """Ctrl-C while the second of three cases hangs: the first is kept, the others say interrupted."""
    run = _sitting(tmp_path, {"lenet5-train-b128": "work", "resnet18-infer-b32": "hang", "matmul-2048": "work"})
    _wait_for_line(run, "lenet5-train-b128")
    workers = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert json.loads(output.splitlines()[-1])["finished"] is False
    _check_interrupted(tmp_path)
    _assert_gone(workers)


def test_a_run_that_is_asked_to_end_keeps_what_was_measured(tmp_path: Path) -> None:
    run = _sitting(tmp_path, {"lenet5-train-b128": "work", "resnet18-infer-b32": "hang", "matmul-2048": "work"})
    _wait_for_line(run, "lenet5-train-b128")
    run.terminate()
    run.communicate(timeout=60)
    _check_interrupted(tmp_path)


def test_a_killed_run_keeps_what_was_measured_and_its_worker_ends(tmp_path: Path) -> None:
    """SIGKILL while the second case is measured: the first is kept, and the worker does not outlive its parent."""
    run = _sitting(tmp_path, {"lenet5-train-b128": "work", "resnet18-infer-b32": "slow"})
    _wait_for_line(run, "lenet5-train-b128")
    workers = psutil.Process(run.pid).children(recursive=True)
    run.kill()
    run.communicate(timeout=60)
    rows = queries.results(open_database(str(tmp_path / "m.sqlite")))
    assert [(row.workload, row.outcome, row.reason) for row in rows] == [
        ("lenet5-train-b128", "ok", None),
        ("resnet18-infer-b32", "not_run", "interrupted"),  # planned: --resume goes on with it
    ]
    assert not queries.runs(open_database(str(tmp_path / "m.sqlite")))[0].finished
    _assert_gone(workers)


def test_the_order_is_drawn_from_the_seed_and_new_in_each_round() -> None:
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], 5)
    assert plan.order(0) == make_plan(Effort.QUICK, ["cpu", "mps"], 5).order(0)
    first, second = dict(plan.order(0)), dict(plan.order(1))
    assert first["cpu"] != second["cpu"]
    assert sorted(c.label for c in first["cpu"]) == sorted(c.label for c in second["cpu"])
    compiled = [
        case.mode is Mode.COMPILE for _, cases in make_plan(Effort.STANDARD, ["mps"], 5).order(0) for case in cases
    ]
    assert compiled == sorted(compiled)
    assert any(compiled)
    assert [device for device, _ in plan.order(0)] == ["cpu", "mps"]
    assert [device for device, _ in plan.order(1)] == ["mps", "cpu"]


def test_a_gpu_adds_half_precision_where_a_workload_has_it() -> None:
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], 5)
    assert [c.precision for c in plan.cases["cpu"] if c.workload == "matmul-2048"] == [Precision.FP32]
    assert [c.precision for c in plan.cases["mps"] if c.workload == "matmul-2048"] == [Precision.FP32, Precision.FP16]


def _sitting(folder: Path, tricks: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SITTING), str(folder / "m.sqlite"), json.dumps(tricks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def _wait_for_line(run: subprocess.Popen[str], workload: str) -> None:
    assert run.stderr is not None
    seen = []
    while line := run.stderr.readline():
        seen.append(line)
        if f"{workload} · cpu · fp32:" in line:
            return
    pytest.fail("the run ended without that case: " + "".join(seen))


def _check_interrupted(folder: Path) -> None:
    engine = open_database(str(folder / "m.sqlite"))
    assert {row.workload: (row.outcome, row.reason) for row in queries.results(engine)} == {
        "lenet5-train-b128": ("ok", None),
        "resnet18-infer-b32": ("not_run", "interrupted"),
        "matmul-2048": ("not_run", "interrupted"),
    }
    assert not queries.runs(engine)[0].finished


def _assert_gone(processes: list[psutil.Process]) -> None:
    assert processes
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []


def test_a_case_says_what_its_times_alone_tell() -> None:
    """Rounds at two speeds are flagged as such; steady ones are not, and a failure has nothing to tell."""
    plan = make_plan(Effort.QUICK, ["cpu"], 3, only=["matmul-2048"])
    (planned,) = plan.cases["cpu"]
    ended = planned.ended(Outcome.OK)
    two = tuple(Round(number=n, iterations=1, block_ns=(t,) * 10) for n, t in enumerate((100, 100, 300)))
    assert flagged(msgspec.structs.replace(ended, rounds=two)).flags == ("bimodal",)
    assert flagged(msgspec.structs.replace(ended, rounds=two[:2], flags=("few_samples",))).flags == ("few_samples",)
    assert flagged(msgspec.structs.replace(ended, outcome=Outcome.CRASH, rounds=two)).flags == ()


def test_without_a_compiler_compiled_cases_are_not_run_and_the_others_are() -> None:
    saved: dict[str, Case] = {}
    plan = make_plan(Effort.QUICK, ["cpu"], 3, only=["lenet5-train-b128"], modes=list(Mode))
    state = progress(plan, Worker, saved)
    state.no_compiler = "torch.compile needs a C++ compiler, and this machine has none."
    assert run_plan(state)
    ends = {case.mode: (case.outcome, case.reason, case.detail) for case in state.cases.values()}
    assert ends[Mode.COMPILE] == (Outcome.NOT_RUN, Reason.NO_COMPILER, state.no_compiler)
    assert ends[Mode.EAGER][0] is Outcome.OK


def test_a_case_is_compiled_in_a_folder_of_the_run_and_measured_in_every_round(tmp_path: Path) -> None:
    """Real compilations: the second round finds the first one's code, and one worker a round serves both modes."""
    compiler, pids = compilers.find(), []
    plan = make_plan(Effort.QUICK, ["cpu"], 3, only=["lenet5-train-b128"], modes=list(Mode))
    plan = msgspec.structs.replace(plan, rounds=2, aimed_s=60.0, limit_s=600.0)

    def start(kind: str, **options: Any) -> Worker:
        worker = Worker(kind, **options)
        pids.append(worker.pid)
        return worker

    state = progress(plan, start, {}, limit_s=600)
    state.budget.aimed_s, state.patience_s = 60.0, 120.0
    state.references = str(tmp_path / "truth")
    state.variables = compilers.environment(tmp_path / "compiled", compiler)
    assert run_plan(state)
    eager, case = sorted(state.cases.values(), key=lambda one: one.mode is Mode.COMPILE)
    for one in (eager, case):
        assert (one.outcome, len(one.rounds)) == (Outcome.OK, 2)
        assert one.truth is not None
    first, second = (one.first_call_ns or 0 for one in case.rounds)
    assert first > second > 0
    assert len(set(pids)) == 2
    assert list((tmp_path / "compiled").rglob("*.so"))


def test_a_time_beyond_the_peak_of_the_chip_is_flagged() -> None:
    """A product of 17 GFLOP in 1 ms is 17 TFLOP/s; nobody knows the peak of another precision, or of the CPU."""
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], 3, only=["matmul-2048", "copy-bandwidth"])
    peaks = ChipFacts(bandwidth_gb_s=68.3, fp32_tflops=2.6)
    times = {"matmul-2048": 1_000_000, "copy-bandwidth": 30_000_000}
    found = {
        (case.workload, case.device, case.precision.value): flagged(
            msgspec.structs.replace(
                case.ended(Outcome.OK), rounds=(Round(number=0, iterations=1, block_ns=(times[case.workload],) * 10),)
            ),
            peaks,
        ).flags
        for cases in plan.cases.values()
        for case in cases
    }
    assert {key for key, flags in found.items() if "beyond_peak" in flags} == {("matmul-2048", "mps", "fp32")}
    assert len(found) == 5


def test_a_case_that_is_still_compiled_when_its_time_is_over_was_not_run(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An eager case that gives no sign of life has hung; a compiler may only be slow."""
    monkeypatch.setattr(rounds, "_COMPILING_S", 1.0)
    plan = make_plan(Effort.QUICK, ["cpu"], 3, only=["lenet5-train-b128"], modes=list(Mode))
    state = progress(plan, hostile(lenet5_train_b128="hang"), {})
    state.slowness["cpu"], state.compile_slowness, state.patience_s = 1e-3, 1e-3, 3.0
    assert run_plan(state)
    eager, compiled = sorted(state.cases.values(), key=lambda one: one.mode is Mode.COMPILE)
    assert (eager.outcome, eager.reason) == (Outcome.TIMEOUT, None)
    assert (compiled.outcome, compiled.reason) == (Outcome.NOT_RUN, Reason.BUDGET)
    assert "still being compiled" in (compiled.detail or "")


TRUTH = Truth(reference="cpu fp32", samples=2, error_norm=1e-6, error_max=1.0, error_max_rms=1e-5, tolerance=1e-4)
WRONG = msgspec.structs.replace(TRUTH, error_norm=0.5)


def _ended(outcome: Outcome, number: int) -> Case:
    (planned,) = make_plan(Effort.QUICK, ["cpu"], 3, only=["matmul-2048"]).cases["cpu"]
    samples = (Round(number=number, iterations=1, block_ns=(100,) * 10),)
    return msgspec.structs.replace(
        planned.ended(outcome, detail=f"round {number}"),
        rounds=samples if outcome in (Outcome.OK, Outcome.WRONG_RESULT) else (),
        truth={Outcome.OK: TRUTH, Outcome.WRONG_RESULT: WRONG}.get(outcome),
    )


@pytest.mark.parametrize("earlier", list(Outcome))
@pytest.mark.parametrize("later", list(Outcome))
def test_a_failure_in_one_round_stays_the_outcome_and_what_was_not_run_decides_nothing(
    earlier: Outcome, later: Outcome
) -> None:
    both = with_earlier_rounds(_ended(earlier, 0), _ended(later, 1))
    decides = later if earlier in (Outcome.OK, Outcome.NOT_RUN) and later is not Outcome.NOT_RUN else earlier
    assert both.outcome is decides
    if {earlier, later} == {Outcome.OK}:
        assert [one.number for one in both.rounds] == [0, 1]
    if earlier is Outcome.OK:
        assert both.rounds[0].number == 0
    if Outcome.WRONG_RESULT in (earlier, later) and decides is Outcome.WRONG_RESULT:
        assert both.truth == WRONG


def test_a_case_that_failed_in_a_round_is_not_tried_in_the_next(hostile: Hostile) -> None:
    saved: dict[str, Case] = {}
    plan = make_plan(Effort.QUICK, ["cpu"], 3, only=["lenet5-train-b128", "copy-bandwidth"])
    state = progress(msgspec.structs.replace(plan, rounds=2), hostile(lenet5_train_b128="error"), saved)
    state.slowness["cpu"] = 1e-3
    assert run_plan(state)
    assert saved["lenet5-train-b128"].outcome is Outcome.ERROR
    assert len(saved["copy-bandwidth"].rounds) == 2
    assert isinstance(state.watcher, Silent)
    assert sorted(state.watcher.ends) == ["copy-bandwidth"] * 2 + ["lenet5-train-b128"] * 2  # told in both rounds
    assert state.to_come == []


def test_a_state_that_cannot_be_read_costs_nothing_that_was_measured(hostile: Hostile) -> None:
    def broken() -> Moment | None:
        raise PermissionError("no")

    saved: dict[str, Case] = {}
    state = progress(make_plan(Effort.QUICK, ["cpu"], 3, only=["copy-bandwidth"]), hostile(), saved)
    state.moment = broken
    assert run_plan(state)
    assert (saved["copy-bandwidth"].outcome, saved["copy-bandwidth"].conditions) == (Outcome.OK, None)


def test_flags_told_by_times_are_told_anew_by_all_rounds_together() -> None:
    slow_start = Round(number=0, iterations=1, block_ns=(300, 250, 200, 150, *(100,) * 16))
    steady = tuple(Round(number=n, iterations=1, block_ns=(100,) * 10) for n in (1, 2))
    case = msgspec.structs.replace(_ended(Outcome.OK, 0), rounds=(slow_start,), flags=("few_samples",))
    assert flagged(case).flags == ("few_samples", "warmup")
    outlier = msgspec.structs.replace(case, flags=("beyond_peak", "slept"), rounds=steady)
    assert flagged(outlier).flags == ("slept",)
