"""``metalmark fingerprint``: which machine this is, as far as it can be told."""

import json
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Option

from .. import fingerprint as machine
from ..fingerprint.probe import require_recorded


def fingerprint(
    replay: Annotated[Path | None, Option(help="Read the recorded outputs in this folder instead.")] = None,
    torch: Annotated[
        bool, Option("--torch", help="Start torch too and ask it for its build and threads; takes seconds.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one flat JSON object.")] = False,
) -> None:
    """Show chip, cores, GPU, memory, software and conditions of this machine."""
    probe = machine.local_probe(slow=torch) if replay is None else machine.replay_probe(replay)
    if replay is not None:
        require_recorded(replay)
    found = machine.fingerprint(probe)
    if as_json:
        print(json.dumps(found, indent=1))  # noqa: T201
    else:
        Console().print(_table(found))


def _table(found: dict[str, object]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    for key, value in found.items():
        table.add_row(Text(key), Text(_words(value), style="dim" if value is None else ""))
    return table


def _words(value: object) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key}={text}" for key, text in value.items()) or "none"
        case list():
            return ", ".join(
                " ".join(map(str, item.values())) if isinstance(item, dict) else str(item) for item in value
            )
        case _:
            return str(value)
