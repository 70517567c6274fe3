"""Storing runs: case by case, shared rows shared, nothing lost."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import queries, store
from metalmark_db.ask import ask
from metalmark_db.record import Case, Conditions, RunHead, Signature, Workload
from metalmark_db.words import Outcome

MakeCase = Callable[..., Case]


@pytest.fixture
def engine(any_engine: sa.Engine) -> sa.Engine:
    """Every test of this file is a promise on both engines."""
    return any_engine


@pytest.fixture
def run_id(engine: sa.Engine, head: RunHead, workload: Workload) -> int:
    """A run that has begun."""
    return store.begin_run(engine, head, [workload])


def test_a_case_is_there_for_others_as_soon_as_it_was_saved(
    engine: sa.Engine, any_address: str, run_id: int, make_case: MakeCase
) -> None:
    store.save_case(engine, run_id, make_case())
    other = store.open_database(any_address)
    assert [(row.outcome, row.median_s, row.samples) for row in queries.results(other)] == [("ok", 0.002, 10)]
    (case,) = store.load_cases(other, run_id)
    assert case.rounds[0].block_ns == (20_000_000,) * 10
    other.dispose()


def test_samples_can_be_read_by_any_sqlite_tool(
    database: Path, head: RunHead, workload: Workload, make_case: MakeCase
) -> None:
    ours = store.open_database(str(database))
    store.save_case(ours, store.begin_run(ours, head, [workload]), make_case())
    other = sqlite3.connect(database)
    assert other.execute("SELECT sum(value), count(*) FROM rounds, json_each(block_ns)").fetchone() == (200_000_000, 10)
    other.close()
    ours.dispose()


def test_a_killed_writer_loses_no_saved_case(any_address: str) -> None:
    """A process stores cases and is killed without warning after the third; three are there."""
    program = f"""
import os, signal, sys
from metalmark_db import store
from metalmark_db.record import *
from metalmark_db.words import *
engine = store.open_database({any_address!r})
facts = Workload(id="toy-infer", version=1, title="Toy", source="x", task=Task.INFERENCE, batch=1, input_shape="1",
                 item="image", items_per_iteration=1)
head = RunHead(started_at="2026-11-30T12:00:00+00:00", effort=Effort.QUICK, seed=1, machine=Machine(),
               software=Software(), conditions_before=Conditions())
run = store.begin_run(engine, head, [facts])
for device in ("cpu", "mps", "cuda"):
    store.save_case(engine, run, Case(workload="toy-infer", version=1, device=device, precision=Precision.FP32,
        mode=Mode.EAGER, outcome=Outcome.OK, rounds=(Round(number=0, iterations=1, block_ns=(5, 6, 7)),)))
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False)
    assert ended.returncode == -signal.SIGKILL
    engine = store.open_database(any_address)
    rows = queries.results(engine)
    engine.dispose()
    assert {(row.device, row.outcome) for row in rows} == {("cpu", "ok"), ("mps", "ok"), ("cuda", "ok")}


