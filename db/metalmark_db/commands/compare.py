"""The command ``compare``."""

from typing import Annotated

import typer

from .. import comparison, output, subjects, summary
from ..compare import compare
from ..engine import opened
from ..errors import UsageProblem
from .query import DB

_NAMES = (
    "Two to six of: a chip ('Apple M4', 'M4 Pro, 20-core GPU'), the number of a run, the beginning of a machine id "
    "or of a document's digest."
)


def compare_command(
    names: Annotated[list[str], typer.Argument(help=_NAMES, show_default=False)],
    workload: Annotated[
        str | None, typer.Option(help="Only workloads whose name fits this pattern, such as 'resnet50-*'.")
    ] = None,
    mix: Annotated[
        bool, typer.Option("--mix", help="Compare the newest torch and macOS of each, though they differ.")
    ] = False,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare chips, machines or runs: like with like only.

    Each line is one workload in one version, precision and mode, on the CPU or the GPU of all of them,
    under the newest torch and macOS that they share. Ratios are times as fast as the first.

    Examples: metalmark compare 'Apple M1' 'Apple M4'; metalmark compare 3 7 --workload 'bert*'
    """
    with opened(db, create=False) as engine:
        if not summary.brought_up_to_date(engine):
            output.say(summary.STALE, stderr=True)
        found = subjects.find(engine, names, workload)
        if len(found) < 2:  # noqa: PLR2004 - two sides
            raise UsageProblem(f"A comparison takes two or more, and this is one: {found[0].name}. Name another.")
        comparison.show(compare(found, mix=mix), mixed=mix, as_json=as_json)
