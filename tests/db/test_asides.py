"""One call at a time, and a minute of work: both told beside the median."""

from collections.abc import Callable

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db import report, store
from metalmark_db.asides import minutes, short_calls
from metalmark_db.record import Case, RunHead, Sustained, Workload

MakeCase = Callable[..., Case]


@pytest.fixture
def short(make_case: MakeCase) -> Case:
    """A case of 2 ms an iteration in a chain, and 3 ms alone."""
    case = make_case("mps", (20_000_000,) * 10)
    (only,) = case.rounds
    timed = msgspec.structs.replace(only, per_call_ns=(2_900_000, 3_000_000, 3_100_000))
    return msgspec.structs.replace(case, rounds=(timed,))


@pytest.fixture
def sustained(make_case: MakeCase) -> Case:
    """A case that slows down by half within ten seconds, and takes 300 J meanwhile."""
    blocks = (1_000_000_000,) * 4 + (1_500_000_000,) * 4
    minute = Sustained(iterations=500, block_ns=blocks, energy_j=300.0, energy_source="nvml", energy_s=12.0)
    return msgspec.structs.replace(make_case("mps", (20_000_000,) * 10), sustained=minute)


def test_a_call_that_is_waited_for_takes_longer_than_one_of_a_chain(short: Case) -> None:
    (found,) = short_calls([short])
    assert [found.chained_s, found.alone_s] == pytest.approx([2e-3, 3e-3])


def test_a_minute_is_held_against_the_short_blocks(sustained: Case, short: Case) -> None:
    (found,) = minutes([short, sustained])
    assert found.ratio == pytest.approx(1.5)
    assert found.watts == pytest.approx(25.0)  # of all its time, of which the blocks are ten seconds


def test_without_a_counter_power_is_unknown(sustained: Case) -> None:
    assert sustained.sustained is not None
    for unknown in ({"energy_j": None, "energy_source": None, "energy_s": None}, {"energy_s": None}):
        uncounted = msgspec.structs.replace(sustained.sustained, **unknown)
        (found,) = minutes([msgspec.structs.replace(sustained, sustained=uncounted)])
        assert found.watts is None


def test_show_tells_both_below_the_table(
    engine: sa.Engine,
    head: RunHead,
    workload: Workload,
    short: Case,
    sustained: Case,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_id = store.begin_run(engine, head, [workload])
    store.save_case(engine, run_id, msgspec.structs.replace(short, sustained=sustained.sustained))
    report.show_run(engine, run_id)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "toy-infer mps fp32 3.00 ms 2.00 ms" in lines
    assert "toy-infer mps fp32 2.00 ms 1.50 × 25.0 W" in lines
