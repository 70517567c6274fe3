"""Runs that were really measured stay readable, and say what they said."""

from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import queries, store
from metalmark_db.record import Conditions, Run, Workload
from metalmark_db.stats import summarize
from metalmark_db.words import Outcome, Task

RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))


def read(path: Path) -> Run:
    """The run in a file."""
    return msgspec.json.decode(path.read_bytes(), type=Run)


def test_there_are_recorded_runs() -> None:
    assert {path.stem for path in RUNS} >= {"h200-quick"}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_case_has_samples_a_right_output_and_its_evidence(path: Path) -> None:
    for case in read(path).cases:
        if case.outcome is not Outcome.OK:
            assert case.outcome is Outcome.NOT_RUN
            continue
        assert case.truth is not None
        assert case.truth.error_norm <= case.truth.tolerance
        assert case.settings["cudnn.allow_tf32"] is False
        (samples,) = case.rounds
        assert len(samples.block_ns) <= 20
        assert samples.residual_ns is not None


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_run_goes_into_the_database_and_comes_out_the_same(engine: sa.Engine, path: Path) -> None:
    run = read(path)
    facts = [
        Workload(
            id=name, version=version, title=name, source="x", task=Task.OPERATION, batch=1, input_shape="1",
            item="call", items_per_iteration=1,
        )
        for name, version in {(case.workload, case.version) for case in run.cases}
    ]  # fmt: skip
    run_id = store.begin_run(engine, run.head, facts)
    for case in run.cases:
        store.save_case(engine, run_id, case)
    store.finish_run(engine, run_id, Conditions(), finished=True)
    assert {case.key: case for case in store.load_cases(engine, run_id)} == {case.key: case for case in run.cases}
    medians = {(r.workload, r.device, r.precision): r.median_s for r in queries.results(engine, run_id)}
    for case in run.cases:
        found = summarize(case.rounds)
        assert medians[case.workload, case.device, case.precision.value] == (found.median_s if found else None)


def test_on_an_asynchronous_gpu_enqueuing_takes_a_fraction_of_the_work() -> None:
    """The evidence that the clock waited: a large product is handed over in a tenth of its time."""
    (run,) = (read(path) for path in RUNS if path.stem == "h200-quick")
    products = [case.rounds[0] for case in run.cases if case.device == "cuda"]
    assert products
    for samples in products:
        assert samples.probe_enqueue_ns is not None
        assert samples.probe_synchronized_ns is not None
        assert samples.probe_enqueue_ns * 5 < samples.probe_synchronized_ns
