"""What can be compared: chips and their bins, machines by their id, runs; each as rows of one kind."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec import Struct

from .errors import UsageProblem
from .models import Base, RunRecord

MOST = 6  # side by side, which is what a table has room for
_RUN = re.compile(r"run [0-9]{1,9}|[0-9]{1,7}")  # eight digits may begin an id
_HEX = re.compile(r"[0-9a-f]{8,64}")
_KEY = ("workload", "version", "precision", "mode")
_TOLD = ("device", "torch", "os", "median_s", "low_s", "high_s", "interval", "machines", "runs")
_SUMMARY, _CELLS = Base.metadata.tables["summary"], Base.metadata.tables["cells"]
_POWER = ("ac", None, "battery")  # the state that speaks for a machine, first to last


class Key(NamedTuple):
    """What must be equal for two times to be comparable; the workload's name tells its batch."""

    workload: str
    version: int
    unit: str  # "CPU", or "GPU" for mps, cuda and xpu alike
    precision: str
    mode: str


class Measured(NamedTuple):
    """The time of one iteration under one torch and one system."""

    device: str
    torch: str | None
    os: str | None
    median_s: float
    low_s: float | None
    high_s: float | None
    interval: str | None
    machines: int = 1
    runs: int = 1


class Subject(Struct, frozen=True):
    """One of those that stand side by side."""

    name: str
    rows: dict[Key, tuple[Measured, ...]]


def find(engine: sa.Engine, names: Sequence[str], workload: str | None = None) -> tuple[Subject, ...]:
    """The subjects of these names, in order: a chip stands for each of its measured bins.

    A name is the number of a run, the beginning (8 digits or more) of a machine id or of a document's digest, or a
    chip, perhaps with a part of its bin behind a comma: ``Apple M4 Pro, 20-core GPU``. ``workload`` is a pattern of
    the workloads to look at.

    Raises:
        UsageProblem: nothing has the name, or there are more than six.
    """
    with engine.connect() as connection:
        found = [subject for name in names for subject in _find(connection, name.strip())]
    named = list({subject.name: subject for subject in found}.values())
    if len(named) > MOST:
        raise UsageProblem(
            f"These are {len(named)}, and at most {MOST} stand side by side: {'; '.join(one.name for one in named)}. "
            "Name a bin behind the chip and a comma, such as 'Apple M4 Pro, 20-core GPU'."
        )
    return tuple(named if workload is None else [_only(one, workload) for one in named])


def _only(subject: Subject, pattern: str) -> Subject:
    return Subject(
        subject.name, {key: rows for key, rows in subject.rows.items() if fnmatchcase(key.workload, pattern)}
    )


def _find(connection: sa.Connection, name: str) -> list[Subject]:
    if _RUN.fullmatch(name):
        return [_run(connection, int(name.removeprefix("run ")))]
    if _HEX.fullmatch(name.removeprefix("machine ")):
        return [_by_digits(connection, name.removeprefix("machine "))]
    return _chip(connection, name)


def _run(connection: sa.Connection, number: int) -> Subject:
    rows = _rows_of_run(connection, number)
    if not rows:
        raise UsageProblem(f"There is no run {number} with a right result. `metalmark show` shows the newest run.")
    return Subject(f"run {number}", _keyed(rows))


def _rows_of_run(connection: sa.Connection, number: int) -> list[Any]:
    """Everything of it that was right and ran on its device, whether it may be ranked or not."""
    names = ", ".join(f'"{name}"' for name in (*_KEY, *_TOLD[:-2]))
    statement = f"SELECT {names} FROM results WHERE run_id = :run AND outcome = 'ok' AND NOT fallback"  # noqa: S608
    return list(connection.execute(sa.text(statement), {"run": number}))


def _by_digits(connection: sa.Connection, digits: str) -> Subject:
    run = connection.scalars(sa.select(RunRecord.id).where(RunRecord.digest.startswith(digits))).all()
    machines = connection.scalars(
        sa.select(_CELLS.c.configuration).where(_CELLS.c.configuration.startswith(digits)).distinct()
    ).all()
    if len(run) + len(machines) != 1:
        words = "Several machines or runs begin" if run or machines else "No machine and no run begins"
        raise UsageProblem(f"{words} with {digits}. Ids stand in the table machines.")
    if run:
        return _run(connection, run[0])
    chosen = sa.select(_CELLS.c.chip, _CELLS.c.power, *(_CELLS.c[name] for name in (*_KEY, *_TOLD)))
    found = connection.execute(chosen.where(_CELLS.c.configuration == machines[0], _CELLS.c.ranked)).all()
    first: dict[Any, Any] = {}
    for row in sorted(found, key=lambda row: power_rank(row.power)):
        first.setdefault((row.chip, *row[2:9]), row[2:])
    if not first:
        raise UsageProblem(f"The machine {digits} has no result that may be ranked.")
    return Subject(f"machine {machines[0][:8]}", _keyed(first.values()))


