"""What is known of torch's releases: the macOS that each needs, and combinations that do not work well."""

import re

from msgspec import Struct

from metalmark_db.record import Machine, Software

from .versions import Version, dotted, version

OLDEST: Version = (2, 4)  # what Metalmark is made for, as pyproject.toml says
LAST_ON_INTEL_MACS: Version = (2, 2)  # no wheels for x86_64 Macs came after it

# From these releases on, MPS needs this macOS. torch's own error text named the older one for a while
# (pytorch#133141 and #139425 for 13; #159275, #163515 and #164943 for 14; in doubt 2.9 counts in).
_MPS_NEEDS: tuple[tuple[Version, Version], ...] = (((2, 9), (14,)), ((2, 5), (13,)), ((0,), (12, 3)))
# From 2.12 on, wheels are tagged macosx_14_0 (pytorch#177303): on an older macOS, pip takes an older torch unasked.
FIRST_WITH_NEW_TAG: Version = (2, 12)
NEW_TAG: Version = (14,)


def mps_needs(torch: Version) -> Version:
    """The macOS that MPS needs, whatever the error text says."""
    return next(macos for since, macos in _MPS_NEEDS if torch >= since)


def newest_for(macos: Version) -> str | None:
    """What to name to pip for the newest torch whose MPS works on a macOS; None if none does."""
    too_new = [since for since, needed in _MPS_NEEDS if macos < needed]
    if len(too_new) == len(_MPS_NEEDS):
        return None
    return f"torch<{dotted(too_new[-1])}" if too_new else "torch"


def tags_of(wheel: str | None) -> tuple[str, ...]:
    """The tags in the text of a WHEEL file."""
    return tuple(re.findall(r"^Tag:\s*(\S{1,200})\s*$", wheel or "", re.MULTILINE))


def tag_needs(tags: tuple[str, ...]) -> Version | None:
    """The macOS that a wheel's tags name, such as macosx_14_0_arm64; of several, the oldest."""
    named = (re.search(r"macosx_([0-9]{1,3})_([0-9]{1,3})", tag) for tag in tags)
    found = [needed for match in named if match and (needed := version(f"{match[1]}.{match[2]}"))]
    return min(found, default=None)


class Broken(Struct, frozen=True, kw_only=True):
    """A combination that is known to go wrong, from the first version of a pair up to and without the second."""

    what: str
    torch: tuple[Version, Version]
    macos: tuple[Version, Version]
    chip: str = ""
    helps: str


def known_broken(machine: Machine, software: Software) -> tuple[Broken, ...]:
    """The combinations that this machine has; what is unknown fits none."""
    return tuple(one for one in KNOWN_BROKEN if _fits(one, machine, software))


def _fits(one: Broken, machine: Machine, software: Software) -> bool:
    torch, macos = version(software.torch_version), version(software.os_version)
    if torch is None or macos is None or software.os_name != "macOS":
        return False
    (first_torch, next_torch), (first_macos, next_macos) = one.torch, one.macos
    versions_fit = first_torch <= torch < next_torch and first_macos <= macos < next_macos
    return versions_fit and re.match(one.chip, machine.chip or "") is not None


_ANY: Version = (0,)
_NOT_FIXED: Version = (999,)
_M5 = r"Apple M5\b"

KNOWN_BROKEN: tuple[Broken, ...] = (
    # pytorch#197796, and Liger-Kernel#1442: fine in 2.14.0.
    Broken(
        what="On macOS 27, torch 2.13 aborts in linear layers in bf16 whose weight is a transposed view.",
        torch=((2, 13), (2, 14)),
        macos=((27,), (28,)),
        helps="torch>=2.14",
    ),
    # pytorch#187280: confirmed as gone in 2.13.0.
    Broken(
        what="On macOS 27, models in fp16 came out corrupted on MPS before torch 2.13.",
        torch=(_ANY, (2, 13)),
        macos=((27,), (28,)),
        helps="torch>=2.13",
    ),
    # pytorch#180776 forward and #181936 backward; worked around by #181466 and #182350 in spring 2026.
    Broken(
        what="On M5 chips, linear layers in fp16 and bf16 gave other numbers at each call before torch 2.13.",
        torch=(_ANY, (2, 13)),
        macos=((26,), (28,)),
        chip=_M5,
        helps="torch>=2.13",
    ),
    # pytorch#162730 and #167154: since 2.8.0, on the path that macOS 15 and later take; backport refused.
    Broken(
        what="In torch 2.8, linear layers on MPS gave wrong numbers, or aborted, where a tensor is a view.",
        torch=((2, 8), (2, 9)),
        macos=((15,), _NOT_FIXED),
        helps="torch>=2.9",
    ),
    # pytorch#182815, measured on macOS 26.4.1.
    Broken(
        what="On M5 chips with macOS 26.4, many fresh processes ran two to three times slower on MPS than others.",
        torch=(_ANY, _NOT_FIXED),
        macos=((26, 4), (26, 5)),
        chip=_M5,
        helps="",
    ),
)
