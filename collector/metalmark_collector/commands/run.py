"""The command ``run``."""

import signal
from typing import Annotated

import typer

from metalmark_db import report
from metalmark_db.commands.query import DB
from metalmark_db.store import open_database
from metalmark_db.words import Effort, Precision

from .. import devices, notices, sitting, watch
from ..fingerprint import local_probe

_INTERRUPTED = 130


def run(
    effort: Annotated[Effort, typer.Option(help="How much to measure.")] = Effort.QUICK,
    device: Annotated[
        list[str] | None, typer.Option(help=f"Device to measure ({', '.join(devices.CHOICES)}); repeat for several.")
    ] = None,
    workload: Annotated[list[str] | None, typer.Option(help="Only this workload; repeat for several.")] = None,
    precision: Annotated[list[Precision] | None, typer.Option(help="Only this precision; repeat for several.")] = None,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure this machine and store the results.

    Nothing is downloaded and nothing is sent anywhere. Every case is stored as it ends; Ctrl-C keeps
    what was measured.

    Examples: metalmark run; metalmark run --device cpu --workload matmul-2048
    """
    request = sitting.Request(
        effort=effort,
        devices=tuple(device or ()),
        workloads=tuple(workload or ()),
        precisions=tuple(precision or ()),
    )
    probe = local_probe()
    plan = sitting.plan_sitting(request, probe)
    engine = open_database(db)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended politely, it keeps what was measured as well
    with watch.watcher(plan) as watcher:
        ended = sitting.sit(engine, request, plan, watcher, probe)
    report.show_run(engine, ended.run_id, as_json=as_json)
    notices.after(ended)
    if not ended.finished:
        raise typer.Exit(_INTERRUPTED)
