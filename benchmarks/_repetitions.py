"""How often one run of ours, and one of pyperf, comes within 1 % of a run ten times as long."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from metalmark_db.record import Round
from metalmark_db.stats import Summary, summarize

HERE = Path(__file__).parent
WITHIN = 0.01
ROUNDS = 3  # of a standard run
TIMES_AS_LONG = 10  # the run that is taken for the truth


@dataclass
class Repetitions:
    """The centres of all runs in seconds, the wall time that each tool took, and what is taken for the truth."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    their_medians: list[float] = field(default_factory=list)
    our_wall_s: float = 0.0
    their_wall_s: float = 0.0
    long_run: list[Round] = field(default_factory=list)

    @property
    def long_summary(self) -> Summary:
        """The long run as a case of its own."""
        found = summarize(self.long_run)
        assert found is not None  # noqa: S101 - there is a round
        return found

    @property
    def truth(self) -> float:
        """The centre of the long run."""
        return self.long_summary.median_s

    @property
    def truth_is_known(self) -> bool:
        """Whether the long run knows its own centre to 1 %: on a busy machine it does not."""
        low, high = self.long_summary.low_s, self.long_summary.high_s
        return low is not None and high is not None and high - low <= 2 * WITHIN * self.truth

    def hits(self, centres: Sequence[float]) -> int:
        """How many centres lie within 1 % of the truth."""
        return sum(abs(centre / self.truth - 1) <= WITHIN for centre in centres)


def repeated(repetitions: int, long_rounds: int, pyperf_options: Sequence[str] = ()) -> Repetitions:
    """Both tools in turn, with a piece of the long run after each pair: the machine drifts for all three alike."""
    found = Repetitions()
    for n in range(repetitions):
        for tool in (_ours, _theirs)[:: -1 if n % 2 else 1]:
            tool(found, pyperf_options)
        wanted = long_rounds * (n + 1) // repetitions
        found.long_run += [_round(number) for number in range(len(found.long_run), wanted)]
    return found


def _ours(found: Repetitions, _: Sequence[str]) -> None:
    began = time.perf_counter()
    run = summarize([_round(n) for n in range(ROUNDS)])
    found.our_wall_s += time.perf_counter() - began
    assert run is not None  # noqa: S101 - there are three rounds
    found.ours.append(run.median_s)


def _round(number: int) -> Round:
    done = subprocess.run([sys.executable, str(HERE / "_function.py"), str(number)], check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(done.stdout, type=Round)


def _theirs(found: Repetitions, options: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        program = [sys.executable, str(HERE / "_function_pyperf.py"), "--quiet", "-o", str(told), *options]
        began = time.perf_counter()
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found.their_wall_s += time.perf_counter() - began
        values = _values(msgspec.json.decode(told.read_bytes()))
    found.theirs.append(fmean(values))  # pyperf's own centre is the mean
    found.their_medians.append(median(values))


def _values(told: dict[str, Any]) -> list[float]:
    """Seconds per call, of all processes."""
    return [value for run in told["benchmarks"][0]["runs"] for value in run.get("values", ())]
