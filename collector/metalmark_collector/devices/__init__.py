"""The devices that can be measured, by their word in the record."""

import sys
from collections.abc import Callable, Mapping

from metalmark_db.errors import MissingPart, UsageProblem
from metalmark_db.record import Machine

from .base import Device

# ruff: noqa: PLC0415 - torch is imported when a device is made, not when its name is looked up


def _cpu() -> Device:
    from .cpu import Cpu

    return Cpu()


def _mps() -> Device:
    from .mps import Mps

    return Mps()


def _cuda() -> Device:
    from .cuda import Cuda

    return Cuda()


def _fake() -> Device:
    from .fake import FakeDevice

    return FakeDevice()


DEVICES: Mapping[str, Callable[[], Device]] = {
    "cpu": _cpu,
    "mps": _mps,
    "cuda": _cuda,
    "fake": _fake,
}

# What a person can ask for; the fake measures nothing and belongs to tests.
CHOICES = ("cpu", "mps", "cuda")


def make(kind: str) -> Device:
    """The device called ``kind``."""
    if kind not in DEVICES:
        raise UsageProblem(f"There is no device {kind!r}. Choose one of: {', '.join(CHOICES)}.")
    try:
        return DEVICES[kind]()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingPart(
            "torch is not installed beside Metalmark, and measuring needs it. "
            'Install it with: pip install "metalmark[bench]".'
        ) from error


def default_devices(machine: Machine) -> tuple[str, ...]:
    """The devices that a run measures when nobody names any: the CPU and this machine's GPU.

    Apple silicon always gets ``mps``: where it cannot be used, the run records that and says so.
    """
    if is_apple_silicon(machine):
        return ("cpu", "mps")
    # The fingerprint names NVIDIA's GPUs; asking torch would import it into the parent, for seconds.
    return ("cpu", "cuda") if sys.platform != "darwin" and machine.gpu_name else ("cpu",)


def is_apple_silicon(machine: Machine) -> bool:
    """Whether the hardware is Apple's own, also below a Python that runs under Rosetta."""
    return machine.vendor == "apple" and machine.arch == "arm64"
