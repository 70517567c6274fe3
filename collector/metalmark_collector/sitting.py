"""One sitting: this machine read, the plan measured, the run stored."""

import importlib.util
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from metalmark_db import store
from metalmark_db.errors import MissingPart, UsageProblem
from metalmark_db.record import Case, RunHead
from metalmark_db.words import Effort, Precision

from . import devices
from .budget import Budget
from .fingerprint import Probe, local_probe, read_conditions, read_machine, read_software
from .messages import Hello
from .plan import Plan, make_plan
from .progress import Progress, Watcher
from .runner import run_plan
from .workloads import WORKLOADS


class Request(Struct, frozen=True, kw_only=True):
    """What a person asked to have measured."""

    effort: Effort = Effort.QUICK
    devices: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    precisions: tuple[Precision, ...] = ()
    size: Literal["real", "tiny"] = "real"


class Sitting(Struct, frozen=True, kw_only=True):
    """How a sitting ended."""

    run_id: int
    finished: bool
    cases: tuple[Case, ...]


class Recorder:
    """Stores a run from its first outcome on, so that a run of which nothing came leaves no trace."""

    def __init__(self, engine: sa.Engine, head: RunHead, plan: Plan) -> None:
        self._engine = engine
        self._head = head
        self._facts = [WORKLOADS[name].facts for name in _names(plan)]
        self.run_id: int | None = None

    def greeted(self, hello: Hello) -> None:
        """Take over what only a running torch knows of itself."""
        software = msgspec.structs.replace(
            self._head.software,
            torch_version=hello.torch_version,
            torch_git=hello.torch_git,
            torch_debug=hello.torch_debug,
        )
        self._head = msgspec.structs.replace(self._head, software=software)

    def save(self, case: Case) -> None:
        """Store a case, and the run before its first one."""
        if self.run_id is None:
            self.run_id = store.begin_run(self._engine, self._head, self._facts)
        store.save_case(self._engine, self.run_id, case)


def plan_sitting(request: Request, probe: Probe) -> Plan:
    """What this machine would measure.

    Raises:
        UsageProblem: a name is unknown, or nothing is left to measure.
        MissingPart: torch is not installed.
    """
    require_torch()
    for kind in request.devices:
        if kind not in devices.CHOICES:
            raise UsageProblem(f"There is no device {kind!r}. Choose among: {', '.join(devices.CHOICES)}.")
    kinds: Sequence[str] = request.devices or devices.default_devices(read_machine(probe))
    return make_plan(
        request.effort,
        kinds,
        secrets.randbelow(2**31),
        only=request.workloads,
        precisions=request.precisions,
    )


def sit(engine: sa.Engine, request: Request, plan: Plan, watcher: Watcher, probe: Probe | None = None) -> Sitting:
    """Measure the plan and store every outcome as it comes; an interrupted run keeps what was measured."""
    probe = probe or local_probe()
    head = RunHead(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        effort=plan.effort,
        seed=plan.seed,
        machine=read_machine(probe),
        software=read_software(probe),
        conditions_before=read_conditions(probe),
    )
    recorder = Recorder(engine, head, plan)
    progress = Progress(
        plan=plan,
        machine=head.machine,
        save=recorder.save,
        watcher=watcher,
        budget=Budget(aimed_s=plan.aimed_s, limit_s=plan.limit_s, began=time.monotonic()),
        size=request.size,
        memory_bytes=head.conditions_before.memory_available_bytes,
        greeted=recorder.greeted,
    )
    finished = run_plan(progress)
    assert recorder.run_id is not None  # noqa: S101 - every planned case has been saved
    store.finish_run(engine, recorder.run_id, read_conditions(probe), finished=finished)
    return Sitting(run_id=recorder.run_id, finished=finished, cases=tuple(progress.cases.values()))


def require_torch() -> None:
    """Nothing, where torch is installed.

    Raises:
        MissingPart: it is not; asked without importing it, which takes seconds.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingPart(
            "Measuring needs torch, which is not installed beside Metalmark. Install it with: "
            "pip install 'metalmark[bench]'"
        )


def _names(plan: Plan) -> list[str]:
    return list(dict.fromkeys(case.workload for cases in plan.cases.values() for case in cases))