def test_saving_a_case_again_replaces_it_with_its_rounds(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    store.save_case(engine, run_id, make_case(outcome=Outcome.TIMEOUT, blocks=()))
    store.save_case(engine, run_id, make_case(blocks=(30_000_000,) * 7))
    (row,) = queries.results(engine, run_id)
    assert (row.outcome, row.samples, row.median_s) == ("ok", 7, 0.003)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM rounds").scalar() == 1


def test_speed_up_is_over_the_cpu_of_the_same_run(
    engine: sa.Engine, head: RunHead, workload: Workload, run_id: int, make_case: MakeCase
) -> None:
    store.save_case(engine, run_id, make_case("cpu", (40_000_000,) * 6))
    store.save_case(engine, run_id, make_case("mps", (10_000_000,) * 6))
    second = store.begin_run(engine, head, [workload])
    store.save_case(engine, second, make_case("mps", (10_000_000,) * 6))
    assert {(r.run_id, r.device): r.speedup for r in queries.results(engine)} == {
        (run_id, "cpu"): 1.0,
        (run_id, "mps"): 4.0,
        (second, "mps"): None,
    }


def test_throughput_and_flops_follow_from_the_median(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    store.save_case(engine, run_id, make_case(blocks=(20_000_000,) * 6))
    (row,) = queries.results(engine)
    assert row.items_per_s == pytest.approx(4000)
    assert row.tflops == pytest.approx(1.0)


def test_a_case_without_samples_has_no_median(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    store.save_case(engine, run_id, make_case(outcome=Outcome.CRASH, blocks=()))
    (row,) = queries.results(engine)
    assert (row.outcome, row.median_s, row.items_per_s, row.speedup) == ("crash", None, None, None)


def test_equal_machines_and_software_share_a_row(engine: sa.Engine, head: RunHead, workload: Workload) -> None:
    for _ in range(3):
        store.begin_run(engine, head, [workload])
    with engine.connect() as connection:
        counts = [connection.exec_driver_sql(f"SELECT count(*) FROM {t}").scalar() for t in ("machines", "software")]  # noqa: S608
    assert counts == [1, 1]
    assert len(queries.runs(engine)) == 3


def test_a_finished_run_says_so_and_keeps_the_conditions_after(engine: sa.Engine, run_id: int) -> None:
    assert not queries.runs(engine)[0].finished
    store.finish_run(engine, run_id, Conditions(power_source="battery"), finished=True)
    assert queries.runs(engine)[0].finished
    with engine.connect() as connection:
        after = connection.exec_driver_sql(
            "SELECT power_source FROM conditions c JOIN runs r ON r.conditions_after_id = c.id"
        ).scalar()
    assert after == "battery"


def test_an_ok_case_without_samples_is_refused(engine: sa.Engine, run_id: int, make_case: MakeCase) -> None:
    with pytest.raises(sa.exc.IntegrityError):
        store.save_case(engine, run_id, make_case(blocks=()))
    assert queries.results(engine) == []


def test_what_a_newer_program_knows_completes_a_workload_and_an_older_one_takes_nothing_away(
    engine: sa.Engine, head: RunHead, workload: Workload
) -> None:
    more = msgspec.structs.replace(
        workload, family="toy", variant="batch 8", model="ours", loss="none", optimizer="SGD", description="A toy."
    )
    known = []
    for facts in (workload, more, workload):
        store.begin_run(engine, head, [facts])
        (row,) = queries.workloads(engine)
        known.append(msgspec.convert(msgspec.to_builtins(row), Workload))
    assert known == [workload, more, more]
    renamed = msgspec.structs.replace(more, title="Toy, batch 8", optimizer="SGD, lr 0.1")
    store.begin_run(engine, head, [renamed])
    (row,) = queries.workloads(engine)
    assert (row.title, row.optimizer, row.family) == ("Toy, batch 8", "SGD, lr 0.1", "toy")


def test_results_name_family_variant_and_work_signature(
    engine: sa.Engine, head: RunHead, workload: Workload, make_case: MakeCase
) -> None:
    facts = msgspec.structs.replace(workload, family="toy", variant="batch 8")
    signature = Signature(parameters=0, forward_flops=2, calls=1, digest="0123456789abcdef")
    run_id = store.begin_run(engine, head, [facts])
    store.save_case(engine, run_id, make_case("cpu"))
    store.save_case(engine, run_id, msgspec.structs.replace(make_case("mps"), signature=signature))
    answer = ask(
        engine, "SELECT family, variant, device, signature_digest FROM results ORDER BY device", as_superuser=True
    )
    assert answer.rows == (("toy", "batch 8", "cpu", None), ("toy", "batch 8", "mps", "0123456789abcdef"))
    assert {row.family for row in queries.results(engine)} == {"toy"}


def test_hostile_text_is_stored_as_text(engine: sa.Engine, head: RunHead, workload: Workload) -> None:
    name = "M9'); DROP TABLE runs; -- <script>"
    hostile = msgspec.structs.replace(head, machine=msgspec.structs.replace(head.machine, chip=name))
    store.begin_run(engine, hostile, [workload])
    assert queries.runs(engine)[0].chip == name
