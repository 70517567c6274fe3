"""What can be told from prose: notes on a machine that somebody wrote down instead of its outputs."""

import re
from collections.abc import Iterable

from .values import clean, search

_NAME = r"(?:hw|machdep|kern)\.[A-Za-z0-9_.]+"
_SINGLE = re.compile(rf"\s*({_NAME})\s*[:=]?\s+([^/\n]+?)\s*")


def sysctl(text: str | None) -> dict[str, str]:
    """Values of sysctl that notes quote: "name value", "name: value" or "name / name: value / value"."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        names, _, values = line.partition(": ")
        keys, parts = _split(names), _split(values)
        if len(keys) == len(parts) > 1 and all(re.fullmatch(_NAME, key) for key in keys):
            _keep(found, zip(keys, parts, strict=True))
        elif match := _SINGLE.fullmatch(line[:400]):
            _keep(found, [(match[1], match[2])])
    return found


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(" / ")]


def _keep(found: dict[str, str], entries: Iterable[tuple[str, str]]) -> None:
    for key, value in entries:
        found.setdefault(key, value)


def chip(text: str | None) -> str | None:
    """An Apple chip that the notes name, of any generation."""
    return clean(search(r"\b(Apple [AM][0-9]{1,3}[A-Z]?(?: (?:Pro|Max|Ultra))?)\b", text))


def memory(text: str | None) -> str | None:
    """A size that stands on a line about memory."""
    return search(r"\b(?:RAM|[Mm]emory)\b.*?\b([0-9]{1,6} ?GB)\b", text)


def processors(text: str | None) -> str | None:
    """``number_processors`` as notes quote it, or a count with its levels in parentheses."""
    quoted = search(r"\b(proc [0-9:]+)", text)
    if quoted:
        return quoted
    match = re.search(r"\b([0-9]{1,6}) cores (\([^)\n]*\))", text or "")
    return f"{match[1]} {match[2]}" if match else None


def macos(text: str | None) -> str | None:
    """The version of macOS."""
    return search(r"\bmacOS ([0-9]{2}(?:\.[0-9]{1,3}){1,2})\b", text)


def build(text: str | None) -> str | None:
    """The build of macOS."""
    return search(r"\b(?:build )?([0-9]{2}[A-Z][0-9]{1,5}[a-z]?)\b", text)


def kernel(text: str | None) -> str | None:
    """The release of the Darwin kernel."""
    return search(r"\bDarwin ([0-9]{2}\.[0-9]{1,3}\.[0-9]{1,3})\b", text)


def arch(text: str | None) -> str | None:
    """The architecture."""
    return search(r"\b(arm64|x86_64)\b", text)
