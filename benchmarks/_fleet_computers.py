"""The computers of a fleet, as their fingerprints tell them: chips of chips.csv as often as people have them."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

from metalmark_db.chips import ChipFacts, agreed
from metalmark_db.data import data
from metalmark_db.published import read_chips
from metalmark_db.record import Machine

FIRST, LAST = date(2026, 1, 2), date(2026, 11, 30)  # of the runs: checks refuse what has yet to come
_GUEST_GIB = 14  # of a Mac's guest
_GIB = 2**30
_KERNEL_KEEPS = 0.985  # share of the installed memory that Linux reports

# How many people have each kind of chip, and each generation.
_KINDS = {"": 10.0, "Pro": 4.0, "Max": 1.8, "Ultra": 0.3}
_GENERATIONS = {"M1": 1.0, "M2": 0.9, "M3": 0.8, "M4": 1.3, "M5": 0.9, "M6": 0.3}
# What runs there: Macs, their guests, cards in computers and in rented ones, and computers without a GPU.
_SORTS = {"mac": 81, "mac_guest": 2, "card": 8, "rented_card": 5, "cpu": 3, "cpu_guest": 1}

# When a chip could be bought; what is missing here came before the first run.
RELEASED = {
    "Apple M3": date(2023, 11, 7),
    "Apple M3 Ultra": date(2025, 3, 12),
    "Apple M4": date(2024, 11, 8),
    "Apple M5": date(2025, 11, 4),
    "Apple M5 Pro": date(2026, 3, 11),
    "Apple M5 Max": date(2026, 3, 11),
    "Apple M5 Ultra": date(2026, 9, 1),
    "Apple M6": date(2026, 9, 15),
}
_SOCS = {
    "Apple M1": "T8103",
    "Apple M1 Pro": "T6000",
    "Apple M1 Max": "T6001",
    "Apple M1 Ultra": "T6002",
    "Apple M2": "T8112",
    "Apple M2 Pro": "T6020",
    "Apple M2 Max": "T6021",
    "Apple M2 Ultra": "T6022",
    "Apple M3": "T8122",
    "Apple M3 Pro": "T6030",
    "Apple M3 Max": "T6031",
    "Apple M3 Ultra": "T6032",
    "Apple M4": "T8132",
    "Apple M4 Pro": "T6040",
    "Apple M4 Max": "T6041",
    "Apple M5": "T8142",
    "Apple M5 Pro": "T6050",
    "Apple M5 Max": "T6051",
    "Apple M5 Ultra": "T6052",
    "Apple M6": "T8152",
}
# Models of each chip: those without a fan, other laptops, and those without a battery.
_AIRS = {
    "Apple M1": ("MacBookAir10,1",),
    "Apple M2": ("Mac14,2", "Mac14,15"),
    "Apple M3": ("Mac15,12", "Mac15,13"),
    "Apple M4": ("Mac16,12", "Mac16,13"),
    "Apple M5": ("Mac17,3",),
}
_LAPTOPS = {
    "Apple M1": ("MacBookPro17,1",),
    "Apple M1 Pro": ("MacBookPro18,1", "MacBookPro18,3"),
    "Apple M1 Max": ("MacBookPro18,2", "MacBookPro18,4"),
    "Apple M2": ("Mac14,7",),
    "Apple M2 Pro": ("Mac14,9", "Mac14,10"),
    "Apple M2 Max": ("Mac14,5", "Mac14,6"),
    "Apple M3": ("Mac15,3",),
    "Apple M3 Pro": ("Mac15,6", "Mac15,7"),
    "Apple M3 Max": ("Mac15,8", "Mac15,9", "Mac15,10"),
    "Apple M4": ("Mac16,1",),
    "Apple M4 Pro": ("Mac16,7", "Mac16,8"),
    "Apple M4 Max": ("Mac16,5", "Mac16,6"),
    "Apple M5": ("Mac17,2",),
    "Apple M5 Pro": ("Mac17,8", "Mac17,9"),
    "Apple M5 Max": ("Mac17,6", "Mac17,7"),
}
_DESKTOPS = {
    "Apple M1": ("Macmini9,1",),
    "Apple M1 Max": ("Mac13,1",),
    "Apple M1 Ultra": ("Mac13,2",),
    "Apple M2": ("Mac14,3",),
    "Apple M2 Pro": ("Mac14,12",),
    "Apple M2 Max": ("Mac14,13",),
    "Apple M2 Ultra": ("Mac14,8", "Mac14,14"),
    "Apple M3": ("Mac15,4", "Mac15,5"),
    "Apple M3 Ultra": ("Mac15,14",),
    "Apple M4": ("Mac16,10",),
    "Apple M4 Pro": ("Mac16,11",),
    "Apple M4 Max": ("Mac16,9",),
    "Apple M5 Ultra": ("Mac17,14",),
    "Apple M6": ("Mac18,3",),
}


@dataclass(frozen=True)
class _Card:
    chip: str  # in chips.csv, with its variant
    variant: str
    name: str  # as the driver prints it
    multiprocessors: int
    memory_mib: int
    rented: bool  # seen in data centres rather than under desks


_CARDS = (
    _Card("NVIDIA RTX 3090", "24 GB", "NVIDIA GeForce RTX 3090", 82, 24576, rented=False),
    _Card("NVIDIA RTX 4090", "24 GB", "NVIDIA GeForce RTX 4090", 128, 24564, rented=False),
    _Card("NVIDIA T4", "16 GB", "Tesla T4", 40, 15360, rented=True),
    _Card("NVIDIA V100", "SXM3 32 GB", "Tesla V100-SXM3-32GB", 80, 32768, rented=True),
    _Card("NVIDIA A100", "SXM4 40 GB", "NVIDIA A100-SXM4-40GB", 108, 40960, rented=True),
    _Card("NVIDIA H100", "PCIe 80 GB", "NVIDIA H100 PCIe", 114, 81559, rented=True),
    _Card("NVIDIA H100", "SXM5 80 GB", "NVIDIA H100 80GB HBM3", 132, 81559, rented=True),
    _Card("NVIDIA H200", "SXM 141 GB", "NVIDIA H200", 132, 143771, rented=True),
)
# Processors of other computers: maker, name, cores of each level, sizes of memory.
_PROCESSORS = (
    ("amd", "AMD Ryzen 9 7950X 16-Core Processor", (16,), (64, 128)),
    ("amd", "AMD Ryzen 7 5800X 8-Core Processor", (8,), (32, 64)),
    ("intel", "13th Gen Intel(R) Core(TM) i9-13900K", (8, 16), (64, 128)),
    ("intel", "12th Gen Intel(R) Core(TM) i7-12700H", (6, 8), (16, 32)),
)
_RENTED = (
    ("intel", "Intel(R) Xeon(R) Processor", (16,), (126,)),
    ("amd", "AMD EPYC", (8,), (63,)),
    ("amd", "AMD EPYC 7V13 64-Core Processor", (24,), (220,)),
)


@dataclass(frozen=True, kw_only=True)
class Computer:
    """One computer of the fleet, and the habits of its owner."""

    machine: Machine
    peaks: ChipFacts  # published of its Apple chip or of its card
    gpu: str | None  # the kind of device that torch has beside the CPU
    since: date  # its first run is not before
    reporter: str | None
    battery: bool = False
    fan: bool = True
    compiler: bool = True
    torch_behind: int = 0  # releases
    macos_behind: timedelta = timedelta(0)
    paces: Mapping[str, float]  # by device: no two computers of a configuration are equally fast

    @property
    def generation(self) -> str:
        """Of an Apple chip, such as M4; for others nothing."""
        words = (self.machine.chip or "").split()
        return words[1] if words[:1] == ["Apple"] else ""


def computer(seed: int, number: int) -> Computer:
    """Computer ``number`` of the fleet of that seed."""
    chance = random.Random(f"{seed}/computer/{number}")  # noqa: S311 - a made-up fleet, no secret
    sort = _one_of(chance, _SORTS)
    reporter = hashlib.sha256(f"{seed}/{number}".encode()).hexdigest()[:16]
    habits: dict[str, Any] = {
        "reporter": None if chance.random() < 0.08 else reporter,
        "torch_behind": min(8, int(chance.expovariate(0.52))),
        "macos_behind": timedelta(days=_one_of(chance, {20: 47, 60: 20, 330: 18, 700: 9, 1060: 6})),
        "paces": {device: 1 + 0.02 * chance.gauss(0, 1) for device in ("cpu", "mps", "cuda")},
    }
    if sort in ("mac", "mac_guest"):
        return _mac(chance, habits, guest=sort == "mac_guest")
    habits["since"] = FIRST
    if sort in ("card", "rented_card"):
        return _with_card(chance, habits, rented=sort == "rented_card")
    machine = _pc(chance, None, guest=sort == "cpu_guest")
    return Computer(machine=machine, peaks=ChipFacts(), gpu=None, **habits)


@cache
def chips() -> Sequence[Mapping[str, Any]]:
    """The rows of chips.csv."""
    return read_chips(data("published"))


@cache
def _apple_chips() -> tuple[list[Mapping[str, Any]], list[float]]:
    """The bins of Apple's chips, and how many people have each."""
    rows = [row for row in chips() if row["chip"].startswith("Apple ")]
    names = [row["chip"] for row in rows]
    return rows, [_share(name) / names.count(name) for name in names]


