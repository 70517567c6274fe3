"""summary and cells: equal to the views that define them, on both engines, however the runs came in."""

import random
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import store, summary
from metalmark_db.aggregates import CELL_KEY, SUMMARY_KEY, VALUES
from metalmark_db.models import LoadedRecord, TouchedRecord
from metalmark_db.record import Case, Conditions, Machine, Round, RunHead, Software, Workload
from metalmark_db.stats import median_ranks
from metalmark_db.words import Mode, Outcome, Precision

CHIPS = ("Apple M4", "Apple M1", "NVIDIA H200", None)


def rows(engine: sa.Engine, table: str, keys: tuple[str, ...]) -> list[tuple[object, ...]]:
    """The rows of a table or view, in an order of their own."""
    names = ", ".join(f'"{name}"' for name in (*keys, *VALUES))
    with engine.connect() as connection:
        found = connection.execute(sa.text(f"SELECT {names} FROM {table}"))  # noqa: S608 - our own names
        return sorted((tuple(row) for row in found), key=repr)


def assert_equal_to_the_views(engine: sa.Engine) -> None:
    for table, keys in (("summary", SUMMARY_KEY), ("cells", CELL_KEY)):
        assert rows(engine, table, keys) == rows(engine, f"{table}_view", keys)


def fill(engine: sa.Engine, head: RunHead, workload: Workload, runs: int, seed: int) -> None:
    """Runs of several computers, some with a reporter, of several kinds of machine, software and outcome."""
    chance = random.Random(seed)
    for number in range(runs):
        chip = chance.choice(CHIPS)
        machine = Machine(
            chip=chip, cpu_cores=chance.choice((8, 10)), tier_counts=(4, 4), gpu_name=chip, gpu_cores=10, gpu_count=1,
            memory_bytes=chance.choice((8, 16)) * 2**30, virtual=chance.choice((False, False, True, None)),
        )  # fmt: skip
        software = Software(
            os_name="macOS", os_version=chance.choice(("26.1", "15.2")),
            torch_version=chance.choice(("2.14.1", "2.13.0")),
            environment=chance.choice(({}, {}, {}, {"OMP_NUM_THREADS": "1"})),
        )  # fmt: skip
        one = msgspec.structs.replace(
            head, machine=machine, software=software, started_at=f"2026-11-{number % 28 + 1:02}T00:00:00+00:00",
            reporter=chance.choice((None, *("0123456789abcde" + digit for digit in "0123456789abcdef"))),
            conditions_before=Conditions(power_source="ac", low_power_mode=chance.choice((False, None, True))),
        )  # fmt: skip
        run_id = store.begin_run(engine, one, [workload])
        for device in ("cpu", "mps"):
            outcome = chance.choice((Outcome.OK, Outcome.OK, Outcome.OK, Outcome.CRASH))
            blocks = tuple(chance.randrange(10_000_000, 20_000_000) for _ in range(chance.choice((3, 8))))
            case = Case(
                workload=workload.id, version=1, device=device, precision=Precision.FP32, mode=Mode.EAGER,
                outcome=outcome, device_chip=chip, fallback=device == "mps" and chance.random() < 0.1,
                flags=chance.choice(((), (), ("beyond_peak",))),
                rounds=(Round(number=0, iterations=10, block_ns=blocks),) if outcome is Outcome.OK else (),
            )  # fmt: skip
            store.save_case(engine, run_id, case)


@pytest.mark.parametrize("seed", range(3))
def test_both_tables_are_what_their_views_define(
    any_engine: sa.Engine, head: RunHead, workload: Workload, seed: int
) -> None:
    fill(any_engine, head, workload, runs=120, seed=seed)
    assert summary.refresh(any_engine) > 0
    assert_equal_to_the_views(any_engine)
    found = rows(any_engine, "summary", SUMMARY_KEY)
    kinds = {row[len(SUMMARY_KEY) + VALUES.index("interval")] for row in found}
    assert kinds >= {"range", "within one process"}


def test_from_six_computers_on_the_interval_is_that_of_their_median(
    any_engine: sa.Engine, head: RunHead, workload: Workload, plain_machine: RunHead
) -> None:
    for number in range(7):
        reporter = f"{number:016x}"
        run_id = store.begin_run(any_engine, msgspec.structs.replace(plain_machine, reporter=reporter), [workload])
        store.save_case(any_engine, run_id, ok((number + 1) * 10_000_000))
    summary.refresh(any_engine)
    ((machines, runs, centre, low, high, interval),) = ask(
        any_engine, 'SELECT machines, runs, median_s, low_s, high_s, "interval" FROM summary'
    )
    assert (machines, runs, interval) == (7, 7, "machines")
    assert (low, centre, high) == pytest.approx((0.001, 0.004, 0.007))
    assert_equal_to_the_views(any_engine)


