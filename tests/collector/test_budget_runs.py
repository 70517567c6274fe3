"""Whole runs on a scripted clock: they end within their budget on slow and fast devices alike."""

import dataclasses
import gc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import torch

from metalmark_collector import budget, perform
from metalmark_collector.budget import Budget
from metalmark_collector.clock import ScriptedClock
from metalmark_collector.devices.fake import FakeDevice, by_flops
from metalmark_collector.messages import Beat, Done, Hello, Task
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_collector.process import Death
from metalmark_collector.progress import Progress
from metalmark_collector.runner import run_plan
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Job, Prepared
from metalmark_db.record import Case, Machine, Round, Truth
from metalmark_db.words import Effort, Mode, Outcome, Reason

M1_CPU = 0.5e12  # FLOP/s that a workload reaches
M1_GPU = 1.5e12
M1_PRO = 0.6  # of an M1's time: twice the cores in its GPU, and eight fast ones in its CPU instead of four
START_NS = 4_000_000_000  # to import torch


class ScriptedWorker:
    """A worker in this process, whose device and clock are scripted."""

    printed = ""

    def __init__(self, device: FakeDevice, flops_per_s: float) -> None:
        self.device, self.flops_per_s = device, flops_per_s
        device.clock.advance(START_NS)

    def greet(self, limit_s: float) -> Hello | Death:
        """The greeting, with the rate that a small matmul would have on such a device."""
        assert limit_s > 0
        return Hello(
            torch_version="2.14.1",
            torch_git=None,
            torch_debug=False,
            threads=1,
            unusable=None,
            chip_name=None,
            flops_per_s=self.flops_per_s,
        )

    def ask(self, task: Task, limit_s: float, on_beat: Callable[[Beat], None]) -> Done | Death:
        """What the real worker's code makes of the task; killed when it passed the limit."""
        clock = self.device.clock
        end_ns = clock.time_ns + int(limit_s * 1e9)
        answer = perform.perform(task, self.device, clock, lambda samples: on_beat(Beat(samples=samples)))
        if clock.time_ns <= end_ns:
            return answer
        clock.time_ns = end_ns
        return Death(exit_code=None, timed_out=True, stdout="", stderr="")

    def close(self) -> None:
        """Nothing."""


class Ignore:
    """A watcher who looks away."""

    def starting(self, device: str) -> None:
        """Nothing."""

    def measuring(self, case: Planned, round_number: int) -> None:
        """Nothing."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:
        """Nothing."""


@pytest.fixture
def trivial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workloads that compute next to nothing: what they cost is what the script says."""
    monkeypatch.setattr(gc, "collect", lambda *_: 0)  # a second of real time for every case of a scripted run

    def builder(_job: Job) -> Prepared:
        return Prepared(step=lambda: torch.ones(1), output=lambda: torch.ones(1), close=lambda: None)

    monkeypatch.setattr(
        perform, "KNOWN", {name: dataclasses.replace(entry, builder=builder) for name, entry in WORKLOADS.items()}
    )


def run(plan: Plan, slower: float) -> tuple[float, dict[Any, Case]]:
    """Scripted seconds that the run took, and its cases."""
    clock = ScriptedClock()
    speed = {"cpu": M1_CPU, "mps": M1_GPU}

    def start(kind: str, **_: object) -> Any:
        # The kind stays "fake" for the builders; only the script tells the devices apart.
        script = by_flops(speed[kind], otherwise_ns=25_000_000)
        return ScriptedWorker(FakeDevice(clock=clock, script=script, slower=slower), 2 * speed[kind] / slower)

    state = _progress(plan, clock, start)
    assert run_plan(state)
    return clock.time_ns / 1e9, state.cases


def _progress(plan: Plan, clock: ScriptedClock, start: Callable[..., Any]) -> Progress:
    return Progress(
        plan=plan,
        machine=Machine(chip="Apple M1"),
        save=lambda _: None,
        watcher=Ignore(),
        budget=Budget(aimed_s=plan.aimed_s, limit_s=plan.limit_s, began=0.0),
        now=lambda: clock.time_ns / 1e9,
        start_worker=start,
    )


