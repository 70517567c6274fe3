"""Where a run stands among all known machines, and among what others published of the same work."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from .models import Base, PublishedRecord
from .rows import ResultRow
from .subjects import Key, numbers, power_rank

_CELLS = Base.metadata.tables["cells"]


class Other(Struct, frozen=True, kw_only=True):
    """A machine, or a published figure, beside the run."""

    name: str
    device: str | None
    median_s: float
    ratio: float  # how many times as fast as the run: above 1 is faster
    torch: str | None = None
    source: str | None = None  # of a published figure


class Place(Struct, frozen=True, kw_only=True):
    """Where one case of the run stands."""

    key: Key
    device: str
    median_s: float
    machines: int  # known ones that are other than the run's, in their newest torch
    faster_than: int  # how many of them are slower than the run
    percentile: float | None  # share of them that are slower, in percent; None without any
    above: Other | None  # the next faster machine
    below: Other | None  # the next slower one
    published: Other | None  # the nearest figure that somebody published of the same work


class _Known(Struct, frozen=True):
    configuration: str
    name: str
    device: str
    torch: str | None
    median_s: float
    machines: int


def standing(engine: sa.Engine, rows: Sequence[ResultRow]) -> list[Place]:
    """The places of the right cases of a run, each among the ranked results of other machines.

    A configuration counts as often as there are computers of it, with its newest release of torch.
    """
    mine = [row for row in rows if row.outcome == "ok" and row.median_s and not row.fallback]
    workloads = sorted({row.workload for row in mine})
    with engine.connect() as connection:
        known = _known(connection, workloads)
        published = _published(connection, workloads)
    return [_place(row, known.get(_key(row), []), published.get(_key(row), [])) for row in mine]


def _key(row: ResultRow) -> Key:
    return Key(row.workload, row.version, _unit(row.device), row.precision, row.mode)


def _unit(device: str | None) -> str:
    return "CPU" if device == "cpu" else "GPU"


def _known(connection: sa.Connection, workloads: Iterable[str]) -> Mapping[Key, list[_Known]]:
    """What is known of each case, one entry a configuration: that of its newest torch."""
    chosen = sa.select(_CELLS).where(_CELLS.c.workload.in_(workloads), _CELLS.c.ranked)
    found: dict[Key, dict[str, _Known]] = {}
    for row in sorted(connection.execute(chosen).mappings(), key=_age):  # the last one of a configuration is kept
        key = Key(row["workload"], row["version"], _unit(row["device"]), row["precision"], row["mode"])
        name = ", ".join(part for part in (row["chip"], row["bin"]) if part)
        one = _Known(row["configuration"], name, row["device"], row["torch"], row["median_s"], row["machines"])
        found.setdefault(key, {})[f"{row['configuration']} {row['chip']}"] = one
    return {key: list(entries.values()) for key, entries in found.items()}


def _age(row: Mapping[Any, Any]) -> tuple[tuple[int, ...], tuple[int, ...], int, str]:
    """What makes a row the one that speaks for its configuration: the newest torch and system, plugged in, the last."""
    return numbers(row["torch"]), numbers(row["os"]), -power_rank(row["power"]), row["newest"]


def _published(connection: sa.Connection, workloads: Iterable[str]) -> Mapping[Key, list[tuple[str, str, float, str]]]:
    table = PublishedRecord.__table__.c
    same = sa.select(PublishedRecord.__table__).where(
        table.ours.in_(workloads), table.grade == "same", table.outcome == "ok", table.seconds.is_not(None)
    )
    found: dict[Key, list[tuple[str, str, float, str]]] = {}
    for row in connection.execute(same).mappings():
        key = Key(row["ours"], row["ours_version"], _unit(row["device"]), row["precision"], row["ours_mode"])
        found.setdefault(key, []).append((row["chip"], row["device"], row["seconds"], row["source_id"]))
    return found


def _place(row: ResultRow, known: Sequence[_Known], published: Sequence[tuple[str, str, float, str]]) -> Place:
    mine = row.median_s or 0.0
    others = [one for one in known if one.configuration != row.configuration]
    machines = sum(one.machines for one in others)
    slower = sum(one.machines for one in others if one.median_s > mine)
    above = max((one for one in others if one.median_s <= mine), key=lambda one: one.median_s, default=None)
    below = min((one for one in others if one.median_s > mine), key=lambda one: one.median_s, default=None)
    nearest = min(published, key=lambda one: abs(one[2] / mine - 1), default=None)
    return Place(
        key=_key(row),
        device=row.device,
        median_s=mine,
        machines=machines,
        faster_than=slower,
        percentile=100 * slower / machines if machines else None,
        above=None if above is None else _other(above, mine),
        below=None if below is None else _other(below, mine),
        published=None
        if nearest is None
        else Other(name=nearest[0], device=nearest[1], median_s=nearest[2], ratio=mine / nearest[2], source=nearest[3]),
    )


def _other(one: _Known, mine: float) -> Other:
    return Other(name=one.name, device=one.device, median_s=one.median_s, ratio=mine / one.median_s, torch=one.torch)
