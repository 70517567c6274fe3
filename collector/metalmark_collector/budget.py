"""Time shared out over the cases that are left, so that a run ends within its budget."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from metalmark_db.record import Workload
from metalmark_db.words import Task

BUILD_S = 1.5  # building a model, moving it, importing its library
MIN_ITERATIONS = 5  # first call, calibration and three samples
SHORTEST_S = 2.0
MOST_ITERATIONS = 60.0  # that a slow case makes use of, beside its least: all samples, and the warming up
MOST_S = 6.0  # the same for one whose blocks hold many iterations
_EFFICIENCY = 0.4  # of a workload, relative to a small matmul
_BYTES_PER_S = 10e9  # before anything is known of the device's memory
_CALL_S = 1e-4
_TELLING_FLOPS = 1e9
_REUSE = 10.0  # operations for each weight: fewer, and reading the weights is what takes the time
_TRAINED = 5 + 1 / 3  # five steps, and a forward pass for the output
OWN_SAMPLES = 2  # of the CPU's own fp32, held against float64: enough to show a fault, and all that time allows
DOUBLE = 2.0  # float64 takes about twice as long
# Seconds to compile on two slow cores, where ResNet-18 took 26 and 52; what a run measured replaces it.
_COMPILE_S = {Task.INFERENCE: 30.0, Task.TRAIN: 60.0, Task.OPERATION: 20.0}
COMPILED_BEFORE = 0.3  # of that, where the code is kept and only the tracing is to do again
FIRST = 0.5  # of what a first iteration takes: a fair guess of the second
GRACE = 2.0  # shares more, for a case whose first iteration was slow
_RESERVE = 0.9  # of the limit: estimates are estimates


def iteration_s(workload: Workload, flops_per_s: float) -> float:
    """Estimated seconds of one iteration on a device that does ``flops_per_s`` on a small matmul."""
    arithmetic = (workload.flops_per_iteration or 0.0) / (_EFFICIENCY * flops_per_s)
    moved = (workload.bytes_per_iteration or 0.0) + (0.0 if _reuses(workload) else 4.0 * (workload.parameters or 0))
    return arithmetic + moved / _BYTES_PER_S + _CALL_S


def is_telling(workload: Workload) -> bool:
    """Whether its time says how fast a device computes, so that others can be estimated from it.

    Little work tells what launching costs, and weights that are used once tell what reading them costs:
    a thousand times faster or slower than arithmetic would be.
    """
    return (workload.flops_per_iteration or 0.0) >= _TELLING_FLOPS and _reuses(workload)


def _reuses(workload: Workload) -> bool:
    return (workload.flops_per_iteration or 0.0) >= _REUSE * (workload.parameters or 0)


def compile_s(workload: Workload) -> float:
    """Seconds that compiling a workload is thought to take before anything was measured."""
    return _COMPILE_S[workload.task]


def least_s(iteration: float) -> float:
    """Seconds that a case needs for the fewest samples worth keeping."""
    return BUILD_S + MIN_ITERATIONS * iteration


def useful_s(iteration: float) -> float:
    """Seconds beyond its least need that a case can make use of."""
    return max(MOST_S, MOST_ITERATIONS * iteration)


def level(spare: float, wishes: Sequence[float]) -> float:
    """What each of many may have at most, so that together they take ``spare``: as water stands in uneven vessels.

    Infinite where all have what they wish and something is left over.
    """
    for place, wish in enumerate(sorted(wishes)):
        even = spare / (len(wishes) - place)
        if wish > even:
            return even
        spare -= wish
    return math.inf


def check_iterations(workload: Workload) -> float:
    """What the comparison with the CPU costs on the device, in its iterations: training takes five steps more."""
    return _TRAINED if workload.task is Task.TRAIN else 1.0


def measuring_s(share: float) -> float:
    """The part of a share that is left for measuring once the case is built; enough for any quick case."""
    return max(share - BUILD_S, share / 2, SHORTEST_S)


@dataclass
class Budget:
    """What is left of a run's time: ``aimed_s`` is hoped for, ``limit_s`` is never passed."""

    aimed_s: float
    limit_s: float
    began: float

    def left_s(self, now: float) -> float:
        """Seconds until the limit."""
        return self.began + self.limit_s - now

    def share_s(self, now: float, need: float, others: float, wishes: Sequence[float]) -> float:
        """Seconds for the next case, whose least need is ``need``; ``others`` is that of all cases after it.

        What the aim leaves over beyond the least needs is shared out evenly, except that no case gets
        more of it than it can make use of: ``wishes`` says how much that is, of the next case first.
        Where the aim is too short for all least needs, the limit is shared out in proportion.
        """
        spare = self.began + self.aimed_s - now - need - others
        if spare >= 0:
            return need + min(wishes[0], level(spare, wishes))
        within_limit = self.left_s(now) * _RESERVE
        return need if need + others <= within_limit else need * within_limit / (need + others)

    def grace_s(self, now: float, share: float, others: float) -> float:
        """Seconds beyond its ``share`` that a case may have when its first iteration was slow.

        The first one loads kernels, which is over then, so that a longer share is better spent than a
        case given up; but only of what the limit leaves over beyond the least needs of all ``others``.
        """
        return max(0.0, min(GRACE * share, self.left_s(now) * _RESERVE - share - others))