@pytest.mark.usefixtures("trivial")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_run_on_an_m1_keeps_to_its_aim_and_measures_everything(seed: int) -> None:
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], seed)
    took, cases = run(plan, slower=1.0)
    assert took <= plan.aimed_s
    assert {case.outcome for case in cases.values()} == {Outcome.OK}


@pytest.mark.usefixtures("trivial")
@pytest.mark.parametrize(("effort", "machine"), [(Effort.STANDARD, 1.0), (Effort.FULL, M1_PRO)])
@pytest.mark.parametrize("slower", [0.1, 1.0, 10.0])
def test_longer_runs_keep_to_their_budget_and_measure_every_round(
    slower: float, effort: Effort, machine: float
) -> None:
    plan = make_plan(effort, ["cpu", "mps"], 1)
    took, cases = run(plan, slower * machine)
    assert took <= (plan.aimed_s if slower <= 1 else plan.limit_s)
    if slower <= 1:
        assert {len(case.rounds) for case in cases.values()} == {plan.rounds}
    seconds = {key: sum(case.sustained.block_ns) / 1e9 for key, case in cases.items() if case.sustained}
    assert all(plan.sustain_s <= each < 2 * plan.sustain_s for each in seconds.values())
    assert set(seconds) == ({case.key for case in plan.sustained} if slower <= 1 else set(seconds))


@pytest.mark.usefixtures("trivial")
def test_a_case_that_is_far_slower_than_thought_gets_its_time_in_the_next_round() -> None:
    """Depthwise convolutions took ten times what their FLOPs say on two cores, and were given up in every round."""
    plan = make_plan(Effort.STANDARD, ["cpu"], 1, only=["efficientnet-b0-infer-b32"])
    plan = msgspec.structs.replace(plan, aimed_s=600, limit_s=600)
    clock = ScriptedClock()
    device = FakeDevice(clock=clock, script=by_flops(M1_CPU / 1000))
    state = _progress(plan, clock, lambda *_, **__: ScriptedWorker(device, 2 * M1_CPU))
    assert run_plan(state)
    (case,) = state.cases.values()
    assert state.first_s[case.key] == pytest.approx(49, rel=0.02)  # in the first round ...
    assert case.outcome is Outcome.OK  # ... and never again
    assert [one.number for one in case.rounds] == [1, 2]


@pytest.mark.parametrize("misleading", ["launch", "launch-chain-100", "item", "lenet5-train-b128"])
def test_what_launching_costs_says_nothing_of_other_cases(misleading: str) -> None:
    """A launch that takes a hundredth of its estimate would make all others a hundred times quicker in thought."""
    names = [misleading, "resnet50-train-b32", "resnet50-infer-b32"]
    plan = make_plan(Effort.STANDARD, ["cpu"], 1, only=names)
    progress = _progress(plan, ScriptedClock(), lambda *_, **__: None)
    progress.rates["cpu"] = 1e11
    cases = {case.workload: case for case in plan.cases["cpu"]}
    thought = progress.iteration_s(cases["resnet50-train-b32"])
    progress.learn(cases[misleading], Round(number=0, iterations=1000, block_ns=(10**6,)))
    assert progress.iteration_s(cases["resnet50-train-b32"]) == thought
    half = round(progress.iteration_s(cases["resnet50-infer-b32"]) * 1e9 / 2)
    progress.learn(cases["resnet50-infer-b32"], Round(number=0, iterations=1, block_ns=(half,)))
    assert progress.iteration_s(cases["resnet50-train-b32"]) == pytest.approx(thought / 2)


def test_writing_a_token_is_thought_to_take_as_long_as_reading_the_weights() -> None:
    """And says nothing of others, since arithmetic is not what it waits for."""
    decode, prefill = (WORKLOADS[f"llama-1b-{part}-t512-b1"].facts for part in ("decode", "prefill"))
    assert budget.iteration_s(decode, 1e15) == pytest.approx(4.4e9 / 10e9, rel=0.01)
    assert not budget.is_telling(decode)
    assert budget.is_telling(prefill)


