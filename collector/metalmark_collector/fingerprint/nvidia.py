"""NVIDIA GPUs, from nvidia-smi and from the CUDA driver."""

import re

from msgspec import Struct

from .evidence import Evidence
from .values import clean, only, positive, size

_ROW = re.compile(r"(.+), ([0-9]{1,9}) MiB")


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU; multiprocessors are known only from the driver."""

    name: str
    memory_bytes: int | None = None
    multiprocessors: int | None = None


def gpus(evidence: Evidence) -> list[Gpu]:
    """All GPUs with their memory, and their multiprocessors where the driver tells them."""
    listed = _listed(evidence.text("nvidia_smi"))
    driven = _driven(evidence)
    if not listed:
        return driven
    return [
        Gpu(
            name=gpu.name,
            memory_bytes=gpu.memory_bytes,
            multiprocessors=only(other.multiprocessors for other in driven if other.name == gpu.name),
        )
        for gpu in listed
    ]


def _listed(text: str | None) -> list[Gpu]:
    """Rows of "name, memory.total [MiB]"; anything else, such as an error message, is no row."""
    rows = [(_ROW.fullmatch(line.strip()), line) for line in (text or "").splitlines()[:200]]
    return [
        Gpu(name=name, memory_bytes=size(f"{match[2]} MiB")) for match, _ in rows if match and (name := clean(match[1]))
    ]


def _driven(evidence: Evidence) -> list[Gpu]:
    return [
        Gpu(
            name=name,
            memory_bytes=positive(item.get("memory_bytes")),
            multiprocessors=positive(item.get("multiprocessors")),
        )
        for item in evidence.items("cuda_driver")
        if (name := clean(item.get("name")))
    ]


def main_gpu(found: list[Gpu]) -> Gpu | None:
    """The GPU that torch takes first."""
    return found[0] if found else None
