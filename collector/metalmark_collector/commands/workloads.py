"""The command ``workloads``."""

import json
from typing import Annotated

import typer

from .. import listing


def workloads(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False) -> None:
    """List what is measured: sizes, operations and sources, and the efforts each workload belongs to."""
    if as_json:
        print(json.dumps(listing.suite(), ensure_ascii=False, indent=1))  # noqa: T201
    else:
        listing.show_suite()
