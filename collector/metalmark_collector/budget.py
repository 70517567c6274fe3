"""Time shared out over the cases that are left, so that a run ends within its budget."""

from dataclasses import dataclass

from metalmark_db.record import Workload
from metalmark_db.words import Task

BUILD_S = 1.5  # building a model, moving it, importing its library
MIN_ITERATIONS = 5  # first call, calibration and three samples
SHORTEST_S = 2.0
LONGEST_SHARE_S = 20.0
LONGEST_NEEDS = 3.0  # times its least need, which is for three samples: a slow case gets ten, where there is time
_EFFICIENCY = 0.4  # of a workload, relative to a small matmul
_BYTES_PER_S = 10e9  # before anything is known of the device's memory
_CALL_S = 1e-4
_TRAINED = 5 + 1 / 3  # five steps, and a forward pass for the output
_ONE_STEP = 1 + 1 / 3
OWN_SAMPLES = 2  # of the CPU's own fp32, held against float64: enough to show a fault, and all that time allows
DOUBLE = 2.0  # float64 takes about twice as long
# Seconds to compile on two slow cores, where ResNet-18 took 26 and 52; what a run measured replaces it.
_COMPILE_S = {Task.INFERENCE: 30.0, Task.TRAIN: 60.0, Task.OPERATION: 20.0}
COMPILED_BEFORE = 0.3  # of that, where the code is kept and only the tracing is to do again
_RESERVE = 0.9  # of the limit: estimates are estimates


def iteration_s(workload: Workload, flops_per_s: float) -> float:
    """Estimated seconds of one iteration on a device that does ``flops_per_s`` on a small matmul."""
    arithmetic = (workload.flops_per_iteration or 0.0) / (_EFFICIENCY * flops_per_s)
    return arithmetic + (workload.bytes_per_iteration or 0.0) / _BYTES_PER_S + _CALL_S


def compile_s(workload: Workload) -> float:
    """Seconds that compiling a workload is thought to take before anything was measured."""
    return _COMPILE_S[workload.task]


def least_s(iteration: float) -> float:
    """Seconds that a case needs for the fewest samples worth keeping."""
    return BUILD_S + MIN_ITERATIONS * iteration


def check_iterations(workload: Workload) -> float:
    """What the comparison with the CPU costs on the device, in its iterations: training takes five steps more."""
    return _TRAINED if workload.task is Task.TRAIN else 1.0


def reference_iterations(workload: Workload) -> float:
    """What the CPU's result costs, in iterations of the whole batch on the CPU."""
    return _ONE_STEP if workload.task is Task.TRAIN else 1.0


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

    def share_s(self, now: float, this: float, others: float, count: int) -> float:
        """Seconds for the next case, whose least need is ``this``; ``others`` is that of the ``count`` cases after it.

        Every case gets its least need and an equal part of what the aim leaves over. Where the aim
        is too short for all of them, the limit is shared out in proportion.
        """
        spare = self.began + self.aimed_s - now - this - others
        if spare >= 0:
            return min(this + spare / (count + 1), max(LONGEST_NEEDS * this, LONGEST_SHARE_S))
        within_limit = self.left_s(now) * _RESERVE
        return this if this + others <= within_limit else this * within_limit / (this + others)
