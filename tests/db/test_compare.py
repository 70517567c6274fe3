"""Comparing: like with like, under versions that all share, and ratios with honest intervals."""

import json
import math
import random
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import store, subjects, summary
from metalmark_db.cli import main
from metalmark_db.compare import compare
from metalmark_db.errors import UsageProblem
from metalmark_db.identity import machine_id
from metalmark_db.record import Case, Round, RunHead, Workload
from metalmark_db.standing import standing
from metalmark_db.stats import ratio_interval
from metalmark_db.subjects import Key, Measured, Subject
from metalmark_db.words import Mode, Outcome, Precision

KEY = Key("toy-infer", 1, "GPU", "fp32", "eager")


def measured(
    median: float, torch: str | None = "2.14", system: str | None = "macOS 26", device: str = "mps"
) -> Measured:
    return Measured(device, torch, system, median, median * 0.99, median * 1.01, "rounds")


def subject(name: str, *rows: Measured, key: Key = KEY) -> Subject:
    return Subject(name, {key: rows})


def test_the_newest_versions_that_all_share_are_taken() -> None:
    one = subject("A", measured(4, "2.13"), measured(3, "2.14"), measured(1, "2.15"))
    other = subject("B", measured(2, "2.14"), measured(8, "2.13"), measured(1, "2.9"))
    (line,) = compare([one, other]).lines
    assert [row.torch for row in line.measured] == ["2.14", "2.14"]
    assert line.ratios[0].ratio == pytest.approx(1.5)


def test_versions_are_ordered_as_numbers() -> None:
    one, other = (subject(name, measured(1, "2.9"), measured(2, "2.10")) for name in "AB")
    assert compare([one, other]).lines[0].measured[0].torch == "2.10"


def test_two_releases_of_macos_are_mixed_on_request_only() -> None:
    one, other = subject("A", measured(4, "2.14", "macOS 15")), subject("B", measured(2, "2.14", "macOS 26"))
    found = compare([one, other])
    assert (found.lines, found.versions_differ) == ((), 1)
    assert compare([one, other], mix=True).lines[0].ratios[0].ratio == pytest.approx(2)


def test_a_mac_and_another_system_share_torch_alone() -> None:
    mac = subject("A", measured(4, "2.14", "macOS 15"), measured(3, "2.14", "macOS 26"))
    card = subject("B", measured(1, "2.14", "Linux", "cuda"))
    third = subject("C", measured(6, "2.14", "macOS 15"))
    assert compare([mac, card]).lines[0].measured[0].os == "macOS 26"
    assert compare([mac, card, third]).lines[0].measured[0].os == "macOS 15"


def test_other_work_precision_or_mode_is_never_beside() -> None:
    for change in ({"version": 2}, {"unit": "CPU"}, {"precision": "fp16"}, {"mode": "compile"}):
        other = KEY._replace(**change)
        found = compare([subject("A", measured(1)), subject("B", measured(1), key=other)])
        assert (found.lines, found.not_on_all, found.geometric_means) == ((), 2, ())


def test_the_geometric_mean_is_over_what_is_on_all_of_them() -> None:
    """A run that measured only where it is quick does not outrank one that measured all."""
    keys = [KEY, KEY._replace(workload="b"), KEY._replace(workload="c")]
    whole = Subject("A", {key: (measured(1),) for key in keys})
    part = Subject("B", {keys[0]: (measured(0.5),), keys[1]: (measured(2),)})
    found = compare([whole, part])
    assert list(found.geometric_means) == pytest.approx([1.0])
    assert (len(found.lines), found.not_on_all) == (2, 1)


def test_a_ratio_within_noise_says_so() -> None:
    near = compare([subject("A", measured(1.0)), subject("B", measured(1.005))]).lines[0].ratios[0]
    far = compare([subject("A", measured(1.0)), subject("B", measured(1.5))]).lines[0].ratios[0]
    bare = compare([subject("A", measured(1.0)), subject("B", measured(1.5)._replace(low_s=None))]).lines[0].ratios[0]
    assert (near.within_noise, far.within_noise, bare.within_noise) == (True, False, None)
    assert near.low is not None
    assert near.low < near.ratio < (near.high or 0)


