"""Wordings of each kind of failure, from torch 1.12 on, and texts made to be slow to read."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalmark_collector.explain import Explanation, explain

FAILURES = Path(__file__).parents[1] / "data/fixtures/failures"
METAL = "Error: command buffer exited with error status.\n\tError: \n\t(null)\n\t"

UNSUPPORTED = {
    "The operator 'aten::x.out' is not current implemented for the MPS device. If you want": ("aten::x.out", None),
    "The operator 'aten::x.out' is not currently implemented for the MPS device. ... 77764": ("aten::x.out", None),
    "The operator 'aten::x.out' is not implemented for the MPS device.": ("aten::x.out", None),
    "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework": (None, "float64"),
    "TypeError: Cannot convert a float64 Tensor to MPS as the MPS framework doesn't": (None, "float64"),
    "RuntimeError: MPSGaph does not support tensor dims larger than INT_MAX": (None, None),
    "RuntimeError: MPSGraph does not support tensor dims larger than INT_MAX": (None, None),
    "RuntimeError: MPS: conv3d is only supported on macOS 13.2+": ("conv3d", None),
    "RuntimeError: ConvTranspose 3D BF16 or FP16 types are not supported on MPS": ("conv_transpose3d", None),
    "RuntimeError: Currently topk on mps works only for k<=16": ("topk", None),
    "RuntimeError: unique_consecutive(): not implemented on MPS": ("unique_consecutive", None),
    "RuntimeError: grid_sampler_2d: Unsupported Border padding mode on MPS": ("grid_sampler_2d", None),
    "RuntimeError: Adaptive pool MPS: output sizes must be divisible by input sizes.": (None, None),
    "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED. This error may appear": (None, None),
}


@pytest.mark.parametrize(("text", "names"), UNSUPPORTED.items())
def test_what_a_device_does_not_know_is_named(text: str, names: tuple[str | None, str | None]) -> None:
    found = explain(text, 1)
    assert (found.kind, found.op, found.dtype) == ("unsupported_op", *names)


MEMORY = {
    "MPS backend out of memory (MPS allocated: 1.00 GB, max allowed: 9.07 GB). Tried to allocate 563.00 MB on": 563
    << 20,
    "RuntimeError: Invalid buffer size: 19.50 GiB": 19968 << 20,
    METAL + "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)": None,
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total": 1536 << 20,
    "RuntimeError: CUDA error: out of memory": None,
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4294967296 bytes. Error code 12": 1 << 32,
    "RuntimeError: $ Torch: not enough memory: you tried to allocate 4GB. Buy new RAM!": 1 << 32,
    "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted": None,
    "/usr/bin/bash: line 1:  1234 Killed                  python train.py": None,
    "[1]  + 1234 killed     python train.py": None,
    "[1]+  Killed                  python train.py": None,
    "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.": None,
}


@pytest.mark.parametrize(("text", "requested"), MEMORY.items())
def test_a_lack_of_memory_says_how_much_was_asked_for(text: str, requested: int | None) -> None:
    found = explain(text, 1)
    assert (found.kind, found.bytes_requested) == ("out_of_memory", requested)


CRASHES = (
    "/AppleInternal/MPSNDArray.mm:788: failed assertion `buffer is not large enough. Must be 32768 bytes'",
    "LLVM ERROR: Failed to infer result type(s).",
    "RuntimeError: CUDA error: device-side assert triggered",
    "../aten/src/ATen/native/cuda/Loss.cu:240: nll_loss: block: [0,0,0], thread: [0,0,0] Assertion `t >= 0` failed.",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "Bus error (core dumped)",
    "zsh: bus error  python train.py",
    'zsh: illegal hardware instruction  python -c "import torch"',
    "Illegal instruction: 4",
    "python(1234,0x1) malloc: *** error for object 0x60: pointer being freed was not allocated",
    "double free or corruption (!prev)",
    "OMP: Error #15: Initializing libomp.dylib, but found libomp.dylib already initialized.",
)
TIMEOUTS = (
    METAL + "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
    METAL + "Caused GPU Hang Error (00000003:kIOGPUCommandBufferCallbackErrorHang)",
    METAL + "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)",
    "RuntimeError: CUDA error: the launch timed out and was terminated",
)
WRONG = ("epoch 3 loss: nan", "{'loss': nan, 'epoch': 1}", "train_loss nan", "Loss is NaN, stopping training")
NO_BACKEND = (
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "RuntimeError: NVRTC error: nvrtc: error: invalid value for --gpu-architecture (-arch)",
    "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    "RuntimeError: CUDA error: invalid device ordinal",
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted",
    "RuntimeError: The MPS backend is supported on MacOS 12.3+.Current OS version can be queried using `sw_vers`",
    "RuntimeError: The MPS backend is supported on MacOS 14.0+. Current OS version can be queried using `sw_vers`",
)
OTHERS = (
    "RuntimeError: slow_conv2d_forward_mps: input(device='cpu') and weight(device=mps:0')  must be on the same device",
    "RuntimeError: Passed CPU tensor to MPS op",
    "RuntimeError: Failed to create pipeline state object, error: Error Domain=AGXMetalG13X Code=3",
    "torch._inductor.exc.InductorError: RuntimeError: Cannot find a working triton installation.",
)
KINDS = {"crash": CRASHES, "timeout": TIMEOUTS, "wrong_result": WRONG, "no_backend": NO_BACKEND, "other": OTHERS}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in KINDS.items() for text in texts])
def test_a_wording_has_its_kind(kind: str, text: str) -> None:
    assert explain(text).kind == kind


# Each was, or could be, read in a time that grows with the square of its length.
SLOW = (
    "\n",
    " ",
    " \n",
    "max ",
    "a.",
    "Error",
    "Killed ",
    "Tensor for argument ",
    "Expected one of a, ",
    "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes",
    "tensor(",
    "tensor([1, ",
    'loc("mps_',
    "  F.x(",
    "[[[[",
    "equal = ",
    "The operator 'aten::",
    "File: line 1: 1 ",
    "out of\n",
)


@pytest.mark.parametrize("piece", SLOW)
def test_a_giant_log_is_read_in_a_moment(piece: str) -> None:
    """Ten megabytes take a fraction of a second; a pattern that backtracks would take minutes."""
    start = time.monotonic()
    assert isinstance(explain(piece * (10_000_000 // len(piece)), 1), Explanation)
    assert time.monotonic() - start < 30


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400), st.integers(-70, 300))
def test_any_bytes_are_explained(data: bytes, status: int) -> None:
    assert explain(data.decode("utf-8", errors="replace"), status).advice


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(sorted(path.name for path in FAILURES.glob("*.txt"))),
    start=st.integers(0, 2000),
    length=st.integers(0, 200),
    again=st.booleans(),
)
def test_a_damaged_log_is_explained_and_no_number_is_made_up(
    name: str, start: int, length: int, *, again: bool
) -> None:
    text = (FAILURES / name).read_text()
    piece = text[start : start + length]
    damaged = text[: start + (length if again else 0)] + piece * again + text[start + length :]
    found = explain(damaged, 1)
    assert found.bytes_requested is None or any(character.isdigit() for character in damaged)
    assert found.dtype is None or found.dtype[:4].lower() in damaged.lower() or found.dtype in ("float64", "float16")


def cli(*arguments: str) -> dict[str, object]:
    program = "from metalmark_db.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "explain", *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("--exit", "-9"), "out_of_memory"),
        (("--exit", "137"), "out_of_memory"),
        (("--exit=-11",), "crash"),
        (("--exit", "139"), "crash"),
        (("--exit", "0"), "ok"),
        (("--exit", "-9", "--timed-out"), "timeout"),
    ],
)
def test_the_command_takes_both_spellings_of_a_signal(tmp_path: Path, arguments: tuple[str, ...], kind: str) -> None:
    (tmp_path / "log.txt").write_text("")
    found = cli(str(tmp_path / "log.txt"), *arguments, "--json")
    assert (found["kind"], found["op"], found["requested_bytes"]) == (kind, None, None)


def test_the_command_tells_the_bytes_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("RuntimeError: Invalid buffer size: 2.00 GiB\n")
    assert cli(str(tmp_path / "log.txt"), "--json")["requested_bytes"] == 2 * 2**30
