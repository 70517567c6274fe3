"""One sitting: this machine read, the plan measured, the run stored."""

import functools
import importlib.util
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from metalmark_db import chips, store, summary
from metalmark_db.chips import ChipFacts
from metalmark_db.errors import MissingPart, UsageProblem
from metalmark_db.record import Case, Conditions, Machine, RunHead
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason

from . import compilers, devices, resume
from .budget import Budget
from .fingerprint import Probe, brief_probe, local_probe, read_conditions, read_moment
from .look import Seen, look
from .messages import Hello
from .plan import Plan, make_plan
from .plugins import KNOWN
from .progress import Progress, Watcher
from .resume import Earlier
from .runner import run_plan


class Request(Struct, frozen=True, kw_only=True):
    """What a person asked to have measured."""

    effort: Effort = Effort.QUICK
    devices: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()  # names and patterns
    plugins: tuple[str, ...] = ()  # workloads of the person's own files: those that are measured where nobody names any
    precisions: tuple[Precision, ...] = ()
    modes: tuple[Mode, ...] = ()
    size: Literal["real", "tiny"] = "real"
    check: bool = True  # hold outputs against the CPU's
    force: bool = False  # start cases that are thought to need more memory than there is, too


class Sitting(Struct, frozen=True, kw_only=True):
    """How a sitting ended."""

    run_id: int
    finished: bool
    cases: tuple[Case, ...]
    head: RunHead
    took_s: float = 0.0  # from the first worker's start to the last case's end
    spent_s: Mapping[str, float] = {}  # of it, on each part of the work, as ``laps`` names them
    conditions: tuple[Conditions, ...]  # before and after; of a run that was continued, of each sitting known


class Recorder:
    """Stores a run from its first outcome on, so that a run of which nothing came leaves no trace.

    With the first outcome every case of the plan is stored as interrupted. So a run says at any moment
    what it planned, and one that is killed can be continued like one that was interrupted.
    """

    def __init__(self, engine: sa.Engine, head: RunHead, plan: Plan, run_id: int | None = None) -> None:
        self._engine = engine
        self._head = head
        self._plan = plan
        self.run_id = run_id

    def greeted(self, hello: Hello) -> None:
        """Take over what only a running torch knows of itself.

        Raises:
            UsageProblem: the run is continued, and this torch is not the one that it began with.
        """
        software = msgspec.structs.replace(
            self._head.software,
            torch_version=hello.torch_version,
            torch_git=hello.torch_git,
            torch_debug=hello.torch_debug,
            torch_build=hello.torch_build,
            threads=hello.threads,
        )
        if self.run_id is not None:
            resume.require_same(self.run_id, self._head, software)
        self._head = msgspec.structs.replace(self._head, software=software)

    def save(self, case: Case) -> None:
        """Store a case, and the run before its first one."""
        if self.run_id is None:
            planned = [one for cases in self._plan.cases.values() for one in cases]
            facts = {one.workload: KNOWN[one.workload].facts for one in planned}
            waiting = [one.ended(Outcome.NOT_RUN, Reason.INTERRUPTED) for one in planned]
            self.run_id = store.begin_run(self._engine, self._head, list(facts.values()), waiting)
        store.save_case(self._engine, self.run_id, case)


def plan_sitting(request: Request, machine: Machine) -> Plan:
    """What this machine would measure.

    Raises:
        UsageProblem: a name is unknown, or nothing is left to measure.
    """
    asked = request.workloads or request.plugins
    for kind in request.devices:
        if kind not in devices.CHOICES:
            raise UsageProblem(f"There is no device {kind!r}. Choose among: {', '.join(devices.CHOICES)}.")
    if request.plugins and not any(fnmatchcase(own, name) for own in request.plugins for name in asked):
        raise UsageProblem(
            "No workload of the --plugin files fits --workload, so that nothing of them would be measured. Leave out "
            f"--workload, or name them as well: --workload {request.plugins[0]}"
        )
    kinds: Sequence[str] = request.devices or devices.default_devices(machine)
    return make_plan(
        request.effort,
        kinds,
        secrets.randbelow(2**31),
        only=asked,
        precisions=request.precisions,
        modes=request.modes,
    )


def sit(
    engine: sa.Engine,
    request: Request,
    plan: Plan,
    watcher: Watcher,
    probe: Probe | None = None,
    *,
    seen: Seen | None = None,
    earlier: Earlier | None = None,
    reporter: str | None = None,
) -> Sitting:
    """Measure the plan, or what is left of an ``earlier`` run, and store every outcome as it comes.

    An interrupted run keeps what was measured; one that is continued keeps its own ``reporter``.
    """
    probe = probe or local_probe()
    seen = seen or look(probe)
    head = earlier.head if earlier else _head(plan, seen, reporter)
    recorder = Recorder(engine, head, plan, earlier.run_id if earlier else None)
    with tempfile.TemporaryDirectory(prefix="metalmark-") as folder:
        progress = _progress(request, plan, watcher, recorder, seen, head, earlier, Path(folder))
        finished = run_plan(progress)
        took_s = time.monotonic() - progress.budget.began
    assert recorder.run_id is not None  # noqa: S101 - every planned case has been saved
    after = read_conditions(probe)
    store.finish_run(engine, recorder.run_id, after, finished=finished)
    summary.refresh(engine)
    return Sitting(
        run_id=recorder.run_id,
        finished=finished,
        cases=tuple(progress.cases.values()),
        head=head,
        took_s=took_s,
        spent_s=progress.spent_s,
        conditions=(head.conditions_before, seen.conditions, after),
    )


def _progress(
    request: Request,
    plan: Plan,
    watcher: Watcher,
    recorder: Recorder,
    seen: Seen,
    head: RunHead,
    earlier: Earlier | None,
    folder: Path,
) -> Progress:
    """The state of a run at its beginning; what belongs to the run alone lies in ``folder``."""
    references, compiler = folder / "references", compilers.find()
    references.mkdir()
    return Progress(
        plan=plan,
        machine=head.machine,
        save=recorder.save,
        watcher=watcher,
        budget=Budget(aimed_s=plan.aimed_s, limit_s=plan.limit_s, began=time.monotonic()),
        size=request.size,
        force=request.force,
        references=str(references) if request.check else None,
        variables=compilers.environment(folder / "compiled", compiler),
        no_compiler=compilers.why_not(compiler),
        memory_bytes=seen.conditions.memory_available_bytes,
        greeted=recorder.greeted,
        moment=functools.partial(read_moment, brief_probe()),
        peaks=_peaks(head.machine),
        cases={case.key: case for case in earlier.cases} if earlier else {},
        done=earlier.done if earlier else set(),
    )


def _peaks(machine: Machine) -> dict[str, ChipFacts]:
    """Published peaks by device; those of a card say nothing of the CPU beside it."""
    found = chips.facts(machine)
    return {"cpu": found, "mps": found} if machine.vendor == "apple" else {"cuda": found}


def _head(plan: Plan, seen: Seen, reporter: str | None) -> RunHead:
    return RunHead(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        effort=plan.effort,
        seed=plan.seed,
        reporter=reporter,
        machine=seen.machine,
        software=seen.software,
        conditions_before=seen.conditions,
    )


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