def test_compiling_is_learned_from_the_cases_before() -> None:
    plan = make_plan(Effort.STANDARD, ["mps"], 1, only=["resnet50-train-b8"], modes=[Mode.COMPILE])
    progress = _progress(plan, ScriptedClock(), lambda *_, **__: None)
    (case, *_) = plan.cases["mps"]
    progress.learn(case, Round(number=0, iterations=1, block_ns=(10**8,), first_call_ns=240 * 10**9))
    assert progress.compile_slowness == pytest.approx(2.0)  # four times as slow as thought, seen once


@pytest.mark.usefixtures("trivial")
def test_later_rounds_know_what_a_case_takes_from_the_earlier_ones() -> None:
    """A case a hundred times slower than its FLOPs say is asked for once, and then known to be slow."""
    clock = ScriptedClock()
    plan = make_plan(Effort.STANDARD, ["cpu"], 1, only=["matmul-2048"])
    progress = _progress(plan, clock, lambda *_, **__: None)
    planned = plan.cases["cpu"][0]
    guessed = progress.iteration_s(planned)
    slow = Round(number=0, iterations=2, block_ns=(400_000_000,), first_call_ns=1)
    progress.end(msgspec.structs.replace(planned.ended(Outcome.OK), rounds=(slow,)))
    assert progress.iteration_s(planned) == pytest.approx(0.2)
    assert guessed < 0.1


@pytest.mark.usefixtures("trivial")
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("slower", [0.1, 3.0, 10.0, 30.0, 300.0])
def test_a_run_never_passes_its_limit_and_every_case_has_an_outcome(slower: float, seed: int) -> None:
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], seed)
    took, cases = run(plan, slower)
    assert took <= plan.limit_s
    assert len(cases) == plan.count
    assert {case.outcome for case in cases.values()} <= {Outcome.OK, Outcome.NOT_RUN}
    assert all(case.reason is Reason.BUDGET for case in cases.values() if case.outcome is Outcome.NOT_RUN)


@pytest.mark.usefixtures("trivial")
def test_a_device_ten_times_slower_still_measures_most_of_the_suite() -> None:
    measured = [
        sum(case.outcome is Outcome.OK for case in run(make_plan(Effort.QUICK, ["cpu", "mps"], seed), 10.0)[1].values())
        for seed in (1, 2, 3)
    ]
    assert min(measured) >= 12  # of 19


@pytest.mark.usefixtures("trivial")
def test_slow_cases_are_measured_down_to_single_iterations_and_flagged() -> None:
    _, cases = run(make_plan(Effort.QUICK, ["cpu", "mps"], 1), 10.0)
    slow = [case for case in cases.values() if case.rounds and len(case.rounds[0].block_ns) < 10]
    assert slow
    assert all("few_samples" in case.flags for case in slow)


def test_a_comparison_is_brief_once_the_case_has_been_compared_and_not_before() -> None:
    """A round that was not run, or that compared nothing, is none to rely on."""
    truth = Truth(reference="cpu fp64", samples=1, error_norm=0.0, error_max=0.0, error_max_rms=0.0, tolerance=1e-4)
    samples = Round(number=0, iterations=1, block_ns=(10**8,) * 6, first_call_ns=10**8)
    compared = Done(outcome=Outcome.OK, round=samples, truth=truth)
    answers = [Done(outcome=Outcome.NOT_RUN, reason=Reason.BUDGET, detail="no time"), compared, compared]
    briefs: list[bool] = []

    class Answering(ScriptedWorker):
        def ask(self, task: Task, _limit_s: float, _on_beat: Callable[[Beat], None]) -> Done:
            """The next answer."""
            briefs.append(task.brief)
            return answers[len(briefs) - 1]

    clock = ScriptedClock()
    plan = make_plan(Effort.STANDARD, ["cpu"], 1, only=["matmul-2048"])
    assert run_plan(_progress(plan, clock, lambda *_, **__: Answering(FakeDevice(clock=clock), M1_CPU)))
    assert briefs == [False, False, True]
