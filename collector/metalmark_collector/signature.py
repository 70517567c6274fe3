"""The work signature: what the libraries that are installed make of a workload, counted and not computed.

Model libraries change their code between releases, and the same name may stand for other work. So the
forward pass of one sample, or one step of an operation, is taken through torch's meta device, which
knows shapes alone, and the calls that arrive are counted.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from metalmark_db.record import Signature
from metalmark_db.words import Mode, Precision

from .devices.cpu import Cpu
from .plugins import KNOWN
from .whole import write_whole
from .workloads.base import Entry, Job, Network
from .workloads.building.weights import generator

_DIGITS = 16
_META = torch.device("meta")
_ITEM, _COPY = "aten::_local_scalar_dense", "aten::copy_"
# An index of ":" does nothing: older versions of torch call a slice of the whole for it, newer ones an alias or none.
_PARTS = ("aten::slice.Tensor", "aten::alias")


def signature(entry: Entry, job: Job, folder: Path) -> Signature | None:
    """The signature of what ``job`` measures, counted once and kept in ``folder``; None where it cannot be counted.

    It does not depend on the job's device, precision, mode and batch. It changes no switch and no random stream of this
    process; the first one imports much of torch, which stays.
    """
    path = folder / file_name(entry, job)
    kept = _read(path)
    if kept is not None:
        return kept
    try:
        counted = count(entry, job)
    except Exception:  # noqa: BLE001 - a library may fail in any way, and what was measured stands without it
        return None
    write_whole(path, msgspec.json.encode(counted))
    return counted


def file_name(entry: Entry, job: Job) -> str:
    """The first workload with the same network stands for all of them."""
    alike = (one for one in KNOWN.values() if entry.network is not None and one.network == entry.network)
    return f"{next(alike, entry).facts.id}-{job.size}.signature.json"


def count(entry: Entry, job: Job) -> Signature:
    """The signature, counted now."""
    import torch._dynamo  # noqa: PLC0415 - the meta device's code needs it, and torch 2.6 cannot import it there

    with torch.random.fork_rng(devices=[]):  # a library may draw with the generator that all share
        return _of_network(entry.network, job) if entry.network else _of_operation(entry, job)


def _of_network(network: Network, job: Job) -> Signature:
    with _META:
        model = network.model(job.size).eval()
    inputs = network.inputs(job.size, 1, generator(job.seed)).to(_META)
    parameters = sum(one.numel() for one in model.parameters() if one.requires_grad)
    # As inference is measured; so the calls are those of the model's own code, before torch takes them apart.
    with torch.inference_mode():
        return _counted(lambda: model(inputs), parameters)


def _of_operation(entry: Entry, job: Job) -> Signature:
    # With the same seed, so that numbers that were just drawn to be measured are not drawn again.
    work = entry.builder(replace(job, device=_Meta(), precision=Precision.FP32, mode=Mode.EAGER, double=False))

    def step() -> None:
        with suppress(_NumberWanted):  # what comes before it, and the reading itself, is all that can be counted
            work.step()

    try:
        return _counted(step, 0)
    finally:
        work.close()


def _counted(work: Callable[[], object], parameters: int) -> Signature:
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415 - imports Triton, which may be broken

    # The second mode is the inner one, and sees the calls before the first takes them apart.
    with FlopCounterMode(display=False) as flops, _Calls() as calls:
        work()
    told = "".join(f"{name} {times}\n" for name, times in sorted(calls.counts.items()) if times)
    return Signature(
        parameters=parameters,
        forward_flops=flops.get_total_flops(),
        calls=calls.counts.total(),
        digest=hashlib.sha256(told.encode()).hexdigest()[:_DIGITS],
    )


class _Meta(Cpu):
    """Where tensors have a shape and no numbers, so that there is nothing to wait for either."""

    kind = "meta"


class _NumberWanted(Exception):
    """Somebody reads a number, and there is none."""


class _Calls(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's own
    """Counts what is called, by name; a number that is read ends it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The call's own result."""
        del types
        name, wanted = func.name(), kwargs or {}
        if name == _ITEM or (name == _COPY and args[0].device != _META and args[1].device == _META):
            self.counts[name] += 1
            raise _NumberWanted
        result = func(*args, **wanted)
        self.counts[name] += name not in _PARTS or result.shape != args[0].shape
        return result


def _read(path: Path) -> Signature | None:
    """What the file says; None where there is none, or none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Signature)
    except (OSError, msgspec.DecodeError):
        return None
