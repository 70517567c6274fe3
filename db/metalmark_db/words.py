"""The closed vocabularies of a run: outcomes, reasons, precisions, modes, efforts, devices."""

from enum import StrEnum


class Outcome(StrEnum):
    """How a case ended; every case has exactly one."""

    OK = "ok"
    WRONG_RESULT = "wrong_result"
    UNSUPPORTED_OP = "unsupported_op"
    OUT_OF_MEMORY = "out_of_memory"
    CRASH = "crash"
    TIMEOUT = "timeout"
    NO_BACKEND = "no_backend"
    ERROR = "error"
    NOT_RUN = "not_run"


class Reason(StrEnum):
    """Why a case was never tried (``not_run``), or which kind of ``error`` it was."""

    MEMORY_ESTIMATE = "memory_estimate"
    TIME_ESTIMATE = "time_estimate"
    BUDGET = "budget"
    NO_COMPILER = "no_compiler"
    INTERRUPTED = "interrupted"
    UNSYNCHRONIZED = "unsynchronized"


class Precision(StrEnum):
    """The number format a case computes in; ``amp_`` means autocast over fp32 weights."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    AMP_FP16 = "amp_fp16"
    AMP_BF16 = "amp_bf16"


class Mode(StrEnum):
    """How a case executes its operations."""

    EAGER = "eager"
    COMPILE = "compile"


class Effort(StrEnum):
    """How much a run measures."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


class Task(StrEnum):
    """What one iteration of a workload does."""

    INFERENCE = "inference"
    TRAIN = "train"
    OPERATION = "operation"


# How alike a published workload is to one of ours: comparable, with a named difference, or without counterpart.
GRADES = ("same", "near", "other")

# Words of other vocabularies: the published figures say some outcomes differently.
PUBLISHED_OUTCOMES = {
    "ok": "ok",
    "wrong_result": "wrong_result",
    "unsupported": "unsupported_op",
    "oom": "out_of_memory",
    "crash": "crash",
    "failed": "error",
    "picture_only": "picture_only",
}