def _share(name: str) -> float:
    _, generation, *kind = name.split()
    return _KINDS["".join(kind)] * _GENERATIONS[generation]


def _one_of(chance: random.Random, weights: Mapping[Any, float]) -> Any:
    return chance.choices(list(weights), list(weights.values()))[0]


def _mac(chance: random.Random, habits: dict[str, Any], *, guest: bool) -> Computer:
    rows, shares = _apple_chips()
    row = chance.choices(rows, shares)[0]
    name = row["chip"]
    sizes = [int(size) for size in row["memory_options_gb"].split()]
    memory = chance.choices(sizes, [2.0**-place for place in range(len(sizes))])[0] * _GIB
    models = dict.fromkeys(_AIRS.get(name, ()), 3.0)
    models |= dict.fromkeys(_LAPTOPS.get(name, ()), 2.0) | dict.fromkeys(_DESKTOPS.get(name, ()), 1.5)
    model = _one_of(chance, models)
    habits["since"] = max(FIRST, RELEASED.get(name, FIRST))
    habits["compiler"] = chance.random() < 0.9
    if guest:
        return Computer(machine=_mac_guest(name), peaks=ChipFacts(), gpu=None, **habits)
    return Computer(
        machine=_real_mac(row, model, memory),
        peaks=agreed([row], memory),
        gpu="mps",
        battery=model not in _DESKTOPS.get(name, ()),
        fan=model not in _AIRS.get(name, ()),
        **habits,
    )


