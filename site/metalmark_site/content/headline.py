"""Which lines a chart of many workloads has: of each family one variant, and few families."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from metalmark_db.rows import ResultRow, WorkloadRow
from metalmark_db.words import Task

from ..facts import Facts
from .common import ranked

MOST = 10  # lines of a chart: what fits into one view, with a suite six times as long
DOTS = 40  # on a line of a chart that all machines are in
TASKS = [Task.TRAIN.value, Task.INFERENCE.value, Task.OPERATION.value]

Key = tuple[str, int]  # workload and version


@dataclass(frozen=True, kw_only=True)
class Line:
    """The variant that stands for its family."""

    key: Key
    machines: int  # configurations that have measured it, on all pages the same
    paired: bool  # its model is measured in training and in inference: what people compare machines by
    task: int
    size: tuple[float, ...]  # batch, then work

    @property
    def rank(self) -> tuple[object, ...]:
        """What decides whether the line is among the few."""
        return not self.paired, -self.machines, self.task, -self.size[1], self.key

    @property
    def place(self) -> tuple[object, ...]:
        """What decides where it stands among them."""
        return not self.paired, self.task, -self.machines, -self.size[1], self.key


class Headline:
    """The choice of lines, by rules alone: no workload is named here."""

    def __init__(self, facts: Facts) -> None:
        """Count once what all pages ask for."""
        self._family = {name: family for family, names in facts.families.items() for name in names}
        self._known = {(row.id, row.version): row for row in facts.workloads}
        tasks: dict[str, set[str]] = {}
        for row in facts.workloads:
            tasks.setdefault(row.model or "", set()).add(row.task)
        self._paired = {model for model, found in tasks.items() if model and {Task.TRAIN, Task.INFERENCE} <= found}
        self._machines: dict[Key, set[tuple[object, ...]]] = {}
        for result in ranked(facts.results):
            self._machines.setdefault(key(result), set()).add(_configuration(result))

    def lines(self, rows: Iterable[ResultRow]) -> list[Key]:
        """The lines of a chart of these rows, the first at its top; a workload's newest version alone."""
        best: dict[str, Line] = {}
        tried: dict[str, ResultRow] = {}
        for row in rows:
            if row.workload not in tried or tried[row.workload].version < row.version:
                tried[row.workload] = row
        for row in tried.values():
            line, family = self._line(row), self._family.get(row.workload, row.workload)
            if family not in best or _fitness(line) < _fitness(best[family]):
                best[family] = line
        chosen = sorted(best.values(), key=lambda line: line.rank)[:MOST]
        return [line.key for line in sorted(chosen, key=lambda line: line.place)]

    def _line(self, row: ResultRow) -> Line:
        known = self._known.get(key(row))
        return Line(
            key=key(row),
            machines=len(self._machines.get(key(row), ())),
            paired=known is not None and known.model in self._paired,
            task=TASKS.index(row.task) if row.task in TASKS else len(TASKS),
            size=(row.batch, _work(known)),
        )


def key(row: ResultRow) -> Key:
    """What a line is about."""
    return row.workload, row.version


def on_lines(rows: Iterable[ResultRow], lines: list[Key], kind: Callable[[ResultRow], object]) -> list[ResultRow]:
    """The rows of these lines in their order: the newest of each kind, and of each line the newest ``DOTS``."""
    found: dict[Key, dict[object, ResultRow]] = {line: {} for line in lines}
    for row in rows:  # newest first
        dots = found.get(key(row))
        if dots is not None and len(dots) < DOTS:
            dots.setdefault(kind(row), row)
    return [row for dots in found.values() for row in dots.values()]


def _fitness(line: Line) -> tuple[object, ...]:
    """Within a family: measured on the most machines, then the smallest."""
    return -line.machines, *line.size, line.key


def _work(row: WorkloadRow | None) -> float:
    return (row.flops_per_iteration if row else None) or 0.0


def _configuration(row: ResultRow) -> tuple[object, ...]:
    # The chip is the machine's: its CPU and its GPU are one machine.
    return row.machine_chip, row.cpu_cores, row.gpu_cores, row.memory_bytes, row.virtual
