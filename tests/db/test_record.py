"""The definitions of fields: complete, and the source of the columns."""

from typing import Annotated, get_args, get_origin, get_type_hints

import msgspec
import pytest

from metalmark_db import rows
from metalmark_db.columns import columns_of, field_meaning
from metalmark_db.models import Base
from metalmark_db.record import (
    Case,
    Conditions,
    Machine,
    Moment,
    Round,
    Run,
    RunHead,
    Software,
    Sustained,
    Truth,
    Workload,
)

RECORDS = (Machine, Software, Conditions, Moment, Workload, Round, Truth, Sustained, Case)
TABLES = sorted((one.class_ for one in Base.registry.mappers if one.class_.struct), key=str)


@pytest.mark.parametrize("record", RECORDS)
def test_every_field_says_what_it_means_and_a_number_of_something_its_unit(record: type[msgspec.Struct]) -> None:
    for name, hint in get_type_hints(record, include_extras=True).items():
        assert get_origin(hint) is Annotated, name
        meta = field_meaning(record, name)
        assert meta.description, name
        for ending, unit in (("_bytes", "bytes"), ("_ns", "ns")):
            if name.endswith(ending):
                assert (meta.extra or {})["unit"] == unit, name


@pytest.mark.parametrize("table", TABLES)
def test_every_field_of_a_record_has_its_column(table: type[Base]) -> None:
    assert table.struct is not None
    columns = set(table.__table__.c.keys())
    elsewhere = ("rounds", "machine", "software", "conditions_before")  # in tables of their own
    assert set(columns_of(table.struct, leave_out=elsewhere)) <= columns


def test_a_run_survives_the_way_through_json_unchanged() -> None:
    case = Case(
        workload="matmul-2048", version=1, device="mps", precision="fp16", mode="eager", outcome="ok",  # type: ignore[arg-type]
        rounds=(Round(number=0, iterations=3, block_ns=(1, 2, 3)),),
    )  # fmt: skip
    head = RunHead(
        started_at="2026-11-30T12:00:00+00:00", effort="quick", seed=1,  # type: ignore[arg-type]
        machine=Machine(chip="Apple M4", tier_counts=(4, 6)), software=Software(), conditions_before=Conditions(),
    )  # fmt: skip
    text = msgspec.json.encode(Run(head=head, cases=(case,)))
    again = msgspec.json.decode(text, type=Run)
    assert msgspec.json.encode(again) == text
    assert again.cases[0].rounds == case.rounds
    assert again.head.machine == head.machine


@pytest.mark.parametrize(
    "bad",
    [
        {"number": -1, "iterations": 1, "block_ns": [1]},
        {"number": 0, "iterations": 0, "block_ns": [1]},
        {"number": 0, "iterations": 1, "block_ns": [0]},
        {"number": 0, "iterations": 1, "block_ns": [1.5]},
        {"number": 0, "iterations": 1, "block_ns": [1], "extra": 1},
    ],
)
def test_a_round_that_cannot_be_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, Round)


def test_annotations_resolve_for_every_row_type() -> None:
    for name, row in vars(rows).items():
        if isinstance(row, type) and issubclass(row, msgspec.Struct) and row is not msgspec.Struct:
            assert all(get_args(h) or isinstance(h, type) for h in get_type_hints(row).values()), name
