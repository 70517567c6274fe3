"""The made-up fleet is as real ones are: in what it holds, in its size, in its speed and in its failures."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import islice, pairwise
from statistics import median

import msgspec
import pytest

import fleet
from _fleet_speed import REGRESSION, recorded
from _fleet_state import torch_release
from metalmark_collector.plugins import KNOWN
from metalmark_db.checks import contradictions, problems
from metalmark_db.chips import ChipFacts, agreed, facts
from metalmark_db.data import data
from metalmark_db.document import document_of, encode
from metalmark_db.names import read_aliases
from metalmark_db.plausible import is_beyond_peak, peak, rate
from metalmark_db.published import read_chips
from metalmark_db.record import Case, Machine, Run, Workload
from metalmark_db.series import case_flags
from metalmark_db.stats import summarize
from metalmark_db.words import Mode, Outcome, Precision, Reason

Made = tuple[Run, tuple[Workload, ...]]
COUNT = 240


@pytest.fixture(scope="module")
def made() -> list[Made]:
    return list(fleet.runs(COUNT))


@pytest.fixture(scope="module")
def cases(made: list[Made]) -> list[Case]:
    return [case for run, _ in made for case in run.cases]


def test_the_same_seed_gives_the_same_runs_and_another_seed_gives_others(made: list[Made]) -> None:
    assert list(fleet.runs(10)) == made[:10]
    assert all(run != other for (run, _), (other, _) in zip(fleet.runs(10, seed=2), made, strict=False))


def test_a_run_is_the_same_whatever_the_count_and_the_first(made: list[Made]) -> None:
    assert next(fleet.runs(1, first=99)) == made[99]
    assert list(islice(fleet.runs(10**9), 3)) == made[:3]


def test_every_run_is_valid_and_comes_back_from_json_as_it_was(made: list[Made]) -> None:
    for run, workloads in made:
        assert msgspec.json.decode(msgspec.json.encode(run), type=Run) == run
        document = document_of(run, workloads)
        assert problems(document) == []
        assert contradictions([case.key[:2] for case in run.cases], document.workloads, {}) == []


def test_every_workload_of_a_run_is_told_in_full(made: list[Made]) -> None:
    for run, workloads in made:
        assert {(case.workload, case.version) for case in run.cases} == {(one.id, one.version) for one in workloads}


def test_a_run_has_some_eighty_cases_in_three_rounds_of_twenty_samples(made: list[Made]) -> None:
    whole = [run for run, _ in made if run.finished and any(case.device != "cpu" for case in run.cases)]
    assert len(whole) > 0.85 * COUNT
    for run in whole:
        assert 76 <= len(run.cases) <= 90
        for case in run.cases:
            if case.outcome is Outcome.OK:
                assert [one.number for one in case.rounds] == [0, 1, 2]
                assert {len(one.block_ns) for one in case.rounds} == {20}


def test_a_case_takes_as_many_bytes_as_a_real_one(cases: list[Case]) -> None:
    ours = fleet.bytes_per_case(cases)
    for name in ("h200-core", "h200-standard"):
        real = fleet.bytes_per_case(recorded(name).run.cases)
        assert ours == pytest.approx(real, rel=fleet.FIGURE)


def test_a_whole_document_is_as_big_as_a_real_one(made: list[Made]) -> None:
    real = recorded("h200-core")
    grown = fleet.bytes_per_case(real.run.cases) * len(real.run.cases) + len(encode(real)) - _bytes(real.run.cases)
    sizes = [len(encode(document_of(*one))) for one in made if len(one[0].cases) >= len(real.run.cases)]
    assert median(sizes) == pytest.approx(grown, rel=fleet.FIGURE)


def _bytes(cases: tuple[Case, ...]) -> int:
    return len(msgspec.json.encode(cases))


def test_what_is_measured_is_told_in_the_fields_that_a_real_run_fills(cases: list[Case]) -> None:
    real = [case for case in recorded("h200-core").run.cases if case.outcome is Outcome.OK]
    ours = [case for case in cases if case.outcome is Outcome.OK and case.device == "cuda"]
    assert _filled(*ours) - {"conditions_after"} == _filled(*real)
    assert _filled(*(one for case in ours for one in case.rounds)) == _filled(
        *(one for case in real for one in case.rounds)
    )


def _filled(*records: msgspec.Struct) -> set[str]:
    return {name for record in records for name in msgspec.to_builtins(record)}


def test_a_few_in_a_hundred_cases_fail_and_in_every_way_that_cases_fail(cases: list[Case]) -> None:
    ended = Counter(case.outcome for case in cases)
    assert 0.04 < 1 - ended[Outcome.OK] / len(cases) < 0.08
    assert set(ended) == set(Outcome) - {Outcome.NO_BACKEND}
    reasons = {case.reason for case in cases} - {None}
    assert reasons == {
        Reason.MEMORY_ESTIMATE,
        Reason.BUDGET,
        Reason.NO_COMPILER,
        Reason.INTERRUPTED,
    }


def test_failures_lie_where_their_causes_are(made: list[Made]) -> None:
    for run, _ in made:
        release, machine = torch_release(run.head.software.torch_version), run.head.machine
        for case in run.cases:
            if case.outcome is Outcome.UNSUPPORTED_OP:
                assert case.device == "mps"
                assert release < 9 or run.head.software.os_version == "13.7.8"
            if case.outcome is Outcome.OUT_OF_MEMORY and case.device == "mps":
                assert machine.memory_bytes is not None
                assert machine.memory_bytes <= 12 * 2**30


def test_what_metal_lacks_is_tried_once_more_with_fallback(made: list[Made]) -> None:
    helped = 0
    for run, _ in made:
        lacking = {case.key[:-1] for case in run.cases if case.outcome is Outcome.UNSUPPORTED_OP and not case.fallback}
        again = {case.key[:-1]: case for case in run.cases if case.fallback}
        assert set(again) == lacking
        helped += sum(bool(case.fallback_ops) and case.outcome is Outcome.OK for case in again.values())
    assert helped > 0


def test_a_wrong_result_is_further_away_than_allowed_and_a_right_one_is_not(cases: list[Case]) -> None:
    for case in cases:
        if case.truth is not None:
            wrong = case.truth.error_norm > case.truth.tolerance
            assert wrong is (case.outcome is Outcome.WRONG_RESULT)


def test_nothing_is_faster_than_its_chip_can_be(made: list[Made]) -> None:
    judged: Counter[str] = Counter()
    for run, _ in made:
        peaks = _peaks(run.head.machine)
        for case in run.cases:
            found, entry = summarize(case.rounds), KNOWN[case.workload]
            if found is None or case.outcome is not Outcome.OK:
                continue
            most = peak(peaks, case.device, case.precision, entry.bound)
            beyond = is_beyond_peak(rate(entry.facts, found.median_s, entry.bound), most, entry.bound)
            assert not beyond, (run.head.machine, case.key)
            judged[case.device] += beyond is False
    assert judged["mps"] > 2000
    assert judged["cuda"] > 500


def _peaks(machine: Machine) -> ChipFacts:
    """What is published of the machine's chip, whose card has another spelling there."""
    if (machine.chip or "").startswith("Apple"):
        return facts(machine)
    rows = read_chips(data("published"))
    named = [one for one in read_aliases(data("published"), rows) if one["spelling"] == machine.gpu_name]
    wanted = [(one["chip"], one["bin"]) for one in named]
    return agreed(
        [row for row in rows if wanted and row["chip"] == wanted[0][0] and wanted[0][1] in (None, row["variant"])], None
    )


