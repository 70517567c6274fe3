"""What a worker says of itself before its first task."""

from .clock import Clock
from .devices.base import Device
from .fingerprint import torch_process
from .measure import Session, time_block
from .messages import Hello

_CALIBRATION_SIZE = 1024
_PROBE_SIZE = 4096


def hello(device: Device, clock: Clock, *, user_initiated: bool | None = None) -> Hello:
    """Torch's versions, whether the device computes, how fast it is on a small matmul, and whether it is waited for."""
    import torch  # noqa: PLC0415 - the parent imports this module's neighbours without torch

    unusable = device.unusable()
    rate, probe = (None, (None, None)) if unusable else (_rate(device, clock), _probe(device, clock))
    return Hello(
        torch_version=str(torch.__version__),
        torch_git=getattr(torch.version, "git_version", None),
        torch_debug=getattr(torch.version, "debug", None),
        threads=torch.get_num_threads(),
        torch_build=torch_process.build(torch),
        unusable=unusable,
        chip_name=device.chip_name(),
        flops_per_s=rate,
        limit_bytes=None if unusable else device.recommended_memory(),
        user_initiated=user_initiated,
        probe_enqueue_ns=probe[0],
        probe_synchronized_ns=probe[1],
    )


def _rate(device: Device, clock: Clock) -> float:
    """FLOP/s of a small fp32 matmul, the better of two blocks."""
    session = _matmul(device, clock, _CALIBRATION_SIZE)
    time_block(session, 1)
    best = min(time_block(session, 3).elapsed_ns for _ in range(2))
    return float(3 * 2 * _CALIBRATION_SIZE**3 / (best / 1e9))


def _probe(device: Device, clock: Clock) -> tuple[int | None, int | None]:
    """Time to enqueue a large matmul, and to finish it; None on the CPU, which does not enqueue."""
    if device.kind == "cpu":
        return None, None
    session = _matmul(device, clock, _PROBE_SIZE)
    time_block(session, 1)
    block = time_block(session, 1)
    return block.enqueue_ns, block.elapsed_ns


def _matmul(device: Device, clock: Clock, size: int) -> Session:
    import torch  # noqa: PLC0415 - see hello

    generator = torch.Generator().manual_seed(0)
    left = torch.randn(size, size, generator=generator).to(device.torch_device())
    return Session(lambda: left @ left, device, clock, end_ns=0)
