"""Runs out of the database again: what is loaded is what was stored, whatever it holds."""

import math
from collections.abc import Callable

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from metalmark_db import queries, store
from metalmark_db.errors import UsageProblem
from metalmark_db.load import load_cases, load_head
from metalmark_db.record import Case, Conditions, Machine, Moment, Round, RunHead, Truth, Workload
from metalmark_db.words import Effort, Outcome
from tests.records import records

MakeCase = Callable[..., Case]


def storable(case: Case) -> Case:
    """The case as an engine could have made it: rounds numbered, of this workload, and ok only with samples."""
    rounds = tuple(msgspec.structs.replace(one, number=number) for number, one in enumerate(case.rounds))
    sampled = any(one.block_ns for one in rounds)
    outcome = Outcome.ERROR if case.outcome is Outcome.OK and not sampled else case.outcome
    conditions = None if case.conditions == Moment() else case.conditions  # nothing known is nothing to keep
    return msgspec.structs.replace(case, version=1, rounds=rounds, outcome=outcome, conditions=conditions)


@pytest.fixture
def engine(any_engine: sa.Engine) -> sa.Engine:
    """Every test of this file is a promise on both engines."""
    return any_engine


@pytest.fixture
def run_id(engine: sa.Engine, head: RunHead, workload: Workload) -> int:
    return store.begin_run(engine, head, [workload])


@given(case=records(Case).map(storable))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_case_comes_back_as_it_was_saved(engine: sa.Engine, run_id: int, case: Case) -> None:
    store.save_case(engine, run_id, case)
    assert [one for one in load_cases(engine, run_id) if one.key == case.key] == [case]


@given(head=records(RunHead))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_head_of_a_run_comes_back_as_it_was_stored(engine: sa.Engine, workload: Workload, head: RunHead) -> None:
    assert load_head(engine, store.begin_run(engine, head, [workload])) == head


def test_cases_come_in_the_order_stored_each_with_its_own_rounds(
    engine: sa.Engine, run_id: int, make_case: MakeCase
) -> None:
    cases = [make_case("mps", (10_000_000,) * 6), make_case("cpu", (20_000_000,) * 7)]
    for case in cases:
        store.save_case(engine, run_id, case)
    assert load_cases(engine, run_id) == tuple(cases)


def test_an_error_that_is_no_number_is_no_obstacle(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    """The output of a broken kernel may hold NaN, and with it the error; SQLite keeps NULL for it."""
    truth = Truth(
        reference="cpu fp32", samples=1, error_norm=math.nan, error_max=math.inf, error_max_rms=1.0, tolerance=1e-4
    )
    case = msgspec.structs.replace(make_case(outcome=Outcome.WRONG_RESULT), truth=truth)
    store.save_case(engine, run_id, case)
    (loaded,) = load_cases(engine, run_id)
    assert loaded.truth is not None
    assert math.isnan(loaded.truth.error_norm)
    assert loaded.truth.error_max == math.inf


def test_a_run_without_cases_has_none_and_a_run_that_is_not_there_is_named(engine: sa.Engine, run_id: int) -> None:
    assert load_cases(engine, run_id) == ()
    with pytest.raises(UsageProblem, match="no run 4711"):
        load_head(engine, 4711)


def test_rounds_come_in_the_order_of_their_numbers(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    rounds = tuple(Round(number=number, iterations=10, block_ns=(20_000_000,) * 6) for number in (0, 1, 2))
    store.save_case(engine, run_id, msgspec.structs.replace(make_case(), rounds=rounds[::-1]))
    assert load_cases(engine, run_id)[0].rounds == rounds


def test_a_run_begins_with_its_cases_or_not_at_all(
    engine: sa.Engine, head: RunHead, workload: Workload, make_case: MakeCase
) -> None:
    waiting = make_case(blocks=(), outcome=Outcome.NOT_RUN)
    run_id = store.begin_run(engine, head, [workload], [waiting])
    assert load_cases(engine, run_id) == (waiting,)
    ok_without_samples = make_case(device="mps", blocks=())
    with pytest.raises(sa.exc.IntegrityError):
        store.begin_run(engine, head, [workload], [waiting, ok_without_samples])
    assert queries.run_ids(engine) == [run_id]


def test_runs_are_found_by_machine_effort_and_end(engine: sa.Engine, head: RunHead, workload: Workload) -> None:
    full = msgspec.structs.replace(head, effort=Effort.FULL)
    other = msgspec.structs.replace(head, machine=Machine(chip="Apple M5"))
    first, second, third, fourth = (store.begin_run(engine, one, [workload]) for one in (head, full, other, head))
    store.finish_run(engine, first, Conditions(), finished=True)
    store.finish_run(engine, fourth, Conditions(), finished=False)
    assert queries.run_ids(engine) == [fourth, third, second, first]
    assert queries.run_ids(engine, head.machine) == [fourth, second, first]
    assert queries.run_ids(engine, head.machine, Effort.FULL) == [second]
    assert queries.run_ids(engine, finished=True) == [first]
    assert queries.unfinished_run(engine, head.machine) == fourth
    assert queries.unfinished_run(engine, head.machine, Effort.FULL) == second
    assert queries.unfinished_run(engine, Machine(chip="Apple M9")) is None


def test_a_run_that_ends_twice_keeps_the_later_conditions_alone(engine: sa.Engine, run_id: int) -> None:
    store.finish_run(engine, run_id, Conditions(power_source="battery"), finished=False)
    store.finish_run(engine, run_id, Conditions(power_source="ac"), finished=True)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT power_source FROM conditions ORDER BY id").fetchall()
    assert rows == [("ac",), ("ac",)]  # before and after
