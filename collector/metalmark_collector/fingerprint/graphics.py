"""GPUs of a Mac, from system_profiler, a crash report or ioreg."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from . import footer
from .evidence import Evidence
from .values import clean, lines, only, positive, search, size

_TEXT_FIELDS = {
    "Chipset Model": "sppci_model",
    "Total Number of Cores": "sppci_cores",
    "VRAM (Total)": "spdisplays_vram",
    "VRAM (Dynamic, Max)": "spdisplays_vram",
    "Metal Support": "metal",
    "Metal Family": "metal",
    "Metal": "metal",
}


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU that the system lists."""

    name: str
    cores: int | None = None
    memory_bytes: int | None = None
    metal: str | None = None
    displays: int | None = None


def gpus(evidence: Evidence) -> list[Gpu]:
    """All GPUs, from the best output there is."""
    return (
        _from_json(evidence.items("displays_json"))
        or _from_text(evidence.text("displays_text"))
        or _from_footer(evidence.text("crash_footer"))
    )


def main_gpu(found: Iterable[Gpu]) -> Gpu | None:
    """The GPU that torch takes: of several ones, the first that is not Intel's."""
    ordered = sorted(found, key=lambda gpu: gpu.name.startswith("Intel"))
    return ordered[0] if ordered else None


def cores(evidence: Evidence) -> int | None:
    """GPU cores as system_profiler or, where it has none, ioreg tells them."""
    gpu = main_gpu(gpus(evidence))
    listed = re.findall(r'gpu-core-count"?\s*[:=]\s*([0-9]{1,6})\b', evidence.ioreg + (evidence.text("notes") or ""))
    return (gpu.cores if gpu else None) or positive(only(listed))


def _from_json(items: Iterable[Mapping[str, object]]) -> list[Gpu]:
    found = []
    for item in items:
        # Displays are listed inside a GPU and have no model; `_name` may be a raw key such as kHW_AppleM1Item.
        name = clean(item.get("sppci_model"))
        if name is None:
            continue
        displays = item.get("spdisplays_ndrvs")
        found.append(
            Gpu(
                name=name,
                cores=positive(item.get("sppci_cores")),
                memory_bytes=size(item.get("spdisplays_vram")),
                metal=_metal(item),
                displays=len(displays) if isinstance(displays, list) else None,
            )
        )
    return found


def _metal(item: Mapping[str, object]) -> str | None:
    """The Metal level in the words of the text output, from the keys of each version."""
    support = search(r"^spdisplays_metal([0-9]{1,2})$", clean(item.get("spdisplays_mtlgpufamilysupport")))
    if support:
        return f"Metal {support}"
    family = clean(item.get("spdisplays_metalfamily"))
    if apple := search(r"^spdisplays_mtlgpufamilyapple([0-9]{1,2})$", family):
        return f"Supported, Metal GPUFamily Apple {apple}"
    if mac := search(r"^spdisplays_mtlgpufamilymac([0-9]{1,2})$", family):
        return f"Supported, Metal GPUFamily macOS {mac}"
    return "Supported" if item.get("spdisplays_metal") == "spdisplays_supported" else None


def _from_text(text: str | None) -> list[Gpu]:
    """GPUs of the text output; each begins with "Chipset Model", since its heading may be lost."""
    blocks: list[list[str]] = []
    for line in lines(text):
        if re.match(r"\s*Chipset Model:", line):
            blocks.append([])
        if blocks:
            blocks[-1].append(line)
    return [gpu for block in blocks if (gpu := _text_gpu(block))]


def _text_gpu(block: list[str]) -> Gpu | None:
    found: dict[str, str] = {}
    for line in block:
        label, _, value = line.strip().partition(": ")
        if label in _TEXT_FIELDS and value:
            found.setdefault(_TEXT_FIELDS[label], value)
    name = clean(found.get("sppci_model"))
    if name is None:
        return None
    return Gpu(
        name=name,
        cores=positive(found.get("sppci_cores")),
        memory_bytes=size(found.get("spdisplays_vram")),
        metal=clean(found.get("metal")),
        displays=_displays(block),
    )


def _displays(block: list[str]) -> int | None:
    """Headings under "Displays:", up to the heading of the next GPU."""
    start = next((n for n, line in enumerate(block) if line.strip() == "Displays:"), None)
    if start is None:
        return None
    depth = _indent(block[start])
    inside = [line for line in block[start + 1 :] if line.strip()]
    end = next((n for n, line in enumerate(inside) if _indent(line) <= depth), len(inside))
    return sum(line.rstrip().endswith(":") for line in inside[:end]) or None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _from_footer(text: str | None) -> list[Gpu]:
    listed = footer.parse(text).graphics
    return [Gpu(name=name, memory_bytes=size(memory)) for model, memory in listed if (name := clean(model))]
