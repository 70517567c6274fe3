"""From text to values: each function gives a value that stands in the text, or None."""

import re
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

_NOISE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+(?:[+-]\d{4})? .*?\[\w+:\w+\]")
_PAIR = re.compile(r"""\s*["']?([^:=\n]*?)["']?\s*[:=]\s*(.*?)\s*""")
# Units as English, French (Go) and Russian systems print them.
_SIZE = re.compile(
    r"([0-9]{1,12})(?:[.,]([0-9]{1,6}))?\s*([kKMGT\u041a\u041c\u0413\u0422]?)(?:i?[Bo]|bytes|[\u0411\u0431])?"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "\u041a": 1, "\u041c": 2, "\u0413": 3, "\u0422": 4}
_WIDE = str.maketrans({"\uff08": "(", "\uff09": ")", "\uff1a": ":"})
_TOO_LARGE = 10**18  # a database column holds 64 bits
_LONGEST = 200  # characters of one value: what a text field of a record holds


def clean(text: object) -> str | None:
    """One line of printable characters, or None if nothing is left."""
    if not isinstance(text, str):
        return None
    printable = "".join(character if character.isprintable() else " " for character in text[:2000])
    return " ".join(printable.split())[:_LONGEST].strip() or None


def whole(value: object) -> int | None:
    """A number that is written as plain digits, or that JSON gave as an integer; never negative."""
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*[0-9]{1,18}\s*", value, re.ASCII) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _TOO_LARGE else None


def positive(value: object) -> int | None:
    """As ``whole``, and 0 is unknown: a count of nothing is never told as 0."""
    return whole(value) or None


def number(text: object) -> float | None:
    """A decimal number, with a point or with a comma."""
    if isinstance(text, str) and re.fullmatch(r"[0-9]{1,12}(?:[.,][0-9]{1,9})?", text.strip()):
        return float(text.strip().replace(",", "."))
    return None


def size(text: object) -> int | None:
    """Bytes of a size such as "16 GB", "1,5 TB" or "2048.00M"; makers of memory mean powers of 1024."""
    match = _SIZE.fullmatch(clean(text) or "")
    if match is None:
        return None
    digits, decimals, unit = match.groups(default="")
    scale: int = 1024 ** _POWERS[unit.upper()]
    parts: int = 10 ** len(decimals)
    return whole(int(digits) * scale + int(decimals or 0) * scale // parts)


def narrow(text: str) -> str:
    """A text whose wide colons and parentheses, as Japanese has them, are the usual ones."""
    return text.translate(_WIDE)


def lines(text: str | None) -> list[str]:
    """The lines of an output without the log lines that some systems mix into it."""
    return [line for line in (text or "").splitlines() if not _NOISE.match(line)]


def pairs(text: str | None) -> dict[str, str]:
    """The "key: value" and "key = value" lines; the first one of a key counts."""
    found: dict[str, str] = {}
    for line in lines(text):
        match = _PAIR.fullmatch(line[:4000])
        if match:
            found.setdefault(match[1].strip(), match[2])
    return found


def search(pattern: str, text: str | None, flags: re.RegexFlag = re.NOFLAG) -> str | None:
    """The first group of the first match."""
    match = re.search(pattern, text or "", flags | re.ASCII)
    return match[1] if match else None


def only(values: Iterable[T | None]) -> T | None:
    """The value that all known ones agree on; None if they differ or none is known."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None
