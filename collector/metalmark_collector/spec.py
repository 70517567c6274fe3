"""The spec of a workload: everything of ours that decides what an iteration costs, and a digest of it.

The code of libraries has no part in it: what they make of a workload is its signature.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from .syntax import Code, Place, Read, source
from .workloads.base import Entry

_DIGITS = 16
_SUITE, _SETTINGS = "metalmark_collector.workloads", "metalmark_collector.settings"
# Their classes say what an entry and its work are to the engine; what they make of an entry stands in its facts.
_INTERFACES = (f"{_SUITE}.base", f"{_SUITE}.family")
_COSTS = (
    "id",
    "version",
    "task",
    "batch",
    "input_shape",
    "items_per_iteration",
    "flops_per_iteration",
    "bytes_per_iteration",
    "parameters",
    "model",
    "loss",
    "optimizer",
)


@functools.cache
def our_code(read: Read = source) -> Code:
    """The code of the suite and of the switches; ``read`` gives the text of a module."""
    return Code((_SUITE, _SETTINGS), _INTERFACES, read)


def spec_digest(entry: Entry, code: Code | None = None) -> str:
    """The digest of a workload's spec: the same wherever our code is the same."""
    told = json.dumps(spec(entry, code or our_code()), sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:_DIGITS]


def spec(entry: Entry, code: Code) -> dict[str, Any]:
    """What decides the cost of a workload: facts, precisions, and the code that builds it and sets the switches."""
    places = [(_SETTINGS, "apply")]
    made = _value([entry.builder, entry.network], places)
    return {
        "facts": {name: _value(getattr(entry.facts, name), places) for name in _COSTS},
        "precisions": {kind: sorted(one.value for one in some) for kind, some in entry.precisions.items()},
        "modes": sorted(mode.value for mode in entry.modes),
        "made": made,
        "code": code.reached([place for place in places if code.is_ours(place[0])]),
    }


def _value(value: Any, places: list[Place]) -> Any:
    """A value as plain lists, tables and texts; of a function its place, which is added to ``places``."""
    if isinstance(value, functools.partial):
        return ["partial", *(_value(part, places) for part in (value.func, value.args, value.keywords))]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _value({one.name: getattr(value, one.name) for one in dataclasses.fields(value)}, places)
    if isinstance(value, Mapping):
        return {str(name): _value(one, places) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_value(one, places) for one in value]
    return _place(value, places) if callable(value) else _plain(value)


def _place(function: Callable[..., Any], places: list[Place]) -> str:
    module, name = function.__module__, function.__qualname__
    if "<" in name:
        raise TypeError(f"a spec cannot find {name} of {module}: define the function at the top of its module")
    places.append((module, name))
    return f"{module}.{name}"


def _plain(value: object) -> str:
    if isinstance(value, Enum):
        return repr(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    raise TypeError(f"a spec cannot tell what a {type(value).__name__} is: give plain values to functools.partial")
