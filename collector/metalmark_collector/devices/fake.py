"""A device made for tests: it computes on the CPU at once, and takes scripted time for it.

It is asynchronous, as GPUs are: enqueuing work moves its clock on by little, and only waiting for
it moves the clock to the moment the work is done. So a measuring loop that forgets to synchronize,
or reads the clock too early, gets wrong times here as it would from a GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from metalmark_db.record import Workload

from ..clock import ScriptedClock
from .base import Energy, Work

Script = Callable[[Workload, int], int]  # workload and number of the iteration -> nanoseconds it keeps the device busy


def steady(duration_ns: int) -> Script:
    """Every iteration takes the same time."""
    return lambda _facts, _iteration: duration_ns


def drifting(duration_ns: int, per_iteration: float) -> Script:
    """Each iteration takes longer than the one before, by that share of the first: a chip that heats up."""
    return lambda _facts, iteration: round(duration_ns * (1 + per_iteration * iteration))


def warming(duration_ns: int, *, cold: float, iterations: int) -> Script:
    """The first iterations take ``cold`` times as long, falling evenly to the steady time."""

    def script(_facts: Workload, iteration: int) -> int:
        left = max(0.0, 1 - iteration / iterations)
        return round(duration_ns * (1 + (cold - 1) * left))

    return script


def by_flops(flops_per_s: float, *, otherwise_ns: int = 1_000_000) -> Script:
    """Each workload takes the time of its floating-point operations, as on a chip of that speed."""

    def script(facts: Workload, _iteration: int) -> int:
        flops = facts.flops_per_iteration
        return otherwise_ns if flops is None else max(1, round(flops / flops_per_s * 1e9))

    return script


@dataclass
class FakeDevice:
    """The fake; every way in which a device can mislead is a field."""

    clock: ScriptedClock = field(default_factory=ScriptedClock)
    script: Script = field(default_factory=lambda: steady(1_000_000))
    slower: float = 1.0  # every duration times this; 0.1 is a device ten times faster
    enqueue_ns: int = 5_000
    synchronize_ns: int = 1_000
    read_ns: int = 10_000
    synchronizes: bool = True  # False: `synchronize` comes back at once, as a broken device's would
    error: float = 0.0  # added to every output, in units of its root mean square
    why_unusable: str | None = None
    memory_limit: int | None = None
    watts: float | None = None  # None: it counts no energy
    kind: str = "fake"
    iterations: int = 0
    _busy_until_ns: int = 0

    def unusable(self) -> str | None:
        """What the test wants it to say."""
        return self.why_unusable

    def torch_device(self) -> torch.device:
        """The CPU, which really computes."""
        return torch.device("cpu")

    def wrap(self, work: Work, facts: Workload) -> Work:
        """The work, enqueued: it keeps the device busy for its scripted time after what came before."""

        def enqueue() -> torch.Tensor:
            result = work()
            duration_ns = round(self.script(facts, self.iterations) * self.slower)
            self.iterations += 1
            self.clock.advance(self.enqueue_ns)
            self._busy_until_ns = max(self.clock.time_ns, self._busy_until_ns) + duration_ns
            return self._disturbed(result)

        return enqueue

    def synchronize(self) -> None:
        """Let scripted time pass until the work is done, unless told to be broken."""
        if self.synchronizes:
            self.clock.advance_to(self._busy_until_ns)
        self.clock.advance(self.synchronize_ns)

    def read_element(self, tensor: torch.Tensor) -> float:
        """The last element, after whatever scripted time the work still needs."""
        self.clock.advance_to(self._busy_until_ns)
        self.clock.advance(self.read_ns)
        return float(tensor.detach()[(-1,) * tensor.dim()].item())

    def chip_name(self) -> str | None:
        """A name that nobody can take for a chip."""
        return "Fake device"

    def empty_cache(self) -> None:
        """Nothing is cached."""

    def memory_allocated(self) -> int | None:
        """None: nothing is counted."""
        return None

    def reset_peak(self) -> None:
        """Nothing to reset."""

    def peak_memory(self) -> int | None:
        """None: nothing is counted."""
        return None

    def energy(self) -> Energy | None:
        """What a device of that power has taken by now."""
        return None if self.watts is None else (round(self.watts * self.clock.time_ns / 1e6), "script")

    def recommended_memory(self) -> int | None:
        """What the test wants it to be."""
        return self.memory_limit

    def _disturbed(self, result: torch.Tensor) -> torch.Tensor:
        if not self.error:
            return result
        size = result.detach().float().square().mean().sqrt()
        return result + (self.error * size).to(result.dtype)