def test_the_gpu_of_a_mac_is_faster_than_its_cpu_at_large_work(made: list[Made]) -> None:
    ratios = []
    for run, _ in made:
        times = {
            case.device: summary.median_s
            for case in run.cases
            if (case.workload, case.precision, case.mode) == ("resnet50-train-b32", Precision.FP32, Mode.EAGER)
            and (summary := summarize(case.rounds)) is not None
        }
        if {"cpu", "mps"} <= set(times):
            ratios.append(times["cpu"] / times["mps"])
    assert 1.5 < median(ratios) < 10


def test_the_newest_torch_is_slower_at_models_on_metal_and_not_elsewhere(made: list[Made]) -> None:
    slower, others = _changes(made, "mps", "vit-b16-infer-b32"), _changes(made, "mps", "resnet50-infer-b32")
    assert len(slower) >= 3
    assert median(slower) == pytest.approx(REGRESSION.factor * 0.988, rel=0.04)
    assert median(others) == pytest.approx(0.988, rel=0.04)


def _changes(made: list[Made], device: str, workload: str) -> list[float]:
    """How many times as long computers took with torch 2.14 as with the release before, each beside itself."""
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    for run, _ in made:
        saving = run.head.conditions_before.low_power_mode
        for case in run.cases:
            summary = summarize(case.rounds)
            plain = (case.device, case.workload, case.precision, case.mode) == (device, workload, "fp32", "eager")
            if plain and summary and run.head.reporter and not saving and not case.fallback and not case.flags:
                times[run.head.reporter, torch_release(run.head.software.torch_version)].append(summary.median_s)
    new = REGRESSION.release
    return [
        median(found) / median(times[reporter, new - 1])
        for (reporter, release), found in list(times.items())
        if release == new and (reporter, new - 1) in times
    ]


