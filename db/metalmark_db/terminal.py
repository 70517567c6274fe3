"""Text for the terminal: contributed text made harmless, numbers with units."""

import unicodedata
from typing import Any

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_GIB = 2**30
_LONG_S = 100  # from here on minutes say it better
_HOUR = 60  # minutes
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # controls, direction marks, surrogates, separators


def harmless(value: Any) -> str:
    """The text of a value without anything that a terminal would obey; None is an empty text."""
    if value is None:
        return ""
    text = str(value)
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _HIDDEN else c for c in text)


def seconds(value: float | None) -> str:
    """A duration with three significant digits and its unit: 1.23 ms."""
    if value is None:
        return ""
    size, unit = next((u for u in _UNITS if value >= u[0]), _UNITS[-1])
    return f"{significant(value / size)} {unit}"


def roughly(value: float) -> str:
    """A time to wait, as one says it: 45 seconds, 3 minutes, 1 hour 20 minutes."""
    minutes = round(value / 60)
    if value < _LONG_S:
        return _counted(max(1, round(value)), "second")
    if minutes < _HOUR:
        return _counted(minutes, "minute")
    rest = f" {_counted(minutes % _HOUR, 'minute')}" if minutes % _HOUR else ""
    return _counted(minutes // _HOUR, "hour") + rest


def significant(value: float | None, digits: int = 3) -> str:
    """A number with three significant digits and no exponent: 0.0123, 12.3, 12,300."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    magnitude = len(str(int(abs(rounded)))) if abs(rounded) >= 1 else 0
    if magnitude:
        return f"{rounded:,.{max(0, digits - magnitude)}f}"
    return f"{rounded:.{digits - 1 - _exponent(rounded)}f}"


def gibibytes(value: int | None) -> str:
    """A size of memory in GiB, without decimals where there are none."""
    return "" if value is None else f"{value / _GIB:.4g} GiB"


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])
