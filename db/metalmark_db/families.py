"""The family of a chip: what charts colour alike and coverage counts together."""

import re

_GENERATION = re.compile(r"Apple M[0-9]{1,2}(?![0-9])")
_MAKER = re.compile(r"\b(?:Apple|NVIDIA|Intel|AMD)\b")


def family(chip: str) -> str:
    """The family of a chip, which charts colour alike: Apple M1 for all kinds of M1, or the maker, or Other."""
    found = _GENERATION.match(chip) or _MAKER.search(chip)
    return found[0] if found else "Other"
