"""The command ``run``."""

import contextlib
import functools
import signal
from pathlib import Path
from typing import Annotated

import sqlalchemy as sa
import typer

from metalmark_db import report, reporter
from metalmark_db.commands.query import DB
from metalmark_db.engine import open_database, using
from metalmark_db.errors import UsageProblem
from metalmark_db.words import Effort, Mode, Precision

from .. import devices, estimate, notices, plugins, preflight, resume, sitting, watch
from ..alone import alone
from ..awake import awake
from ..busy import busiest
from ..fingerprint import Probe, local_probe
from ..look import Seen, look
from ..plan import Plan
from ..resume import Earlier

_INTERRUPTED = 130
_ITS_REPORTER = "--resume keeps the reporter that a run began with; leave out --no-reporter."
_MEASURING = (
    "A run is measuring on this machine right now, and it may be the one to continue. Wait until it has ended, or end "
    "it with Ctrl-C, which keeps what it has measured."
)


def run(
    effort: Annotated[Effort | None, typer.Option(help="How much to measure; quick when left out.")] = None,
    device: Annotated[
        list[str] | None, typer.Option(help=f"Device to measure ({', '.join(devices.CHOICES)}); repeat for several.")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option(help="Only this workload, or those that fit a pattern ('resnet*'); repeat for several."),
    ] = None,
    plugin: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Measure the workloads of this Python file of yours, beside it only those of --workload; repeat for "
            "several. The page own-workloads of the site shows how to write one.",
        ),
    ] = None,
    precision: Annotated[list[Precision] | None, typer.Option(help="Only this precision; repeat for several.")] = None,
    mode: Annotated[list[Mode] | None, typer.Option(help="Only this mode; repeat for both.")] = None,
    only_estimate: Annotated[
        bool, typer.Option("--estimate", help="Print what would be measured and how long it takes; run nothing.")
    ] = False,
    go_on: Annotated[
        bool, typer.Option("--resume", help="Continue the last unfinished run, of --effort where one is named.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Start cases that seem to need more memory than there is, too.")] = False,
    no_reporter: Annotated[
        bool,
        typer.Option("--no-reporter", help="Leave out what tells this computer's runs from those of others like it."),
    ] = False,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure this machine and store the results.

    Nothing is downloaded and nothing is sent anywhere. Every case is stored as it ends; Ctrl-C keeps
    what was measured, and --resume goes on from there.

    Examples: metalmark run; metalmark run --device cpu --workload 'resnet*'; metalmark run --resume
    """
    own = plugins.add(plugin or ())
    request = sitting.Request(
        effort=effort or Effort.QUICK,
        devices=tuple(device or ()),
        workloads=tuple(workload or ()),
        plugins=own,
        precisions=tuple(precision or ()),
        modes=tuple(mode or ()),
        force=force,
    )
    probe = local_probe()
    seen = look(probe)
    if go_on and no_reporter:
        raise UsageProblem(_ITS_REPORTER)
    plan_of = functools.partial(_continued if go_on else _planned, request, seen, effort, db)
    if only_estimate:
        _estimate(*plan_of(), seen, as_json=as_json)
        return
    with contextlib.ExitStack() as work:
        with alone() as claimed:
            if go_on and not claimed:
                raise UsageProblem(_MEASURING)
            engine, plan, earlier = plan_of()
            work.enter_context(using(engine))
            named = None if no_reporter or earlier else reporter.own(seen.machine)
            ended = _measure(engine, request, plan, probe, seen, earlier, alone=claimed, reporter=named)
        report.show_run(engine, ended.run_id, as_json=as_json)
    notices.after(ended, db)
    if not ended.finished:
        raise typer.Exit(_INTERRUPTED)


_Planned = tuple[sa.Engine, Plan, Earlier | None]


def _estimate(engine: sa.Engine, plan: Plan, earlier: Earlier | None, seen: Seen, *, as_json: bool) -> None:
    found = estimate.estimate(engine, plan, seen.machine, earlier.done if earlier else ())
    estimate.show(found, as_json=as_json)


def _planned(request: sitting.Request, seen: Seen, _effort: Effort | None, db: str | None) -> _Planned:
    plan = sitting.plan_sitting(request, seen.machine)
    return open_database(db), plan, None


def _continued(request: sitting.Request, seen: Seen, effort: Effort | None, db: str | None) -> _Planned:
    if request.devices or request.workloads or request.precisions or request.modes:
        raise UsageProblem(
            "--resume continues what an unfinished run has planned; leave out --device, --workload, --precision "
            "and --mode."
        )
    engine = open_database(db)
    earlier = resume.find(engine, seen, effort)
    return engine, earlier.plan, earlier


def _measure(
    engine: sa.Engine,
    request: sitting.Request,
    plan: Plan,
    probe: Probe,
    seen: Seen,
    earlier: Earlier | None,
    *,
    alone: bool,
    reporter: str | None,
) -> sitting.Sitting:
    """The sitting itself, watched, on a machine that is kept awake."""
    sitting.require_torch()
    preflight.show(preflight.concerns(seen.machine, seen.software, seen.conditions, busiest(), alone=alone))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended politely, it keeps what was measured as well
    with awake(), watch.watcher(plan, earlier) as watcher:
        return sitting.sit(engine, request, plan, watcher, probe, seen=seen, earlier=earlier, reporter=reporter)
