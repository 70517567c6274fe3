"""Draws charts: Vega-Lite specifications go to Node, drawings and compiled specifications come back."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from .assets import node
from .data import asset
from .errors import SiteProblem


class Drawing(Struct, frozen=True, kw_only=True):
    """A chart as it stands in the page, and what makes it live there."""

    svg: str
    vega: bytes  # the compiled specification, as JSON


def draw(specs: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Drawing]:
    """The drawing of each named specification; one process of Node draws them all.

    Raises:
        MissingPart: Node or the bundled drawing script is not there.
        SiteProblem: vega refused a specification, or warned about it.
    """
    command = [str(node()), str(asset("draw.mjs"))]
    lines = "".join(_json({"id": name, "spec": spec}) + "\n" for name, spec in specs)
    if not lines:
        return {}
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SiteProblem(
            f"Drawing the charts failed: Node ended with {done.returncode}. This is a fault of Metalmark, not of "
            f"your data; please report it with these lines.\n{done.stderr.strip()[-1500:]}"
        )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {a["id"]: Drawing(svg=a["svg"], vega=_json(a["vega"]).encode()) for a in answers}


def _json(value: object) -> str:
    # No spaces and never NaN, which JSON does not have.
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