def test_cheap_chips_are_many_and_dear_ones_few(made: list[Made]) -> None:
    kinds = Counter((run.head.machine.chip or "").split()[-1] for run, _ in made if _is_mac(run))
    assert kinds["Ultra"] < kinds["Max"] < sum(kinds[f"M{number}"] for number in range(1, 7))
    assert len({run.head.machine.chip for run, _ in made if _is_mac(run)}) >= 15


def _is_mac(run: Run) -> bool:
    return run.head.software.os_name == "macOS"


def test_there_are_macs_cards_and_computers_without_either_real_and_virtual(made: list[Made]) -> None:
    seen = {
        (run.head.machine.vendor == "apple", run.head.machine.gpu_count, run.head.machine.virtual) for run, _ in made
    }
    assert seen == {(True, 1, False), (True, 1, True)} | {
        (False, count, virtual) for count in (0, 1) for virtual in (True, False)
    }


def test_newer_releases_of_torch_are_more_popular_and_none_is_used_before_its_day(made: list[Made]) -> None:
    used = Counter(torch_release(run.head.software.torch_version) for run, _ in made)
    assert set(used) >= set(range(6, 15))
    assert sum(used[release] for release in range(11, 15)) > sum(used[release] for release in range(5, 11))
    first = {
        release: min(_day(run) for run, _ in made if torch_release(run.head.software.torch_version) == release)
        for release in used
    }
    assert first[14] > first[12] > first[10]


def _day(run: Run) -> datetime:
    return datetime.fromisoformat(run.head.started_at)


def test_reporters_come_back_up_to_six_times_and_half_a_day_apart(made: list[Made]) -> None:
    by_reporter: dict[str | None, list[Run]] = defaultdict(list)
    for run, _ in made:
        by_reporter[run.head.reporter].append(run)
    unknown = by_reporter.pop(None)
    assert 0 < len(unknown) < 0.2 * COUNT
    counts = Counter(map(len, by_reporter.values()))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    for found in by_reporter.values():
        assert len({msgspec.json.encode(run.head.machine) for run in found}) == 1
        days = sorted(map(_day, found))
        assert all(later - earlier > timedelta(hours=12) for earlier, later in pairwise(days))


def test_flags_are_those_that_the_times_tell_and_hot_laptops_throttle(cases: list[Case]) -> None:
    assert all(case.flags == case_flags(case.rounds) for case in cases if case.outcome is Outcome.OK)
    throttling = [case for case in cases if "throttling" in case.flags]
    assert 0 < len(throttling) < 0.08 * len(cases)


def test_some_run_on_battery_and_some_in_low_power_mode(made: list[Made]) -> None:
    states = [run.head.conditions_before for run, _ in made]
    assert 0 < sum(state.power_source == "battery" for state in states) < 0.2 * COUNT
    assert 0 < sum(state.low_power_mode is True for state in states) < 0.1 * COUNT
