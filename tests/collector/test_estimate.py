"""What a run would take, said before anything runs."""

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalmark_collector import estimate
from metalmark_collector.estimate import START_S, expect, guessed_rate
from metalmark_collector.fingerprint import local_probe
from metalmark_collector.look import look
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_collector.workloads import WORKLOADS
from metalmark_db import store
from metalmark_db.engine import open_database
from metalmark_db.record import Key, Machine, Round, RunHead
from metalmark_db.words import Effort, Outcome

M1 = Machine(vendor="apple", chip="Apple M1", cpu_cores=8, gpu_cores=8)
PROGRAM = "import sys; from metalmark_db.cli import main\ntry: main({})\nfinally: print('torch' in sys.modules)"


@pytest.fixture
def plan() -> Plan:
    """The quick effort on an M1."""
    return make_plan(Effort.QUICK, ["cpu", "mps"], 1)


def cases(plan: Plan) -> list[Planned]:
    """All of them."""
    return [case for some in plan.cases.values() for case in some]


def test_the_quick_effort_is_thought_to_take_about_its_aim_on_an_m1(plan: Plan) -> None:
    found = expect(plan, M1, {})
    assert len(found.cases) == plan.count
    assert 30 <= found.time_s <= plan.limit_s
    assert found.limit_s == plan.limit_s


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 100), st.floats(1e-6, 1e3), max_size=20))
def test_an_estimate_is_never_over_the_limit_nor_under_what_its_cases_take(medians: dict[int, float]) -> None:
    plan = make_plan(Effort.QUICK, ["cpu", "mps"], 1)
    known = {case.key: medians[place] for place, case in enumerate(cases(plan)) if place in medians}
    found = expect(plan, M1, known)
    assert 0 < found.time_s <= plan.limit_s
    total = sum(case.time_s for case in found.cases) + 2 * START_S
    assert found.time_s == pytest.approx(min(plan.limit_s, total))


def test_a_case_that_this_machine_has_measured_takes_what_it_took(plan: Plan) -> None:
    first, *_ = cases(plan)
    found = expect(plan, M1, {first.key: 0.123}, from_run=4)
    assert found.cases[0].iteration_s == 0.123
    assert found.from_run == 4


def test_one_measured_case_corrects_the_guesses_of_its_device_alone(plan: Plan) -> None:
    place, first = next((n, case) for n, case in enumerate(cases(plan)) if case.workload == "resnet18-infer-b32")
    guess = expect(plan, M1, {})
    slow = expect(plan, M1, {first.key: guess.cases[place].iteration_s * 10})
    for before, after in zip(guess.cases, slow.cases, strict=True):
        factor = 10 if after.device == first.device else 1
        assert after.iteration_s == pytest.approx(before.iteration_s * factor)


def test_what_is_done_takes_no_time(plan: Plan) -> None:
    done: set[tuple[Key, int]] = {(case.key, 0) for case in cases(plan) if case.device == "mps"}
    found = expect(plan, M1, {}, done)
    assert {case.device for case in found.cases} == {"cpu"}
    everything = done | {(case.key, 0) for case in cases(plan)}
    assert expect(plan, M1, {}, everything).time_s == 0


@pytest.mark.parametrize("kind", ["cpu", "mps", "cuda", "xpu", "fake"])
def test_a_device_that_is_unknown_is_guessed_all_the_same(kind: str) -> None:
    assert 1e10 < guessed_rate(kind, Machine()) < 1e14
    assert guessed_rate(kind, M1) > 0


def test_the_command_runs_nothing_imports_no_torch_and_stores_no_run(tmp_path: Path) -> None:
    database = tmp_path / "m.sqlite"
    arguments = ["run", "--estimate", "--device", "cpu", "--workload", "matmul-2048", "--db", str(database)]
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(arguments)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines()[1].startswith("matmul-2048")
    assert "1 case in 1 round" in found.stdout
    assert "This is an estimate" in found.stdout
    assert "a guess of how fast this machine is" in found.stdout
    assert found.stdout.splitlines()[-1] == "False"
    engine = open_database(str(database))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM runs").scalar() == 0


def test_the_newest_run_of_the_same_machine_is_what_the_estimate_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, seen = open_database(str(tmp_path / "m.sqlite")), look(local_probe())
    plan = make_plan(Effort.QUICK, ["cpu"], 1, only=["matmul-2048", "copy-bandwidth"])
    numbers = []
    for machine in (seen.machine, Machine(chip="another")):
        head = RunHead(
            started_at="2026-11-30T12:00:00+00:00",
            effort=Effort.QUICK,
            seed=1,
            machine=machine,
            software=seen.software,
            conditions_before=seen.conditions,
        )
        numbers.append(store.begin_run(engine, head, [WORKLOADS["matmul-2048"].facts]))
        done = cases(plan)[0].ended(Outcome.OK)
        samples = Round(number=0, iterations=1, block_ns=(500_000_000,) * 6)
        store.save_case(engine, numbers[-1], msgspec.structs.replace(done, rounds=(samples,)))
    found = estimate.estimate(engine, plan, seen.machine)
    assert found.from_run == numbers[0]
    assert found.cases[0].iteration_s == 0.5
    estimate.show(found, as_json=True)
    assert json.loads(capsys.readouterr().out)["cases"][0]["iteration_s"] == 0.5
    estimate.show(found)
    assert f"what run {numbers[0]} measured on this machine" in capsys.readouterr().out
