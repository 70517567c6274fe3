"""The programs that keep the machine busy, by plain name."""

import os

from msgspec import Struct

from metalmark_db.terminal import harmless

from .fingerprint.probe import run

# Names alone: arguments hold file names and passwords. On macOS `comm` is a path, whose last part is the name.
_PS = ("ps", "-Aww", "-o", "pid=", "-o", "pcpu=", "-o", "comm=")
_LIMIT_S = 5.0
_COLUMNS = 3
_LONGEST = 40
_IDLE_PERCENT = 5.0  # of one core: less is background noise of any system


class Busy(Struct, frozen=True, kw_only=True):
    """A program and what it takes of one core; macOS counts the last minute, Linux the life of the process."""

    name: str
    percent: float


def busiest(count: int = 3, listing: str | None = None, own: int | None = None) -> tuple[Busy, ...]:
    """The other programs that take most, largest first; processes of the same name are counted together."""
    text = run(_PS, _LIMIT_S) if listing is None else listing
    shares: dict[str, float] = {}
    for line in (text or "").splitlines():
        pid, name, percent = _parsed(line)
        # ps is busy for as long as it lists what is busy.
        if name and name != "ps" and pid != (own or os.getpid()):
            shares[name] = shares.get(name, 0.0) + percent
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    return tuple(Busy(name=name, percent=share) for name, share in ranked[:count] if share >= _IDLE_PERCENT)


def _parsed(line: str) -> tuple[int | None, str, float]:
    """Process id, plain name and percent of a line; no name where it is none."""
    parts = line.split(maxsplit=_COLUMNS - 1)
    try:
        pid, percent, command = int(parts[0]), float(parts[1]), parts[2]
    except (ValueError, IndexError):
        return None, "", 0.0
    name = harmless(command.strip().rpartition("/")[2]).strip()
    return pid, name[:_LONGEST], percent if 0 <= percent < float("inf") else 0.0
