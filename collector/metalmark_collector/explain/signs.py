"""The messages that end a program, in the wordings of all versions: one line each.

A space in a pattern stands for any white space, since terminals wrap long messages. Where two
patterns match at the same place, the first one of the table counts. The groups ``op`` and
``dtype`` name what the message is about.
"""

import re

from msgspec import Struct

from . import kinds
from .kinds import Cause

OP = r"(?P<op>\w{1,60}::\w{1,100}(?:\.\w{1,60})?)"


class Sign(Struct, frozen=True):
    """A message and its cause; a weak one only follows from another message, if there is any."""

    cause: Cause
    pattern: re.Pattern[str]
    weak: bool = False


def _signs(cause: Cause, *patterns: str, weak: bool = False) -> tuple[Sign, ...]:
    spaced = (pattern.replace(" ", r"\s+") for pattern in patterns)
    return tuple(Sign(cause, re.compile(pattern, re.MULTILINE), weak) for pattern in spaced)


_MEMORY = (
    *_signs(
        kinds.MPS_UNUSABLE,
        r"MPS backend out of memory \(MPS allocated: 0 bytes, other allocations: 0 bytes[^)]{0,100}\)\. Tried"
        r" to allocate"
        r" \d+ bytes",
    ),
    *_signs(
        kinds.MPS_MEMORY,
        r"MPS backend out of memory",
        r"kIOGPUCommandBufferCallbackErrorOutOfMemory|Insufficient Memory \(0{7}8",
        r"Failed to allocate \w+ MTLBuffer",
    ),
    *_signs(
        kinds.BUFFER_TOO_LARGE,
        r"Invalid buffer size: \d",
        r"greater than the maximum allowed buffer size",
    ),
    *_signs(
        kinds.CUDA_MEMORY,
        r"(?:CUDA|HIP|XPU) out of memory",
        r"CUDA error: out of memory",
        r"(?:CUBLAS|CUDNN|CUSOLVER)_STATUS_ALLOC_FAILED",
        r"\bOutOfMemoryError\b",
    ),
    *_signs(
        kinds.CPU_MEMORY,
        r"DefaultCPUAllocator: (?:can't|not enough)",
        r"not enough memory: you tried to allocate",
        r"^MemoryError",
        r"\bstd::bad_alloc\b",
        r"Unable to allocate \d[\d.]* [KMGT]iB for an array",
        r"Cannot allocate memory",
        r"\b[Oo]ut of memory\b",
    ),
    *_signs(
        kinds.KILLED,
        r"^(?:.*\s)?Killed(?:: 9)?\s*$",
        r"killed by signal: Killed",
        r"^(?:zsh: |\[\d+\] (?:[+-] )?\d+ )?killed\s+\S",
        r"^\S{1,200}: line \d+: \d+ Killed\b",
        r"^\[\d+\][+-]? Killed\b",
        r"\boom[-_]kill|\bOOMKilled\b",
        r"\bOut of memory: Killed process",
        r"\bSIGKILL\b",
        r"exit(?:ed)?(?: with)? (?:code|status):? (?:-9|137)\b",
        r"exitcode\s*: -9\b",
    ),
)
_DEVICE = (
    *_signs(
        kinds.NO_MPS,
        r"The MPS backend is supported on [Mm]ac\s*OS",
        r"not linked with support for mps devices",
        r"(?:mps\.is_available\(\)|MPS (?:is )?available)\s*(?:=>|->|:|=|\?)?\s*False",
        r"\b(?:MPS|mps)\b(?: (?:backend|device))? (?:is |was |are )?not (?:available|built|found|enabled)",
        r"Expected one of [\w, ]{1,400} device type at start of device string: mps",
        r"Invalid device (?:string|type): ['\"]?mps",
        r"Torch not compiled with MPS enabled",
        r"has no attribute 'mps'",
    ),
    *_signs(
        kinds.NO_CUDA,
        r"Torch not compiled with CUDA enabled",
        r"Found no NVIDIA driver",
        r"No CUDA GPUs are available",
        r"torch\.cuda\.is_available\(\) is False",
        r"no CUDA-capable device is detected",
        r"CUDA driver version is insufficient",
        r"CUDA unknown error",
        r"Unexpected error from cudaGetDeviceCount",
        r"CUDA error: (?:invalid device ordinal|all CUDA-capable devices are busy|system not yet initialized)",
        r"invalid value for --gpu-architecture",
        r"The NVIDIA driver on your system is too old",
        r"no kernel image is available for execution on the device",
        r"\bCUDA\b(?: (?:backend|device|GPU))? (?:is |was )?not (?:available|built|found|enabled)",
        r"(?:libcudart|libcublas|libcudnn)[\w.]*: cannot open shared object file",
    ),
    *_signs(
        kinds.NO_DEVICE,
        r"Torch not compiled with \w+ enabled",
        r"Cannot access accelerator device when none is available",
    ),
    *_signs(
        kinds.DEVICE_MISMATCH,
        r"Placeholder storage has not been allocated on MPS device",
        r"Expected all tensors to be on the same device",
        r"Input type \([\w.]+\) and (?:weight|bias) type \([\w.]+\) should be the same",
        r"Tensor for argument [^\n]{0,80} is on \w+, but expected",
        r"must be on the same device",
        r"Passed CPU tensor to MPS op",
        r"is on \w+(?::\d+)?, (?:but )?expected (?:it|them) to be on (?:GPU|cpu|mps|cuda)",
    ),
)
_UNSUPPORTED = (
    *_signs(
        kinds.DTYPE_MISSING,
        r"Cannot convert a MPS Tensor to (?P<dtype>\w+) dtype",
        r"Cannot convert a (?P<dtype>\w+) Tensor to MPS",
        r"Trying to convert (?P<dtype>\w+) to the MPS backend",
        r"\"(?P<op>\w+)\" not implemented for '(?P<dtype>\w+)'",
        r"(?:MPS )?\b(?P<dtype>[Bb][Ff]loat16|[Ff]loat64|[Cc]omplex\w*|[Dd]ouble)\b[^.\n]{0,40} (?:is|are)"
        r" (?:only |not )(?:currently )?supported (?:on|by|for) (?:the )?(?:MPS|Mac|GPU)",
        r"(?:Unsupported|Undefined) type (?:byte size: )?(?P<dtype>Complex\w+|Double|BFloat16)",
        r"MPS(?: \w+)? (?:does not|doesn't) support (?P<op>\w+) op with (?P<dtype>\w+) input",
    ),
    *_signs(
        kinds.OP_MISSING,
        rf"The operator '{OP}' is not (?:current(?:ly)? |yet )?(?:implemented|supported) (?:for|on) the MPS"
        r" (?:device|backend)"
        r"(?! and will)",
        rf"The operator '{OP}' [^.\n]{{0,60}}supported natively starting from macOS(?! [\d.]+ Falling back)",
        rf"Could not run '{OP}' with arguments from the '\w+' backend",
        r"\b(?P<op>\w{1,60})\b[^.:\n]{0,60}supported natively starting from macOS(?! [\d.]+ Falling back)",
        r"\b(?P<op>ConvTranspose\s*3D)\b[^.\n]{0,60} (?:is|are) not (?:currently )?supported (?:on|at|for)"
        r" (?:the )?MPS",
        r"\b(?P<op>Conv\w{0,20}|[A-Z]\w{0,20}[Pp]ool\w{0,20}) [^.\n]{0,60}(?:is|are) not (?:currently )?supported"
        r" (?:on|at|for) (?:the )?MPS",
        r"MPS: (?P<op>\w{1,60}) (?:op )?is only supported on [Mm]ac\s*OS",
        r"Currently,? (?P<op>\w{1,60}) on (?:mps|MPS) (?:works|supports|is supported) only",
        r"\b(?P<op>\w{1,60})(?:\(\))?: (?:is )?not (?:yet )?(?:implemented|supported) (?:on|for) (?:the )?MPS",
        r"\b(?P<op>\w{1,60})(?:\(\))?: [Uu]nsupported [^.\n]{0,60} on (?:the )?MPS",
        r"Adaptive pool MPS: (?:in|out)put sizes must be divisible",
        r"(?:CUDNN|CUBLAS|CUSPARSE|CUSOLVER)_STATUS_(?:NOT_SUPPORTED|ARCH_MISMATCH)",
        r"not (?:yet |currently )?(?:implemented|supported) (?:on|at|by|for|with|in) (?:the )?MPS(?! backend and will)",
        r"MPS device does not support (?P<op>\w+) for non-float inputs",
        r"MPS\w{0,8}(?: backend| device| framework)? (?:does not|doesn't) (?:currently )?support",
        r"^(?:[\w.]+\.)?NotImplementedError",
        r"No available kernel\. Aborting execution",
        r"FlashAttention only supports",
    ),
)
_GPU_WORK = (
    *_signs(
        kinds.WATCHDOG,
        r"Caused GPU (?:Timeout|Hang) Error",
        r"kIOGPUCommandBufferCallbackError(?:Timeout|Hang|ImpactingInteractivity)",
        r"Impacting Interactivity",
        r"the launch timed out and was terminated",
        r"\bcollective operation timeout\b",
    ),
    *_signs(
        kinds.TIME_LIMIT,
        r"\bTimeoutExpired\b",
        r"^(?:\w+\.)*TimeoutError",
        r"\btimed out after \d",
        r"^Timeout \(\d+:\d\d:\d\d\)!",
    ),
    *_signs(
        kinds.WORK_LOST,
        r"command buffer exited with error status",
        r"Internal Error \([0-9a-fA-F]{8}:Internal Error\)",
        r"kIOGPUCommandBufferCallbackError(?:InnocentVictim|SubmissionsIgnored)",
    ),
    *_signs(
        kinds.DEVICE_FAULT,
        r"CUDA error: (?:device-side assert|an illegal memory access|unspecified launch failure|misaligned address"
        r"|an illegal instruction)",
        r"kIOGPUCommandBufferCallbackErrorPageFault",
        r"^\S{1,300}: \w{1,200}: block: [^\n]{1,80} Assertion [`'][^\n]{1,300} failed",
        r"(?:CUBLAS|CUDNN)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR)",
    ),
)
_CRASH = (
    *_signs(
        kinds.ASSERTION,
        r"failed assertion",
        r"^LLVM ERROR:",
        r"'mps\.(?P<op>\w+)' op requires",
        r"^Assertion failed:",
        r"Fatal Python error: Aborted",
    ),
    *_signs(
        kinds.SEGFAULT,
        r"[Ss]egmentation [Ff]ault",
        r"\b[Bb]us [Ee]rror\b",
        r"[Ii]llegal (?:hardware )?instruction(?! was encountered)",
        r"\bSIG(?:SEGV|BUS|ILL|FPE)\b",
        r"Trace/BPT trap",
        r"exit(?:ed)?(?: with)? (?:code|status):? (?:-11|-10|139|138)\b",
    ),
    *_signs(
        kinds.ABORT,
        r"^(?:.*\s)?Abort trap: 6",
        r"^(?:zsh: |\[\d+\] \d+ )(?:abort|trace trap)",
        r"libc\+\+abi: terminating",
        r"terminate called after throwing",
        r"\bAborted(?: \(core dumped\))?\s*$",
        r"\bSIGABRT\b",
        r"exit(?:ed)?(?: with)? (?:code|status):? (?:-6|134)\b",
        weak=True,
    ),
    *_signs(
        kinds.ABORT,
        r"malloc: \*\*\* error for object",
        r"^(?:malloc|free|munmap_chunk|realloc)\(\): ",
        r"\bdouble free or corruption\b|\bcorrupted size vs\. prev_size\b",
        r"stack smashing detected",
        r"OMP: Error #15",
    ),
)
_OTHER = (
    *_signs(
        kinds.COMPILE,
        r"SyntaxError: (?:program_source:|failed to compile)",
        r"^program_source:\d+:\d+: error:",
        r"(?:InductorError|BackendCompilerFailed|CppCompileError|LoweringException|TritonError)\b",
        r"torch\._dynamo\.exc\.\w+",
        r"Failed to create (?:[Mm]etal library|pipeline state object|function state object)",
        r"\bNVRTC error\b|\bnvrtc: error: failed to open",
        r"Cannot find a working triton installation",
    ),
    *_signs(
        kinds.MISMATCH,
        r"Tensor-likes are not (?:equal|close)",
        r"^Mismatched elements: \d",
        r"Scalars are not (?:equal|close)",
    ),
    *_signs(kinds.MPS_INTERNAL, r"Placeholder buffer size \(\d+\) is not large enough"),
    *_signs(
        kinds.EXCEPTION,
        r"^(?:[\w.]+\.)?(?:CalledProcessError|ChildFailedError|ProcessExitedException|BrokenProcessPool)\b",
        r"exited unexpectedly",
        weak=True,
    ),
    *_signs(
        kinds.EXCEPTION,
        r"^(?:\[rank\d+\]: |E )?(?:\w+\.)*\w*(?:Error|Exception|Interrupt)(?=:|\s*$)",
    ),
)

SIGNS: tuple[Sign, ...] = (*_MEMORY, *_DEVICE, *_UNSUPPORTED, *_GPU_WORK, *_CRASH, *_OTHER)
