"""The views: the same rows on SQLite and on PostgreSQL, and the rules of the design in them."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db import queries, store
from metalmark_db.document import document_of, encode
from metalmark_db.engine import open_database
from metalmark_db.ingest import ingest
from metalmark_db.record import Case, Machine, Round, RunHead, Software, Sustained, Workload
from metalmark_db.views import ALL
from metalmark_db.words import Mode, Outcome, Precision, Task

FLAGS = ("virtual", "fallback", "ranked")


@pytest.fixture
def both(engine: sa.Engine, postgres: str) -> Iterator[tuple[sa.Engine, sa.Engine]]:
    """The same runs in both engines."""
    server = open_database(postgres)
    documents = [("x", encode(document_of(*one))) for one in fleet_runs(12, 4)]
    for one in (engine, server):
        ingest(one, documents)
    yield engine, server
    server.dispose()


def rows(engine: sa.Engine, view: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        found = [dict(row) for row in connection.execute(sa.text(f"SELECT * FROM {view}")).mappings()]  # noqa: S608
    for row in found:
        row |= {name: bool(row[name]) for name in FLAGS if row.get(name) is not None}
        row |= {name: json.loads(row[name]) for name in ("flags", "fallback_ops") if isinstance(row.get(name), str)}
    return sorted(found, key=repr)


def test_every_view_has_the_same_rows_on_both_engines(both: tuple[sa.Engine, sa.Engine]) -> None:
    for view in ALL:
        one, other = (rows(engine, view) for engine in both)
        assert one == other, view
        assert one, view


def ok(device: str, block_ns: int, **changes: Any) -> Case:
    case = Case(
        workload="toy-infer", version=1, device=device, precision=Precision.FP32, mode=Mode.EAGER, outcome=Outcome.OK,
        device_chip="Apple M4", rounds=(Round(number=0, iterations=10, block_ns=(block_ns,) * 10),),
    )  # fmt: skip
    return msgspec.structs.replace(case, **changes)


@pytest.fixture
def plain(head: RunHead) -> RunHead:
    """A run without an environment variable that keeps it out of rankings."""
    return msgspec.structs.replace(head, software=msgspec.structs.replace(head.software, environment={}))


def one_row(engine: sa.Engine, head: RunHead, workload: Workload, case: Case, *others: Case) -> dict[str, Any]:
    """The row of a case of a new run."""
    number = store.begin_run(engine, head, [workload])
    for each in (*others, case):
        store.save_case(engine, number, each)
    return next(row for row in rows(engine, "results") if row["run_id"] == number and row["device"] == case.device)


def test_a_row_says_bin_release_share_and_energy(any_engine: sa.Engine, plain: RunHead, workload: Workload) -> None:
    """2 GFLOP in 2 ms are 1 TFLOP/s, of the 4.26 that an M4 with 10 GPU cores has."""
    minute = Sustained(iterations=100, block_ns=(1,) * 5, energy_j=50.0, energy_source="counter", energy_s=1.0)
    row = one_row(any_engine, plain, workload, ok("mps", 20_000_000, sustained=minute), ok("cpu", 80_000_000))
    assert (row["chip"], row["bin"], row["chip_family"]) == ("Apple M4", "10-core CPU, 10-core GPU", "Apple M4")
    assert (row["torch"], row["os"], row["power"]) == ("2.14", "macOS 26", "ac")
    (peak,) = {one.fp32_tflops for one in queries.chips(any_engine) if one.chip == "Apple M4" and one.gpu_cores == 10}
    assert row["tflops"] == pytest.approx(1.0)
    assert row["peak_share"] == pytest.approx(1.0 / float(peak or 0))
    assert (row["speedup"], row["cpu_s"]) == (pytest.approx(4.0), pytest.approx(0.008))
    assert row["energy_j"] == pytest.approx(0.1)
    assert row["ranked"] is True


@pytest.mark.parametrize(
    ("machine", "software", "low_power", "case", "ranked"),
    [
        ({}, {}, None, {}, True),
        ({"virtual": True}, {}, None, {"device": "cpu"}, False),
        ({"virtual": True}, {}, None, {"device": "cuda", "device_chip": "NVIDIA H200"}, True),
        ({}, {"environment": {"OMP_NUM_THREADS": "1"}}, None, {}, False),
        ({}, {"torch_debug": True}, None, {}, False),
        ({}, {"rosetta": True}, None, {}, False),
        ({}, {}, True, {}, False),
        ({}, {}, False, {}, True),
        ({}, {}, None, {"fallback": True, "fallback_ops": ("aten::x",)}, False),
        ({}, {}, None, {"flags": ("few_samples", "beyond_peak")}, False),
        ({}, {}, None, {"flags": ("few_samples",)}, True),
        ({}, {}, None, {"outcome": Outcome.WRONG_RESULT}, False),
    ],
)
def test_what_may_be_ranked(
    any_engine: sa.Engine, plain: RunHead, workload: Workload, machine: dict[str, Any], software: dict[str, Any],
    low_power: bool | None, case: dict[str, Any], ranked: bool,
) -> None:  # fmt: skip
    head = msgspec.structs.replace(
        plain,
        machine=msgspec.structs.replace(plain.machine, **machine),
        software=msgspec.structs.replace(plain.software, **software),
        conditions_before=msgspec.structs.replace(plain.conditions_before, low_power_mode=low_power),
    )
    row = one_row(any_engine, head, workload, msgspec.structs.replace(ok("mps", 20_000_000), **case))
    assert row["ranked"] is ranked


def test_a_time_beyond_the_peak_is_not_ranked_though_nobody_flagged_it(any_engine: sa.Engine, plain: RunHead) -> None:
    """An M4 does 4.26 TFLOP/s: a product of 17.2 GFLOP in 4 ms is right at it, in 1 ms beyond."""
    product = Workload(
        id="matmul-2048", version=1, title="Product", source="metalmark", task=Task.OPERATION, batch=1,
        input_shape="2048x2048", item="call", items_per_iteration=1, flops_per_iteration=2 * 2048.0**3,
    )  # fmt: skip
    for block, ranked in ((41_000_000, True), (10_000_000, False)):
        row = one_row(any_engine, plain, product, ok("mps", block, workload="matmul-2048"))
        assert row["ranked"] is ranked, row["peak_share"]


def test_a_card_is_charted_under_its_name_whatever_the_system_calls_it(
    any_engine: sa.Engine, plain: RunHead, workload: Workload
) -> None:
    machine = Machine(chip="AMD EPYC 7B13", cpu_cores=16, gpu_name="NVIDIA H100 80GB HBM3", gpu_count=1)
    head = msgspec.structs.replace(plain, machine=machine, software=Software(os_name="Linux", torch_version="2.11.0"))
    row = one_row(any_engine, head, workload, ok("cuda", 20_000_000, device_chip="NVIDIA H100 80GB HBM3"))
    assert (row["chip"], row["bin"], row["chip_family"]) == ("NVIDIA H100", "SXM5 80 GB", "NVIDIA")
    assert row["peak_share"] == pytest.approx(1 / 67)
    other = one_row(any_engine, head, workload, ok("cuda", 20_000_000, device_chip="NVIDIA B300"))
    assert (other["chip"], other["chip_family"], other["peak_share"]) == ("NVIDIA B300", "NVIDIA", None)


def test_speed_up_is_over_the_cpu_of_the_same_run_and_null_where_that_is_not_ok(
    any_engine: sa.Engine, plain: RunHead, workload: Workload
) -> None:
    failed = ok("cpu", 1, outcome=Outcome.CRASH, rounds=())
    assert one_row(any_engine, plain, workload, ok("mps", 20_000_000), failed)["speedup"] is None
    assert rows(any_engine, "speedups") == []
    one_row(any_engine, plain, workload, ok("mps", 20_000_000), ok("cpu", 60_000_000))
    assert [row["speedup"] for row in rows(any_engine, "speedups")] == [pytest.approx(3.0)]


def test_everything_says_of_each_row_where_it_comes_from(
    any_engine: sa.Engine, plain: RunHead, workload: Workload
) -> None:
    one_row(any_engine, plain, workload, ok("mps", 20_000_000))
    with any_engine.connect() as connection:
        names = list(connection.execute(sa.text("SELECT * FROM everything LIMIT 1")).keys())
        found = connection.execute(sa.text("SELECT provenance, count(*) FROM everything GROUP BY provenance"))
        counts = {row[0]: row[1] for row in found}
    assert names[0] == "provenance"
    assert counts == {"measured": 1, "published": 4761}