def test_the_runs_of_one_computer_count_once(any_engine: sa.Engine, workload: Workload, plain_machine: RunHead) -> None:
    """Nine runs of a slow computer do not outvote two others."""
    for reporter, time, runs in (("a" * 16, 50_000_000, 9), ("b" * 16, 20_000_000, 1), ("c" * 16, 10_000_000, 1)):
        for _ in range(runs):
            head = msgspec.structs.replace(plain_machine, reporter=reporter)
            store.save_case(any_engine, store.begin_run(any_engine, head, [workload]), ok(time))
    summary.refresh(any_engine)
    assert ask(any_engine, "SELECT machines, runs, median_s FROM summary") == [(3, 11, 0.002)]


def test_only_what_has_changed_is_made_anew(any_engine: sa.Engine, workload: Workload, plain_machine: RunHead) -> None:
    other = msgspec.structs.replace(workload, id="toy-train")
    run_id = store.begin_run(any_engine, plain_machine, [workload, other])
    store.save_case(any_engine, run_id, ok(10_000_000))
    store.save_case(any_engine, run_id, msgspec.structs.replace(ok(10_000_000), workload="toy-train"))
    assert summary.refresh(any_engine) == 2
    assert summary.refresh(any_engine) == 0
    later = store.begin_run(any_engine, plain_machine, [workload])
    store.save_case(any_engine, later, ok(30_000_000))
    assert summary.refresh(any_engine) == 1
    found: dict[str, float] = dict(ask(any_engine, "SELECT workload, median_s FROM summary"))
    assert found == {"toy-infer": pytest.approx(0.002), "toy-train": 0.001}


def test_a_refresh_that_died_half_way_is_done_by_the_next(
    any_engine: sa.Engine, workload: Workload, plain_machine: RunHead
) -> None:
    store.save_case(any_engine, store.begin_run(any_engine, plain_machine, [workload]), ok(10_000_000))

    def die(_done: int, _every: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        summary.refresh(any_engine, die)
    with any_engine.connect() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(TouchedRecord)) == 1
    assert summary.refresh(any_engine) == 1
    assert_equal_to_the_views(any_engine)


def test_another_edition_of_the_spellings_makes_everything_anew(
    any_engine: sa.Engine, workload: Workload, plain_machine: RunHead
) -> None:
    store.save_case(any_engine, store.begin_run(any_engine, plain_machine, [workload]), ok(10_000_000))
    summary.refresh(any_engine)
    with any_engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM aliases WHERE spelling = 'Apple M4'"))
        connection.execute(
            sa.text("INSERT INTO aliases (spelling, chip, family) VALUES ('Apple M4', 'Four', 'Apple M4')")
        )
        connection.execute(sa.update(LoadedRecord).where(LoadedRecord.name == "published").values(digest="another"))
    summary.refresh(any_engine)
    assert ask(any_engine, "SELECT chip FROM summary") == [("Four",)]
    assert_equal_to_the_views(any_engine)


def test_the_ranks_of_the_database_are_those_of_the_statistics(any_engine: sa.Engine) -> None:
    found = {count: (low - 1, high - 1) for count, low, high in ask(any_engine, "SELECT count, low, high FROM ranks")}
    assert set(found) == set(range(6, 2001))
    for count in (6, 7, 8, 9, 20, 101, 999, 1000, 1001, 2000):
        assert found[count] == median_ranks(count)


def ok(block_ns: int) -> Case:
    """A right case whose ten blocks of ten iterations took this long each."""
    return Case(
        workload="toy-infer", version=1, device="mps", precision=Precision.FP32, mode=Mode.EAGER, outcome=Outcome.OK,
        device_chip="Apple M4", rounds=(Round(number=0, iterations=10, block_ns=(block_ns,) * 10),),
    )  # fmt: skip


def ask(engine: sa.Engine, statement: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(statement))]


@pytest.fixture
def plain_machine(head: RunHead) -> RunHead:
    """A run without an environment variable that keeps it out of rankings."""
    return msgspec.structs.replace(head, software=msgspec.structs.replace(head.software, environment={}))
