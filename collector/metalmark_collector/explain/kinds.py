"""What an explanation is: a closed list of kinds, and the causes behind them."""

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """How a program ended, as its text and its exit status tell."""

    OK = "ok"
    UNSUPPORTED_OP = "unsupported_op"
    OUT_OF_MEMORY = "out_of_memory"
    CRASH = "crash"
    TIMEOUT = "timeout"
    WRONG_RESULT = "wrong_result"
    NO_BACKEND = "no_backend"
    FALLBACK = "fallback"
    OTHER = "other"


class Explanation(Struct, frozen=True, kw_only=True):
    """What a text and an exit status mean; None is what they do not tell."""

    kind: Kind
    op: str | None = None
    dtype: str | None = None
    bytes_requested: int | None = None
    advice: str


class Cause(Struct, frozen=True):
    """What went wrong in particular, and what helps."""

    kind: Kind
    advice: str


OP_MISSING = Cause(
    Kind.UNSUPPORTED_OP,
    "This operation does not exist for the device in this version of torch. A newer torch may have it; on MPS,"
    " PYTORCH_ENABLE_MPS_FALLBACK=1 computes operations with an aten name on the CPU, more slowly.",
)
DTYPE_MISSING = Cause(
    Kind.UNSUPPORTED_OP,
    "The device or this operation does not know this number format. Convert to float32 first: Metal has no float64,"
    " and bfloat16 on MPS needs macOS 14 and a recent torch.",
)
MPS_MEMORY = Cause(
    Kind.OUT_OF_MEMORY,
    "The GPU's share of the memory is used up. Use a smaller batch or half precision, and close other programs."
    " PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 lifts the limit, but then the system may kill the process.",
)
MPS_UNUSABLE = Cause(
    Kind.OUT_OF_MEMORY,
    "Nothing was allocated and still a few bytes were refused: this GPU cannot be used. Virtual machines say that"
    " they have MPS and cannot allocate; measure on a real Mac.",
)
BUFFER_TOO_LARGE = Cause(
    Kind.OUT_OF_MEMORY,
    "One tensor is larger than the largest buffer that the device allows, whatever memory is free. Split the work or"
    " use a smaller batch or half precision.",
)
CUDA_MEMORY = Cause(
    Kind.OUT_OF_MEMORY,
    "The memory of the GPU is used up, perhaps by other processes too (nvidia-smi lists them). Use a smaller batch or"
    " half precision; if much is reserved and unused, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps.",
)
CPU_MEMORY = Cause(
    Kind.OUT_OF_MEMORY,
    "The memory of the computer is used up. Use a smaller batch or fewer data loader workers, and"
    " close other programs.",
)
KILLED = Cause(
    Kind.OUT_OF_MEMORY,
    "The system killed the process (signal 9), which it does when memory runs out; no Python error is left. Use a"
    " smaller batch, close other programs, and leave PYTORCH_MPS_HIGH_WATERMARK_RATIO at its default.",
)
ASSERTION = Cause(
    Kind.CRASH,
    "An assertion in the system's GPU libraries ended the process. These libraries change with macOS and torch: try"
    " newer ones, smaller or contiguous tensors (under 2**31 elements and 4 GiB), and native arm64 Python.",
)
SEGFAULT = Cause(
    Kind.CRASH,
    "The process broke off inside native code and left no Python error. Try another version of torch, and look for"
    " libraries of two origins (conda and pip) in one environment; `python -X faulthandler` shows the place.",
)
ABORT = Cause(
    Kind.CRASH,
    "The process aborted inside native code. The lines before it may name the reason; try another version of torch.",
)
DEVICE_FAULT = Cause(
    Kind.CRASH,
    "A kernel on the GPU failed, and every later call of this process fails too. An index out of range is the most"
    " common reason: run once on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to see the place.",
)
WATCHDOG = Cause(
    Kind.TIMEOUT,
    "The system's GPU watchdog ended work that took too long or held up the display; what was computed is incomplete."
    " Use smaller steps, close programs that draw, and compare the results before trusting them.",
)
TIME_LIMIT = Cause(
    Kind.TIMEOUT,
    "The program did not end within its time limit. It may hang in the GPU driver: check that the GPU answers before"
    " going on (a restart of the computer helps), then try a smaller size.",
)
WORK_LOST = Cause(
    Kind.WRONG_RESULT,
    "Metal reported that GPU work failed, and the program went on without its results. Do not use the output; use"
    " smaller steps and close programs that draw.",
)
MISMATCH = Cause(
    Kind.WRONG_RESULT,
    "The output is not what the CPU computes. Do not use it. Try another version of macOS and torch, smaller or"
    " contiguous tensors, and blocking copies, and report the case.",
)
NO_MPS = Cause(
    Kind.NO_BACKEND,
    "torch cannot use Metal here. It needs native arm64 Python (not Rosetta), a real Mac (no virtual machine, no"
    " sandbox) and a new enough macOS: 12.3 up to torch 2.4, 13 from torch 2.5, 14 from torch 2.9 or 2.10,"
    " whatever the message says. `metalmark doctor` checks all of it.",
)
NO_CUDA = Cause(
    Kind.NO_BACKEND,
    "torch cannot use CUDA here: it was built without it, or there is no NVIDIA GPU or driver that fits. On a Mac ask"
    " for the device mps or cpu; elsewhere install a CUDA build of torch and check nvidia-smi.",
)
NO_DEVICE = Cause(
    Kind.NO_BACKEND,
    "torch cannot use the device that was asked for. Ask for one that this machine and this torch have.",
)
FALLBACK = Cause(
    Kind.FALLBACK,
    "It worked, but this operation ran on the CPU and the data went back and forth: the time is not one of the GPU."
    " A newer torch may have the operation.",
)
DEVICE_MISMATCH = Cause(
    Kind.OTHER,
    "Two tensors lie on different devices. Move model and inputs to the same device with .to(device).",
)
COMPILE = Cause(
    Kind.OTHER,
    "torch.compile or a Metal shader failed to compile. The same model may work without torch.compile, in another"
    " precision, or with another version of torch.",
)
MPS_INTERNAL = Cause(
    Kind.OTHER,
    "An error inside torch's MPS code, often about views of a tensor: try .contiguous() and a newer torch.",
)
EXCEPTION = Cause(Kind.OTHER, "The program raised an error of its own; its last line says which.")
FAILED = Cause(Kind.OTHER, "The program failed, and nothing in its text says why. Its whole output may tell more.")
NONE = Cause(Kind.OK, "Nothing in this text is an error.")
