"""NVIDIA GPUs, from nvidia-smi and from the CUDA driver, and who uses them."""

import re

from msgspec import Struct

from .evidence import Evidence
from .values import clean, only, positive, search, size, whole

_APP = re.compile(r"(?:[0-9]{1,9} MiB|\[?N/A\]?)")
_IDLE_BYTES = 64 * 2**20  # a program that computes has more than this for its context alone
# A GPU that shares the memory of the machine, as on GB10 and Jetson, does not tell how much it has.
_ROW = re.compile(r"(.+), (?:([0-9]{1,9}) MiB|\[?(?:N/A|Not Supported|Insufficient Permissions)\]?)")


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
            memory_bytes=gpu.memory_bytes or only(other.memory_bytes for other in driven if other.name == gpu.name),
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


def main_gpu(evidence: Evidence) -> Gpu | None:
    """The GPU that torch takes first: the driver's first one, which may be a part of a GPU (MIG).

    nvidia-smi lists GPUs in another order, the driver the fastest first.
    """
    found, driven = gpus(evidence), _driven(evidence)
    if not driven:
        return found[0] if found else None
    return next((gpu for gpu in found if gpu.name == driven[0].name), driven[0])


def users(evidence: Evidence) -> int | None:
    """Programs that compute on the GPUs, none of them ours while nothing is measured.

    A container sees no programs of others: an empty list counts only where the memory is free as well.
    """
    listed = evidence.text("nvidia_apps")
    if listed is None:
        return None
    rows = [line for line in listed.splitlines() if _APP.fullmatch(line.strip())]
    used = memory_used(evidence)
    idle = used is not None and used <= _IDLE_BYTES * max(1, len(_used(evidence)))
    return len(rows) or (0 if idle and not listed.strip() else None)


def memory_used(evidence: Evidence) -> int | None:
    """Memory in use on all GPUs, in bytes."""
    used = _used(evidence)
    return sum(used) if used else None


def _used(evidence: Evidence) -> list[int]:
    text = evidence.text("nvidia_state") or ""
    sizes = [
        size(match) for match in re.findall(r"FB Memory Usage\n(?:.*\n){1,3}?\s*Used\s*:\s*([0-9]{1,9} MiB)", text)
    ]
    return [value for value in sizes if value is not None]


def utilization(evidence: Evidence) -> int | None:
    """Share of time that the first GPU is busy, in percent."""
    text = evidence.text("nvidia_state")
    percent = whole(search(r"(?m)^\s*Utilization\s*\n\s*G[Pp][Uu]\s*:\s*([0-9]{1,3}) ?%", text))
    return percent if percent is not None and percent <= 100 else None  # noqa: PLR2004  percent


def thermal_state(evidence: Evidence) -> str | None:
    """That a GPU slows itself down because it is hot; that none does says nothing of the CPU."""
    return search(r"\b([HS]W Thermal Slowdown)\s*:\s*Active\b", evidence.text("nvidia_state"))


def driver(evidence: Evidence) -> str | None:
    """Version of the driver."""
    return search(r"(?m)^Driver Version\s*:\s*([0-9.]{3,20})\s*$", evidence.text("nvidia_state"))