def test_the_interval_of_a_ratio_holds_the_true_one_as_often_as_it_says() -> None:
    """2,000 pairs of means of five log-normal values each, with t intervals: about 95 of 100 hold the true ratio."""
    chance, held, t = random.Random(1), 0, 2.776
    for _ in range(2000):
        sides = []
        for centre, spread in ((0.0, 0.02), (math.log(2), 0.05)):
            values = [chance.gauss(centre, spread) for _ in range(5)]
            mean = sum(values) / 5
            half = t * math.sqrt(sum((one - mean) ** 2 for one in values) / 4 / 5)
            sides.append((math.exp(mean), math.exp(mean - half), math.exp(mean + half)))
        found = ratio_interval(sides[1], sides[0])
        assert found is not None
        held += found[0] <= 2 <= found[1]
    assert 0.93 <= held / 2000 <= 0.98


@pytest.mark.parametrize("several", [2, 6])
def test_many_versions_take_no_time_to_choose_from(several: int) -> None:
    rows = [measured(1, f"2.{minor}", f"macOS {major}") for minor in range(30) for major in range(10, 30)]
    (line,) = compare([subject(str(number), *rows) for number in range(several)]).lines
    assert (line.measured[0].torch, line.measured[0].os) == ("2.29", "macOS 29")


def ok(device: str, block_ns: int, **changes: Any) -> Case:
    case = Case(
        workload="toy-infer", version=1, device=device, precision=Precision.FP32, mode=Mode.EAGER, outcome=Outcome.OK,
        device_chip="Apple M4", rounds=(Round(number=0, iterations=10, block_ns=(block_ns,) * 10),),
    )  # fmt: skip
    return msgspec.structs.replace(case, **changes)


@pytest.fixture
def filled(any_engine: sa.Engine, head: RunHead, workload: Workload) -> sa.Engine:
    """Runs 1 and 2 on an M4 with 10 cores, 3 on one with 8 GPU cores, 4 on an M1; times 2, 2.2, 4 and 8 ms."""
    software = msgspec.structs.replace(head.software, environment={})
    for chip, gpu_cores, time, reporter in (
        ("Apple M4", 10, 20_000_000, "a" * 16),
        ("Apple M4", 10, 22_000_000, "b" * 16),
        ("Apple M4", 8, 40_000_000, "c" * 16),
        ("Apple M1", 8, 80_000_000, "d" * 16),
    ):
        machine = msgspec.structs.replace(head.machine, chip=chip, gpu_name=chip, gpu_cores=gpu_cores)
        one = msgspec.structs.replace(head, machine=machine, software=software, reporter=reporter)
        number = store.begin_run(any_engine, one, [workload])
        store.save_case(any_engine, number, ok("mps", time, device_chip=chip))
    summary.refresh(any_engine)
    return any_engine


def test_a_chip_stands_for_its_bins_and_a_name_can_be_short(filled: sa.Engine) -> None:
    names = [one.name for one in subjects.find(filled, ["m4", "Apple M1"])]
    assert names == [
        "Apple M4, 10-core CPU, 10-core GPU",
        "Apple M4, 10-core CPU, 8-core GPU",
        "Apple M1, 10-core CPU, 8-core GPU",
    ]
    (one,) = subjects.find(filled, ["M4, 8-core gpu"])
    assert one.name == "Apple M4, 10-core CPU, 8-core GPU"


