"""CPU cores and their performance levels, from each of the forms in which systems tell them.

A level has a place (fastest first), a count and, where the system says so, a name. The place is
certain in every form; the name is not: it changes with the version of macOS.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from .values import clean, narrow, positive, search, whole

KNOWN_NAMES = ("Super", "Performance", "Efficiency")
FIRST_WITH_SUPER = 5  # from M5 on, the fastest level may be called Super
MACOS_SUPER_FIRST = 27  # number_processors is total:Super:P:E from here on, total:first:E:M before


class Cores(Struct, frozen=True, kw_only=True):
    """What one output tells of the cores; None is what it leaves open."""

    total: int | None = None
    counts: tuple[int, ...] | None = None
    names: tuple[str, ...] | None = None
    super_cores: int | None = None
    performance_cores: int | None = None
    efficiency_cores: int | None = None


def merge(readings: Sequence[Cores]) -> Cores:
    """One answer from several outputs, the most trusted first."""

    def first(field: str) -> object:
        return next((value for reading in readings if (value := getattr(reading, field)) is not None), None)

    return Cores(**{field: first(field) for field in Cores.__struct_fields__})  # type: ignore[arg-type]


def named(levels: Sequence[tuple[str, int]]) -> Cores:
    """Cores of levels whose names the system gave, fastest first."""
    counts = tuple(count for _, count in levels)
    of = {name.lower(): count for name, count in levels}
    # A level that is not listed has no cores, but only where all names are ones that macOS has told apart.
    rest = 0 if all(name in KNOWN_NAMES for name, _ in levels) else None
    return Cores(
        total=sum(counts),
        counts=counts,
        names=tuple(name for name, _ in levels),
        super_cores=of.get("super", rest),
        performance_cores=of.get("performance", rest),
        efficiency_cores=of.get("efficiency", rest),
    )


def from_sysctl(sysctl: Mapping[str, str], generation: int | None) -> Cores:
    """Cores from ``hw.perflevelN.name`` and ``.physicalcpu``, for any number of levels."""
    found = [(n, _level(sysctl, n)) for n in range(16)]
    listed = {n: count for n, count in found if count is not None}
    levels = {n: count for n, count in listed.items() if count}
    names = {n: name for n in levels if (name := clean(sysctl.get(f"hw.perflevel{n}.name")))}
    total = positive(sysctl.get("hw.physicalcpu")) or positive(sysctl.get("hw.physicalcpu_max"))
    if not levels or not _complete(listed, sysctl, total):
        return merge([Cores(total=total), _unnamed(levels, generation, complete=False)])
    if len(names) == len(levels):
        return named([(names[n], levels[n]) for n in sorted(levels)])
    return _unnamed(levels, generation, complete=True)


def _level(sysctl: Mapping[str, str], n: int) -> int | None:
    """Cores of a level, 0 where it is empty; an Apple core has one thread, so logical CPUs count as well."""
    kinds = ("physicalcpu", "physicalcpu_max", *(("logicalcpu", "logicalcpu_max") if _single_threaded(sysctl) else ()))
    told = (whole(sysctl.get(f"hw.perflevel{n}.{kind}")) for kind in kinds)
    return next((count for count in told if count is not None), None)


def _single_threaded(sysctl: Mapping[str, str]) -> bool:
    return "Apple" in sysctl.get("machdep.cpu.brand_string", "") or sysctl.get("hw.optional.arm64") == "1"


def _complete(listed: Mapping[int, int], sysctl: Mapping[str, str], total: int | None) -> bool:
    """Whether these are all levels: adding up to all cores, or else as many as announced."""
    if sorted(listed) != list(range(len(listed))):
        return False
    announced = whole(sysctl.get("hw.nperflevels"))
    return sum(listed.values()) in (total, positive(sysctl.get("hw.ncpu"))) or announced == len(listed)


def _unnamed(levels: Mapping[int, int], generation: int | None, *, complete: bool) -> Cores:
    """Levels without names, as macOS 12 gave them: there were two, performance and efficiency."""
    counts = tuple(levels[n] for n in sorted(levels)) if complete else None
    pair = not levels.keys() - {0, 1} and not (complete and len(levels) == 1)
    if not pair or (generation or 0) >= FIRST_WITH_SUPER:
        return Cores(total=sum(counts) if counts else None, counts=counts)
    return Cores(
        total=sum(counts) if counts else None,
        counts=counts,
        performance_cores=levels.get(0),
        efficiency_cores=levels.get(1),
    )


def from_number_processors(value: object, *, macos: int | None, generation: int | None) -> Cores:
    """Cores from ``number_processors``: an integer, or ``proc total:a:b`` or ``proc total:a:b:c``.

    Whatever the version: without the total and without zeros, these are the levels, fastest first.
    """
    if (total := positive(value)) is not None:
        return Cores(total=total)
    listed = search(r"\bproc\s+([0-9]{1,6}(?::[0-9]{1,6})*)(?![0-9:])", clean(value))
    if listed is None:
        return from_words(value)
    total, *fields = (int(field) for field in listed.split(":"))
    if not total or sum(fields) != total:  # also where no levels are listed, or the text breaks off
        return Cores(total=total or None)
    return merge([_roles(fields, macos, generation), Cores(total=total, counts=tuple(n for n in fields if n))])


def _roles(fields: Sequence[int], macos: int | None, generation: int | None) -> Cores:
    """Which field bears which name; nothing where version and chip leave it open."""
    before_super = generation is not None and generation < FIRST_WITH_SUPER
    if before_super and len(fields) > 2 and fields[0] and (macos or 0) >= MACOS_SUPER_FIRST:  # noqa: PLR2004  with Super
        return Cores()  # no early chip has a Super core: the version or the chip is not what it seems
    match fields:
        case [first, second, third] if first == 0 or (macos or 0) >= MACOS_SUPER_FIRST:
            return Cores(super_cores=first, performance_cores=second, efficiency_cores=third)
        case [first, efficiency] | [first, efficiency, 0] if before_super or (len(fields), generation) == (2, None):
            return Cores(super_cores=0, performance_cores=first, efficiency_cores=efficiency)
        case [first, 0, medium] if macos is not None and not before_super:
            return Cores(super_cores=first, performance_cores=medium, efficiency_cores=0)
        case [_, efficiency, 0] if macos is not None:  # Super or Performance is left open, Efficiency is not
            return Cores(efficiency_cores=efficiency)
        case _:
            return Cores()


def from_words(value: object) -> Cores:
    """Cores from a text such as "16 (12 Performance and 4 Efficiency)"."""
    text = narrow(clean(value) or "")
    total = positive(search(r"^([0-9]{1,6})\b", text))
    inside = search(r"\((.*)\)", text) or ""
    listed = re.findall(r"\b([0-9]{1,6})\s+([^\W\d_]+)", inside)
    levels = [(_titled(name), int(count)) for count, name in listed if int(count)]
    if not levels:  # languages that put the number after the name, or leave out the space between
        levels = [("", int(count)) for count in re.findall(r"[0-9]{1,6}", inside) if int(count)]
    if total is None or sum(count for _, count in levels) != total:
        return Cores(total=total)
    if any(name not in KNOWN_NAMES for name, _ in levels):  # another language: the order still says which is fastest
        return Cores(total=total, counts=tuple(count for _, count in levels))
    return named(sorted(levels, key=lambda level: KNOWN_NAMES.index(level[0])))


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:].lower()


def from_ioreg(text: str | None, generation: int | None) -> Cores:
    """Cores from ``p-core-count``, ``m-core-count`` and ``e-core-count``, little-endian hexadecimal data."""
    found = {kind: _hex_count(search(rf'"{kind}-core-count" = <([0-9a-fA-F]+)>', text)) for kind in "pme"}
    counts = tuple(count for count in found.values() if count)
    if not found["p"]:
        return Cores()
    fastest = found["p"]
    if found["m"]:
        roles = Cores(super_cores=fastest, performance_cores=found["m"], efficiency_cores=found["e"] or 0)
    elif (generation or 0) < FIRST_WITH_SUPER:
        roles = Cores(performance_cores=fastest, efficiency_cores=found["e"])
    else:
        roles = Cores(efficiency_cores=found["e"])
    return merge([roles, Cores(total=sum(counts), counts=counts)] if len(counts) > 1 else [roles])


def _hex_count(data: str | None) -> int | None:
    if data is None or len(data) % 2 or len(data) > 16:  # noqa: PLR2004  at most 64 bits
        return None
    return positive(int.from_bytes(bytes.fromhex(data), "little"))
