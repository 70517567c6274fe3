"""What a report of ``python -m torch.utils.collect_env`` tells of its machine, in old and new forms."""

import re

from msgspec import Struct

from .values import clean, pairs, search

_QUOTED = re.compile(r"^> ?", re.MULTILINE)  # a report inside an answer


class Report(Struct, frozen=True, kw_only=True):
    """The values of a report that a fingerprint can use; None where the report does not say."""

    torch: str | None = None
    macos: str | None = None
    arch: str | None = None
    python: str | None = None
    cpu: str | None = None
    rosetta: bool | None = None
    debug_build: bool | None = None


def parse(text: str | None) -> Report:
    """The values of a report; everything is None if the text is no report."""
    if text is None or "PyTorch version:" not in text:
        return Report()
    text = _QUOTED.sub("", text.replace("\r", ""))
    found = pairs(text)
    system = found.get("OS", "")
    arch = search(r"\((arm64|x86_64)\)", system) or search(
        r"^(?:macOS|Linux)-\S{0,80}?-(arm64|x86_64)\b", found.get("Python platform")
    )
    named = _cpu(text)
    cpu = None if named and named.startswith("VirtualApple") else named
    return Report(
        torch=clean(search(r"^([0-9][\w.+!-]*)", found.get("PyTorch version"))),
        # The OS line is right where "Python platform" is not: an old Python says 10.16 for every later system.
        macos=search(r"^(?:macOS|Mac OSX) ([0-9]{1,3}(?:\.[0-9]{1,4}){0,2})", system),
        arch=arch,
        python=search(r"^([0-9]{1,2}(?:\.[0-9]{1,4}){1,2}[\w+]*)", found.get("Python version")),
        cpu=cpu,
        rosetta=_rosetta(arch, named),
        debug_build={"True": True, "Yes": True, "False": False, "No": False}.get(found.get("Is debug build", "")),
    )


def _cpu(text: str) -> str | None:
    """The name of the processor: a line by itself on macOS, one of many as lscpu and Windows list them."""
    section = search(r"^ *CPU:[ \t]*\n((?:[^\n]*\S[^\n]*(?:\n|$)){1,60})", text, re.MULTILINE) or ""
    listed = clean(search(r"^ *(?:Model name:|Name[:=])[ \t]*(\S[^\n]*)$", section, re.MULTILINE))
    alone = clean(search(r"^ *([^\s:=`][^\n:=]*)$", section.split("\n")[0]))
    return listed or (None if alone == "Could not collect" else alone)


def _rosetta(arch: str | None, cpu: str | None) -> bool | None:
    if arch == "arm64":
        return False
    if arch is None or cpu is None:
        return None
    return cpu.startswith(("Apple", "VirtualApple"))
