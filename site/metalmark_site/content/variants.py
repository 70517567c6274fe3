"""The facts of a family: its title, what all its variants share, and what tells them apart."""

from collections.abc import Callable, Sequence

from metalmark_db.rows import WorkloadRow
from metalmark_db.words import Task

from .. import units
from ..words import TASKS

# Label -> what stands under it; None where it is not known, or has no meaning for the work.
FACTS: dict[str, Callable[[WorkloadRow], str | None]] = {
    "Task": lambda row: TASKS.get(row.task, row.task),
    "Version": lambda row: str(row.version),
    "Batch": lambda row: None if row.task == Task.OPERATION and row.batch == 1 else f"{row.batch:,}",
    "Input of one sample": lambda row: row.input_shape,
    "Work of one iteration": lambda row: _amount(row.flops_per_iteration, "FLOP"),
    "Least memory traffic": lambda row: _amount(row.bytes_per_iteration, "B"),
    "Parameters": lambda row: f"{row.parameters:,}" if row.parameters else None,
    "Model": lambda row: row.model,
    "Loss": lambda row: row.loss,
    "Optimizer": lambda row: row.optimizer,
    "Follows": lambda row: None if row.source == "metalmark" else row.source,  # our own follows nobody
}
NUMBERS = frozenset({"Version", "Batch", "Work of one iteration", "Least memory traffic", "Parameters"})


def newest(versions: Sequence[Sequence[WorkloadRow]]) -> list[WorkloadRow]:
    """The newest version of each variant of which there are facts."""
    return [rows[0] for rows in versions if rows]


def title(known: Sequence[WorkloadRow]) -> str | None:
    """What the variants are called together: a title without the words that tell its variant."""
    titles = [(row.title, _without(row)) for row in known]
    shortened = [short for full, short in titles if short != full]
    return next(iter(shortened or [full for full, _ in titles]), None)


def _without(row: WorkloadRow) -> str:
    """The title without ", batch 8", or with what it has of ", 128 tokens, batch 4": older programs said less."""
    words = (row.variant or "").split(", ")
    for count in range(len(words), 0, -1):
        end = f", {', '.join(words[:count])}"
        if len(end) > len(", ") and row.title.endswith(end) and row.title != end:
            return row.title.removesuffix(end)
    return row.title


def shared(known: Sequence[WorkloadRow]) -> list[tuple[str, str]]:
    """What is the same in all variants: (label, value)."""
    values = [(label, {value(row) for row in known}) for label, value in FACTS.items()]
    return [(label, str(next(iter(found)))) for label, found in values if len(found) == 1 and found != {None}]


def columns(known: Sequence[WorkloadRow]) -> list[tuple[str, bool]]:
    """What differs between the variants: (label, whether it is a number)."""
    told = all(f"batch {row.batch}" in (row.variant or "").split(", ") for row in known)
    return [
        (label, label in NUMBERS)
        for label, value in FACTS.items()
        if len({value(row) for row in known}) > 1 and not (told and label == "Batch")  # its name says it already
    ]


def cells(row: WorkloadRow, known: Sequence[WorkloadRow]) -> list[str]:
    """The values of one variant under the columns."""
    return [FACTS[label](row) or units.UNKNOWN for label, _ in columns(known)]


def _amount(value: float | None, unit: str) -> str | None:
    return None if value is None else units.large(value, unit)