def _real_mac(row: Mapping[str, Any], model: str, memory: int) -> Machine:
    levels = (("Super", "cpu_super"), ("Performance", "cpu_performance"), ("Efficiency", "cpu_efficiency"))
    tiers = tuple((level, row[column]) for level, column in levels if row[column])
    return Machine(
        vendor="apple",
        chip=row["chip"],
        soc=_SOCS[row["chip"]],
        model_identifier=model,
        cpu_cores=sum(count for _, count in tiers),
        tier_counts=tuple(count for _, count in tiers),
        cpu_tiers=tiers,
        gpu_name=row["chip"],
        gpu_cores=row["gpu_cores"],
        gpu_count=1,
        memory_bytes=memory,
        memory_total_bytes=memory,
        arch="arm64",
        virtual=False,
    )


def _mac_guest(name: str) -> Machine:
    return Machine(
        vendor="apple",
        chip=name,
        model_identifier="VirtualMac2,1",
        cpu_cores=4,
        tier_counts=(4,),
        cpu_tiers=(("Standard", 4),),
        gpu_name="Apple Paravirtual device",
        gpu_count=1,
        memory_bytes=_GUEST_GIB * _GIB,
        memory_total_bytes=_GUEST_GIB * _GIB,
        arch="arm64",
        virtual=True,
    )


def _with_card(chance: random.Random, habits: dict[str, Any], *, rented: bool) -> Computer:
    card = chance.choice([one for one in _CARDS if one.rented is rented])
    found = [row for row in chips() if (row["chip"], row["variant"]) == (card.chip, card.variant)]
    return Computer(machine=_pc(chance, card, guest=rented), peaks=agreed(found, None), gpu="cuda", **habits)


def _pc(chance: random.Random, card: _Card | None, *, guest: bool) -> Machine:
    vendor, chip, tiers, sizes = chance.choice(_RENTED if guest else _PROCESSORS)
    memory = chance.choice(sizes) * _GIB
    return Machine(
        vendor=vendor,
        chip=chip,
        cpu_cores=sum(tiers),
        tier_counts=tiers,
        gpu_name=card.name if card else None,
        gpu_cores=card.multiprocessors if card else None,
        gpu_count=1 if card else 0,
        gpu_memory_bytes=card.memory_mib * 2**20 if card else None,
        memory_bytes=None if guest else memory,  # the firmware of a guest lists no modules
        memory_total_bytes=int(memory * _KERNEL_KEEPS) // 4096 * 4096,
        arch="x86_64",
        virtual=guest,
    )
