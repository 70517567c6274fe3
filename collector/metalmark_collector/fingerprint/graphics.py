"""GPUs of a Mac, from system_profiler, a crash report or ioreg."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from . import footer, labels
from .evidence import Evidence
from .values import clean, lines, only, positive, search, size


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
        # One call may have asked for both data types.
        or _from_json(evidence.items("hardware_json"))
        or _from_text(evidence.text("hardware_text"))
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
        name = _json_name(item)
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


def _json_name(item: Mapping[str, object]) -> str | None:
    """The model, or else the name, which may be a raw key such as kHW_AppleM1Item; displays have neither."""
    model, name = clean(item.get("sppci_model")), clean(item.get("_name")) or ""
    listed = any(key in item for key in ("sppci_cores", "sppci_bus", "sppci_device_type"))
    return model or (name if listed and not name.startswith("kHW_") else None) or None


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
    """GPUs of the text output in any language; each begins with the line that repeats its heading."""
    blocks: list[list[str]] = []
    heading = ""
    for line in lines(text):
        for label, value in labels.entries(line):
            if labels.starts_gpu(label, value, heading):
                blocks.append([])
            heading = heading if value else label
        if blocks:
            blocks[-1].append(line)
    return [gpu for block in blocks if (gpu := _text_gpu(block))]


def _text_gpu(block: list[str]) -> Gpu | None:
    (_, model), *told = labels.entries("\n".join(block))
    found: dict[str, str] = {}
    for label, value in told:
        if value and (field := labels.gpu_field(label)):
            found.setdefault(field, value)
    name = clean(model)
    if name is None:
        return None
    return Gpu(
        name=name,
        cores=positive(found.get("cores")),
        memory_bytes=size(found.get("memory")),
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
