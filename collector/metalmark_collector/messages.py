"""What parent and worker say to each other: one JSON message a line, each on a pipe of its own."""

from typing import Literal

import msgspec
from msgspec import Struct

from metalmark_db.record import Round, Signature, Sustained, Truth
from metalmark_db.words import Mode, Outcome, Precision, Reason


class Task(Struct, frozen=True, kw_only=True, tag="task"):
    """Parent to worker: measure one case once."""

    workload: str
    precision: Precision
    mode: Mode = Mode.EAGER
    seed: int
    round_number: int
    share_s: float  # the time for measuring it, once it is built
    grace_s: float = 0.0  # more of it, where the first iteration takes most of the share
    size: Literal["real", "tiny"] = "real"
    references: str | None = None  # folder of the CPU's results; None where the output is not compared, nor counted
    brief: bool = False  # an earlier round has seen it learn: the output alone is compared
    reference_s: float = 0.0  # time that the CPU may take for its result, if it is not there yet
    reference_estimate_s: float = 0.0  # what it is thought to take for the whole batch
    sustain_s: float = 0.0  # work back to back after the samples
    mark: str = ""  # printed to standard error when the case has ended
    plugin: str | None = None  # the file that the workload comes from; None for those of the suite


class Go(Struct, frozen=True, kw_only=True, tag="go"):
    """Parent to worker, after a beat with as many samples: what there was to draw is drawn."""

    samples: int


class Hello(Struct, frozen=True, kw_only=True, tag="hello"):
    """Worker to parent: torch is there, and this is the device."""

    torch_version: str
    torch_git: str | None
    torch_debug: bool | None
    threads: int
    torch_build: dict[str, str] | None = None
    unusable: str | None  # why the device cannot be measured
    chip_name: str | None
    flops_per_s: float | None  # of a small matmul: what estimates of time start from
    limit_bytes: int | None = None  # memory that the device recommends to stay under
    user_initiated: bool | None = None  # whether macOS gave the main thread this QoS class
    probe_enqueue_ns: int | None = None  # a large matmul, enqueued only ...
    probe_synchronized_ns: int | None = None  # ... and waited for: evidence that synchronize waits


class Beat(Struct, frozen=True, kw_only=True, tag="beat"):
    """Worker to parent, between blocks and at most once a second: still measuring. It waits for ``Go``."""

    samples: int


class Done(Struct, frozen=True, kw_only=True, tag="done"):
    """Worker to parent: how the task ended."""

    outcome: Outcome
    reason: Reason | None = None
    detail: str | None = None
    round: Round | None = None
    flags: tuple[str, ...] = ()
    settings: dict[str, bool | str] = msgspec.field(default_factory=dict)
    truth: Truth | None = None
    signature: Signature | None = None
    sustained: Sustained | None = None
    changed: tuple[str, ...] = ()  # what the case left different in its process
    first_s: float | None = None  # of a case that is over its budget: what its first iteration took
    spent_s: dict[str, float] = msgspec.field(default_factory=dict)  # on each part of the work, by its name


Message = Hello | Beat | Done  # of a worker
Order = Task | Go  # of its parent
