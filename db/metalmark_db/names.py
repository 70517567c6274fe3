"""Names that others use: spellings of chips, and workloads of sources beside ours; read from db/published."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .errors import DataProblem
from .families import family
from .published import DEVICES, read_sources
from .reading import Columns, lines, maybe, one_of, text
from .words import GRADES, Mode

Row = dict[str, Any]

# What a line of mapping.csv may leave open; the line that leaves least open counts.
OPEN = ("input_shape", "batch_size", "precision", "device")
_KEY = ("source_id", "published", "task", *OPEN)

_ALIASES: Columns = {"spelling": text, "chip": text, "bin": maybe(str), "why": text}
_MAPPING: Columns = {
    "source_id": text,
    "published": text,
    "task": one_of({"inference", "train"}),
    "input_shape": maybe(str),
    "batch_size": maybe(int),
    "precision": maybe(str),
    "device": maybe(one_of(DEVICES)),
    "workload": maybe(str),
    "version": maybe(int),
    "mode": maybe(one_of({mode.value for mode in Mode})),
    "grade": one_of(set(GRADES)),
    "why": text,
}


def read_aliases(folder: Path, chips: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Rows of the table ``aliases``: every name of ``chips`` is a spelling of itself, then those of aliases.csv.

    Raises:
        DataProblem: a line is malformed, a spelling is there twice, or a bin is not one of its chip's.
    """
    variants = {(row["chip"], row["variant"]) for row in chips}
    found = {name: _alias(name, name) for name in sorted({name for name, _ in variants})}
    path = folder / "aliases.csv"
    for line, row in lines(path, _ALIASES):
        if row["spelling"] in found:
            raise DataProblem(f"{path}, line {line}, column spelling: {row['spelling']!r} is there already.")
        if row["bin"] is not None and (row["chip"], row["bin"]) not in variants:
            raise DataProblem(f"{path}, line {line}, column bin: chips.csv has no {row['chip']} {row['bin']!r}.")
        found[row["spelling"]] = _alias(**row)
    return list(found.values())


def _alias(spelling: str, chip: str, bin: str | None = None, why: str | None = None) -> Row:  # noqa: A002 - the column
    return {"spelling": spelling, "chip": chip, "bin": bin, "family": family(chip), "why": why}


def read_mapping(folder: Path) -> list[Row]:
    """Rows of the table ``mapping``, in the order of the file.

    Raises:
        DataProblem: a line is malformed, is for what an earlier one is for, is of a source that is not in sources.json,
            or names a workload of ours where there is no counterpart or the reverse.
    """
    path = folder / "mapping.csv"
    sources = {row["id"] for row in read_sources(folder)}
    earlier: dict[tuple[Any, ...], int] = {}
    rows = []
    for line, row in lines(path, _MAPPING):
        if row["source_id"] not in sources:
            raise DataProblem(
                f"{path}, line {line}, column source_id: sources.json has no {row['source_id']!r}. Add it there."
            )
        first = earlier.setdefault(tuple(row[name] for name in _KEY), line)
        if first != line:
            raise DataProblem(f"{path}, line {line}, column published: line {first} is for the same. Keep one of them.")
        ours = [row[name] is not None for name in ("workload", "version", "mode")]
        if ours != [row["grade"] != "other"] * len(ours):
            words = (
                "needs a workload, its version and a mode" if row["grade"] != "other" else "names no workload of ours"
            )
            raise DataProblem(f"{path}, line {line}, column grade: {row['grade']!r} {words}.")
        rows.append(row | {"id": line - 1})
    return rows


def counterparts(rows: Sequence[Row], mapping: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Rows of the table ``published``, with our workload that each can be held beside, and how alike they are."""
    by_name: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for one in mapping:
        by_name.setdefault((one["source_id"], one["published"], one["task"]), []).append(one)
    return [row | _counterpart(row, by_name.get((row["source_id"], row["workload"], row["task"]), [])) for row in rows]


def _counterpart(row: Row, mapping: Sequence[Mapping[str, Any]]) -> Row:
    fitting = [one for one in mapping if all(one[name] in (None, row[name]) for name in OPEN)]
    best = max(fitting, key=lambda one: sum(one[name] is not None for name in OPEN), default=None)
    if best is None:
        return {"ours": None, "ours_version": None, "ours_mode": None, "grade": None}
    named = {"ours": "workload", "ours_version": "version", "ours_mode": "mode", "grade": "grade"}
    return {name: best[theirs] for name, theirs in named.items()}
