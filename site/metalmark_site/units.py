"""Numbers dressed for people: base units come in, "1.23 ms" goes out. Unknown stays unknown."""

import math

UNKNOWN = "–"
_SMALL = 1e-9


def seconds(value: float | None) -> str:
    """A time with three significant digits and a fitting unit."""
    if value is None:
        return UNKNOWN
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value < limit * 0.9995:  # 0.9996 s is shown as 1.00 s, never as 1,000 ms
            return f"{digits(value * factor)} {unit}"
    return f"{digits(value)} s"


def digits(value: float | None, significant: int = 3) -> str:
    """A number with at least ``significant`` digits, thousands apart, never in powers of ten."""
    if value is None:
        return UNKNOWN
    if abs(value) < _SMALL:
        return "0"
    magnitude = math.floor(math.log10(abs(float(f"{value:.{significant - 1}e}"))))
    return f"{value:,.{max(0, significant - 1 - magnitude)}f}"


def published(value: float) -> str:
    """A figure as its source printed it, up to six digits and without an invented precision."""
    text = f"{value:,.{max(0, 6 - len(str(int(abs(value)))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times(ratio: float | None) -> str:
    """A ratio as "8.3 ×"."""
    return UNKNOWN if ratio is None else f"{digits(ratio, 2)} ×"


def percent(share: float | None) -> str:
    """A share as "75.2 %"."""
    return UNKNOWN if share is None else f"{digits(100 * share)} %"


def gibibytes(value: int | None) -> str:
    """Memory in whole GB, as makers count it (2^30 bytes)."""
    return UNKNOWN if value is None else f"{value / 2**30:,.0f} GB"


def large(value: float | None, unit: str) -> str:
    """A count with an SI prefix: 8.18 GFLOP."""
    if value is None:
        return UNKNOWN
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{digits(value / factor)} {prefix}{unit}"
    return f"{digits(value)} {unit}"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 run", "12 runs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
