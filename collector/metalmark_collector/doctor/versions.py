"""Version numbers as tuples, which compare as versions do."""

import re

Version = tuple[int, ...]


def version(text: str | None) -> Version | None:
    """The numbers that a version begins with: (2, 14, 1) of "2.14.1+cu130", (14,) of "14.0"; None if there are none."""
    found = re.match(r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,3}", text or "")
    return _shortest(tuple(int(part) for part in found[0].split("."))) if found else None


def _shortest(numbers: Version) -> Version:
    """Without zeros at the end: 14 and 14.0 are one version."""
    return _shortest(numbers[:-1]) if len(numbers) > 1 and numbers[-1] == 0 else numbers


def is_release(text: str) -> bool:
    """Whether a version is a release, with or without a label such as +cu130; not a nightly, and not built from git."""
    return re.fullmatch(r"[0-9.]+(?:\+(?!git)[A-Za-z0-9.]+)?", text) is not None


def dotted(value: Version) -> str:
    """A version as it is written."""
    return ".".join(map(str, value))