def test_runs_and_machines_are_found_by_number_and_id(filled: sa.Engine, head: RunHead) -> None:
    identity = machine_id(head.machine) or ""
    run, again, machine = subjects.find(filled, ["1", "run 2", identity[:10]])
    assert (run.name, again.name, machine.name) == ("run 1", "run 2", f"machine {identity[:8]}")
    (row,) = machine.rows[KEY]
    assert row.median_s == pytest.approx(0.0021)
    assert (row.machines, row.runs) == (2, 2)
    found = compare([run, again])
    assert found.lines[0].ratios[0].ratio == pytest.approx(20 / 22)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Apple M9"], "no result of Apple M9.*Measured are: .*Apple M4"),
        (["99"], "no run 99"),
        (["9" * 30], "No machine and no run begins with"),
        (["9" * 5000], "no result of"),
        (["0123456789abcdef"], "No machine and no run begins with"),
        (["m4, 40-core GPU"], "no result of m4, 40-core GPU"),
        (["'; DROP TABLE runs; --"], "no result of"),
        ([""], "no result of"),
    ],
)
def test_what_is_not_there_is_said_with_what_there_is(filled: sa.Engine, names: list[str], words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        subjects.find(filled, names)


def test_the_command_prints_a_table_or_json(
    any_address: str, filled: sa.Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", "M4, 10-core GPU", "M1", "--db", any_address])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "B is 0.263 × as fast as A" in out
    with pytest.raises(SystemExit):
        main(["compare", "M4, 10-core GPU", "M1", "--json", "--db", any_address])
    told = json.loads(capsys.readouterr().out)
    assert told["lines"][0]["key"]["workload"] == "toy-infer"
    assert told["lines"][0]["measured"][1]["median_s"] == pytest.approx(0.008)
    with pytest.raises(SystemExit) as ended:
        main(["compare", "M1", "--db", any_address])
    assert ended.value.code == UsageProblem.exit_code


def test_standing_counts_computers_and_names_the_neighbours(filled: sa.Engine) -> None:
    from metalmark_db import queries  # noqa: PLC0415 - for this alone

    (place,) = standing(filled, queries.results(filled, 3))
    assert (place.machines, place.faster_than) == (3, 1)
    assert place.percentile == pytest.approx(100 / 3)
    assert place.above is not None
    assert place.below is not None
    assert place.above.name == "Apple M4, 10-core CPU, 10-core GPU"
    assert place.above.ratio == pytest.approx(4 / 2.1)
    assert place.below.name == "Apple M1, 10-core CPU, 8-core GPU"
    assert place.below.ratio == pytest.approx(0.5)
    assert place.published is None


def test_a_configuration_stands_with_its_newest_torch_and_not_its_newest_run(
    any_engine: sa.Engine, head: RunHead, workload: Workload
) -> None:
    from metalmark_db import queries  # noqa: PLC0415 - for this alone

    for torch, time, chip, started in (
        ("2.14.0", 10_000_000, "Apple M5", "2026-01-01"),
        ("2.9.0", 90_000_000, "Apple M5", "2026-06-01"),  # later, with an older release
        ("2.14.0", 30_000_000, "Apple M4", "2026-07-01"),
    ):
        one = msgspec.structs.replace(
            head,
            started_at=f"{started}T00:00:00+00:00",
            machine=msgspec.structs.replace(head.machine, chip=chip),
            software=msgspec.structs.replace(head.software, torch_version=torch, environment={}),
        )
        number = store.begin_run(any_engine, one, [workload])
        store.save_case(any_engine, number, ok("mps", time, device_chip=chip))
    summary.refresh(any_engine)
    (place,) = standing(any_engine, queries.results(any_engine, number))
    assert (place.machines, place.faster_than, place.percentile) == (1, 0, 0)


def test_a_part_of_a_bin_is_a_whole_part(filled: sa.Engine) -> None:
    with pytest.raises(UsageProblem, match="no result"):
        subjects.find(filled, ["m4, 0-core GPU"])
    assert len(subjects.find(filled, ["m4, 10-core CPU, 8-core GPU"])) == 1


def test_standing_knows_what_others_published_of_the_same_work(
    any_engine: sa.Engine, head: RunHead, workload: Workload
) -> None:
    from metalmark_db import queries  # noqa: PLC0415 - for this alone

    product = msgspec.structs.replace(workload, id="matmul-2048")
    number = store.begin_run(any_engine, head, [product])
    store.save_case(any_engine, number, ok("mps", 40_000_000, workload="matmul-2048"))
    (place,) = standing(any_engine, queries.results(any_engine, number))
    assert (place.machines, place.percentile) == (0, None)
    assert place.published is not None
    assert (place.published.name, place.published.source) == ("Apple M1 Pro", "zzc0721_issue_191_m1_pro")


def test_the_command_standing_says_when_nobody_else_is_known(
    any_address: str, filled: sa.Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, expected in ((["standing", "3"], "33 % of 3"), (["standing", "4"], "0 % of 3")):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--db", any_address])
        assert ended.value.code == 0
        assert expected in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["standing", "3", "--json", "--db", any_address])
    assert json.loads(capsys.readouterr().out)["places"][0]["above"]["name"].startswith("Apple M4")
    with pytest.raises(SystemExit) as ended:
        main(["standing", "99", "--db", any_address])
    assert ended.value.code == UsageProblem.exit_code
