"""Runs that were really measured stay readable, and say what they said."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import document, queries, store
from metalmark_db.record import Conditions, Round, Run
from metalmark_db.stats import summarize, sustained_ratio
from metalmark_db.words import Mode, Outcome, Precision

RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))


def read(path: Path) -> Run:
    """The run in a file."""
    return document.decode(path.read_bytes()).run


def test_there_are_recorded_runs() -> None:
    assert {path.stem for path in RUNS} >= {
        "cpu-quick",
        "h200-core",
        "h200-quick",
        "h200-standard",
        "h200-sustained",
    }


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_every_case_has_samples_a_right_output_and_its_evidence(path: Path) -> None:
    for case in read(path).cases:
        if case.outcome is not Outcome.OK:
            assert case.outcome is Outcome.NOT_RUN
            continue
        assert case.truth is not None
        assert case.truth.error_norm <= case.truth.tolerance
        assert case.settings["cudnn.allow_tf32"] is (case.precision is Precision.TF32)
        assert len(case.rounds) in (1, 2, 3, 5)
        for samples in case.rounds:
            assert len(samples.block_ns) <= 20
            assert samples.residual_ns is not None


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_run_goes_into_the_database_and_comes_out_the_same(engine: sa.Engine, path: Path) -> None:
    told = document.decode(path.read_bytes())
    run, facts = told.run, told.workloads
    run_id = store.begin_run(engine, run.head, facts)
    for case in run.cases:
        store.save_case(engine, run_id, case)
    store.finish_run(engine, run_id, Conditions(), finished=True)
    assert {case.key: case for case in store.load_cases(engine, run_id)} == {case.key: case for case in run.cases}
    medians = {(r.workload, r.device, r.precision, r.mode): r.median_s for r in queries.results(engine, run_id)}
    for case in run.cases:
        found = summarize(case.rounds)
        assert medians[case.workload, case.device, case.precision.value, case.mode.value] == (
            found.median_s if found else None
        )


def width(rounds: Sequence[Round]) -> float:
    """How many times its lower end the upper end of an interval is; 0 without one."""
    found = summarize(rounds)
    return found.high_s / found.low_s if found and found.low_s and found.high_s else 0.0


def one_width(one: Round) -> float:
    """The same of a round by itself."""
    return width([one])


def test_rounds_in_other_processes_differ_by_more_than_the_blocks_of_one() -> None:
    """What the interval over rounds is for, in a run on a shared machine that was ended in its third round."""
    (run,) = (read(path) for path in RUNS if path.stem == "h200-standard")
    whole = [case for case in run.cases if len(case.rounds) == 3]
    assert len(whole) >= 10
    for case in whole:
        found = summarize(case.rounds)
        assert found is not None
        assert found.interval == ("rounds" if not found.bimodal else None)
    wider = [
        width(case.rounds) > max(widths)
        for case in whole
        if (widths := [one for one in map(one_width, case.rounds) if one])
    ]
    assert sum(wider) > len(wider) / 2


def test_compiled_cases_were_measured_too() -> None:
    (run,) = (read(path) for path in RUNS if path.stem == "h200-standard")
    compiled = [case for case in run.cases if case.mode is Mode.COMPILE]
    assert {case.workload for case in compiled} == {
        "resnet50-train-b8", "resnet50-infer-b8", "bert-base-train-t128-b4", "bert-base-infer-t128-b4"
    }  # fmt: skip
    firsts = [
        (one.first_call_ns or 0) / (min(one.block_ns) / one.iterations) for case in compiled for one in case.rounds
    ]
    assert min(firsts) > 50  # compiling, also from what an earlier round has kept, is no part of the samples
    assert max(firsts) > 1000


def test_the_core_suite_was_right_on_a_gpu_in_every_precision_and_compiled() -> None:
    """One round of the standard effort's workloads; two cases were given up, which a later engine would not do."""
    (run,) = (read(path) for path in RUNS if path.stem == "h200-core")
    right = [case for case in run.cases if case.outcome is Outcome.OK]
    assert (len(right), len(run.cases)) == (74, 76)
    assert {case.precision.value for case in right} == {"fp32", "tf32", "fp16", "bf16", "amp_bf16"}
    compiled = {case.workload for case in right if case.mode is Mode.COMPILE}
    assert compiled == {
        "resnet50-train-b32", "bert-base-train-t128-b16", "vit-b16-infer-b32", "gpt-baby-train-b16"
    }  # fmt: skip


def test_on_an_asynchronous_gpu_enqueuing_takes_a_fraction_of_the_work() -> None:
    """The evidence that the clock waited: a large product is handed over in a tenth of its time."""
    rounds = [samples for path in RUNS for case in read(path).cases if case.device == "cuda" for samples in case.rounds]
    assert len(rounds) > 50
    for samples in rounds:
        assert samples.probe_enqueue_ns is not None
        assert samples.probe_synchronized_ns is not None
        assert samples.probe_enqueue_ns * 5 < samples.probe_synchronized_ns


def test_a_minute_on_a_real_gpu_was_as_fast_at_its_end_and_took_what_its_maker_allows() -> None:
    """VGG-16 on an H200, which may take 700 W; the energy is that of the card's own counter."""
    (case,) = read(next(path for path in RUNS if path.stem == "h200-sustained")).cases
    minute = case.sustained
    assert minute is not None
    assert sustained_ratio(case.rounds, minute) == pytest.approx(1.0, abs=0.02)
    assert minute.energy_j is not None
    assert minute.energy_source == "nvml"
    assert 300 < minute.energy_j / 60 < 700
