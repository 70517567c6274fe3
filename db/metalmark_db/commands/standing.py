"""The command ``standing``."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import output, queries, summary
from ..engine import opened
from ..errors import UsageProblem
from ..report import machine_line
from ..standing import Other, Place, standing
from ..terminal import seconds, significant
from .query import DB

_COLUMNS = (
    "workload",
    "on",
    "precision",
    "median",
    "faster than",
    "next faster",
    "next slower",
    "published, same work",
)
_SHED = ("published, same work", "next slower", "precision", "next faster")


def standing_command(
    run: Annotated[int | None, typer.Argument(help="Number of the run; the newest when left out.")] = None,
    db: Annotated[str | None, DB] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show where a run stands among all known machines, workload by workload.

    Known are the runs in the database; a configuration counts with its newest torch.
    The last column is the nearest figure that somebody published of the same work.

    Examples: metalmark standing; metalmark ingest others.zip, then metalmark standing 3
    """
    with opened(db, create=False) as engine:
        current = summary.brought_up_to_date(engine)
        runs = queries.runs(engine)
        chosen = [one for one in runs if run in (None, one.run_id)]
        if not chosen:
            raise UsageProblem(
                f"There is no run {run}. `metalmark show` shows the newest."
                if runs
                else "There is no run yet. Measure this machine with: metalmark run"
            )
        places = standing(engine, queries.results(engine, chosen[0].run_id))
    if as_json:
        told = {"run": chosen[0], "places": places}
        print(json.dumps(output.named(told), ensure_ascii=False, indent=1))  # noqa: T201 - the command's output
        return
    output.say(machine_line(chosen[0]))
    if not current:
        output.say(summary.STALE, stderr=True)
    if places:
        output.table(None, _COLUMNS, [_cells(one) for one in places], right=("median",), shed=_SHED)
    for line in _remarks(places):
        output.say(line)


def _cells(place: Place) -> tuple[str, ...]:
    key = place.key
    precision = key.precision if key.mode == "eager" else f"{key.precision} {key.mode}"
    rank = "" if place.percentile is None else f"{place.percentile:.0f} % of {place.machines}"
    return (
        key.workload if key.version == 1 else f"{key.workload} v{key.version}",
        place.device,
        precision,
        seconds(place.median_s),
        rank,
        _other(place.above),
        _other(place.below),
        _other(place.published),
    )


def _other(one: Other | None) -> str:
    return "" if one is None else f"{one.name}: {significant(one.ratio)} ×"


def _remarks(places: Sequence[Place]) -> list[str]:
    if not places:
        return ["Nothing in this run has a time that could be placed."]
    remarks = []
    if not any(place.machines for place in places):
        remarks.append("No other machine is known yet that measured any of this: the database holds this one alone.")
    remarks.append("× is how many times as fast as this run.")
    if any(place.published for place in places):
        remarks.append(
            'Published figures are other people\'s, with their clock: metalmark query "select * from published"'
        )
    return remarks