def power_rank(power: str | None) -> int:
    """Which states of power speak for a machine before others: 0 is the first."""
    return _POWER.index(power) if power in _POWER else len(_POWER)


def numbers(text: str | None) -> tuple[int, ...]:
    """The numbers in a version, by which versions are ordered: 2.9 comes before 2.10."""
    return tuple(map(int, re.findall(r"[0-9]{1,9}", text or "")))


def _chip(connection: sa.Connection, name: str) -> list[Subject]:
    chip, _, part = (text.strip() for text in name.partition(","))
    for spelled in _spellings(connection, chip):
        chosen = sa.select(_SUMMARY.c.bin).where(_SUMMARY.c.chip == spelled).distinct()
        bins = sorted({found or "" for found in connection.scalars(chosen)})
        fitting = [one for one in bins if _parts(part) <= _parts(one)]
        if fitting:
            return [_bin(connection, spelled, one) for one in fitting]
    known = connection.execute(sa.select(_SUMMARY.c.chip, _SUMMARY.c.bin).distinct()).all()
    raise UsageProblem(_unknown(name, sorted({f"{one}, {of}" if of else one for one, of in known})))


def _parts(text: str) -> set[str]:
    return {part.strip().casefold() for part in text.split(",") if part.strip()}


def _spellings(connection: sa.Connection, name: str) -> list[str]:
    """What the chip may be called: as it is written here, or as a spelling of it is charted, in any case."""
    written = [name, f"Apple {name}", f"NVIDIA {name}", name.title(), f"Apple {name.title()}", f"NVIDIA {name.upper()}"]
    aliases = Base.metadata.tables["aliases"].c
    small = [one.lower() for one in written]
    charted = connection.scalars(sa.select(aliases.chip).where(sa.func.lower(aliases.spelling).in_(small)).distinct())
    return list(dict.fromkeys([*written, *sorted(charted)]))


def _bin(connection: sa.Connection, chip: str, name: str) -> Subject:
    rows = connection.execute(_OF_BIN if name else _OF_NO_BIN, {"chip": chip, "bin": name}).all()  # one by one is slow
    return Subject(f"{chip}, {name}" if name else chip, _keyed(rows))


def _unknown(name: str, known: Sequence[str]) -> str:
    if not known:
        return f"There is no {name}: the database holds no result that may be ranked. Measure with: metalmark run"
    small = {one.casefold(): one for one in known}
    near = [small[one] for one in difflib.get_close_matches(name.casefold(), small, 6, 0.4)]
    return f"There is no result of {name}. Measured are: {'; '.join(near or known[:10])}."


def _keyed(rows: Iterable[Any]) -> dict[Key, tuple[Measured, ...]]:
    """Rows of the columns _KEY and _TOLD by what makes them comparable."""
    found: defaultdict[Key, list[Measured]] = defaultdict(list)
    for workload, version, precision, mode, *told in rows:
        if told[3] is not None:
            unit = "CPU" if told[0] == "cpu" else "GPU"
            found[Key(workload, version, unit, precision, mode)].append(Measured(*told))
    return {key: tuple(several) for key, several in found.items()}


# Of several rows that fit, the first is taken: machines of their own before virtual ones, then the newest.
_OF_CHIP = (
    sa.select(*(_SUMMARY.c[name] for name in (*_KEY, *_TOLD)))
    .where(_SUMMARY.c.chip == sa.bindparam("chip"))
    .order_by(sa.func.coalesce(_SUMMARY.c.virtual, sa.false()), _SUMMARY.c.newest.desc(), _SUMMARY.c.device)
)
_OF_BIN = _OF_CHIP.where(_SUMMARY.c.bin == sa.bindparam("bin"))
_OF_NO_BIN = _OF_CHIP.where(_SUMMARY.c.bin.is_(None))
