"""A comparison as a table or as JSON."""

import json

from . import output
from .compare import Comparison, Line, Ratio
from .subjects import Measured
from .terminal import seconds, significant

_SHED = ("torch", "mode", "interval", "precision")


def show(found: Comparison, *, mixed: bool = False, as_json: bool = False) -> None:
    """Print it."""
    if as_json:
        print(json.dumps(output.named(found), ensure_ascii=False, indent=1))  # noqa: T201 - the command's output
        return
    for place, name in enumerate(found.names):
        output.say(f"{_letter(place)}: {name}")
    if found.lines:
        output.say("")
        _table(found, mixed=mixed)
    for remark in _remarks(found, mixed=mixed):
        output.say(remark)


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _table(found: Comparison, *, mixed: bool) -> None:
    letters = [_letter(place) for place in range(len(found.names))]
    others = letters[1:]
    two = len(others) == 1
    ratios = [name for one in others for name in ((f"{one} / A", "interval") if two else (f"{one} / A",))]
    columns = ("workload", "on", "precision", *letters, *ratios, "torch")
    rows = [_cells(line, two=two, mixed=mixed) for line in found.lines]
    output.table(None, columns, rows, right=(*letters, *ratios), shed=_SHED)


def _cells(line: Line, *, two: bool, mixed: bool) -> tuple[str, ...]:
    key = line.key
    name = key.workload if key.version == 1 else f"{key.workload} v{key.version}"
    precision = key.precision if key.mode == "eager" else f"{key.precision} {key.mode}"
    ratios = [cell for one in line.ratios for cell in ((_times(one), _interval(one)) if two else (_times(one),))]
    return name, key.unit, precision, *(seconds(one.median_s) for one in line.measured), *ratios, _torch(line, mixed)


def _times(ratio: Ratio) -> str:
    return f"{'≈ ' if ratio.within_noise else ''}{significant(ratio.ratio)} ×"


def _interval(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return ""
    return f"{significant(ratio.low)} – {significant(ratio.high)}"


def _torch(line: Line, mixed: bool) -> str:
    versions = dict.fromkeys(_version(one) for one in line.measured)
    return " | ".join(versions) if mixed or len(versions) > 1 else next(iter(versions))


def _version(one: Measured) -> str:
    return ", ".join(part for part in (one.torch, one.os) if part) or "unknown"


def _remarks(found: Comparison, *, mixed: bool) -> list[str]:
    remarks = []
    if found.lines:
        means = (f"{_letter(n)} is {significant(one)} × as fast as A" for n, one in enumerate(found.geometric_means, 1))
        remarks.append(f"Geometric mean over the {_cases(len(found.lines))} of this table: {', '.join(means)}.")
    if any(ratio.within_noise for line in found.lines for ratio in line.ratios):
        remarks.append("≈ is within noise: the interval of the ratio contains 1.")
    if any(one.interval == "range" for line in found.lines for one in line.measured):
        remarks.append(
            "With fewer than six computers an interval goes from the fastest to the slowest run: no 95 % interval."
        )
    if mixed:
        remarks.append("Versions of torch and macOS differ between the columns, as was asked for.")
    if found.versions_differ:
        remarks.append(
            f"{_cases(found.versions_differ)} left out: measured on all, but under no torch and macOS that they share. "
            "With --mix the newest of each is taken."
        )
    if found.not_on_all:
        remarks.append(f"{_cases(found.not_on_all)} left out: not right, or not measured, on all of them.")
    if not found.lines:
        remarks.append("Nothing can be compared.")
    return remarks


def _cases(number: int) -> str:
    return f"{number} case{'' if number == 1 else 's'}"
