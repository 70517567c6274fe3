"""The words of the database as a reader sees them."""

import re

from metalmark_db.plausible import BEYOND_PEAK
from metalmark_db.rows import PublishedRow, ResultRow

DEVICES = {
    "cpu": "CPU",
    "mps": "GPU (MPS)",
    "cuda": "GPU (CUDA)",
    "xpu": "GPU (XPU)",
    "mlx_gpu": "GPU (MLX)",
}
NO_DEVICE = "device not stated"

OUTCOMES = {
    "ok": "ok",
    "wrong_result": "wrong result",
    "unsupported_op": "operation not supported",
    "out_of_memory": "out of memory",
    "crash": "crash",
    "timeout": "hung (deadline)",
    "no_backend": "device cannot be used",
    "error": "error",
    "not_run": "not run",
    "picture_only": "only in a picture",
}
REASONS = {
    "memory_estimate": "would not fit in memory",
    "time_estimate": "would take too long",
    "budget": "time budget spent",
    "no_compiler": "no compiler",
    "interrupted": "interrupted",
    "unsynchronized": "the clock stopped before the device had finished",
}
GRADES = {"same": "the same work", "near": "near, with a difference", "other": "no counterpart"}
TASKS = {"inference": "inference", "train": "training", "operation": "operation"}

TIERS = ("", "Pro", "Max", "Ultra")
_BEHIND = 1_000

# Published metric -> (its unit beside a number, whether a smaller number is the better one).
METRICS = {
    "seconds_per_iter": ("s", True),
    "ms_per_iter": ("ms", True),
    "us_per_iter": ("µs", True),
    "seconds_per_20_iters": ("s for 20 iterations", True),
    "seconds_per_100_iters": ("s for 100 iterations", True),
    "seconds_per_1000_iters": ("s for 1,000 iterations", True),
    "ms_per_1000_iters": ("ms for 1,000 iterations", True),
    "ms_per_10000_iters": ("ms for 10,000 iterations", True),
    "iters_per_s": ("iterations/s", False),
    "images_per_s": ("images/s", False),
    "samples_per_s": ("samples/s", False),
    "tokens_per_s": ("tokens/s", False),
    "blocks_per_s": ("blocks/s", False),
    "seconds_per_epoch": ("s an epoch", True),
    "minutes_per_epoch": ("min an epoch", True),
    "minutes_epoch_plus_train_val_eval": ("min an epoch with evaluation", True),
    "minutes_total": ("min in total", True),
    "seconds_total": ("s in total", True),
    "tflops": ("TFLOP/s", False),
    "gb_per_s": ("GB/s", False),
    "speedup_vs_cpu": ("× the CPU", False),
    "speedup_vs_m1_pro_gpu": ("× an M1 Pro GPU", False),
    "speedup_vs_m2_gpu": ("× an M2 GPU", False),
}


def device(name: str | None) -> str:
    """A device for people."""
    return DEVICES.get(name, name) if name else NO_DEVICE


def outcome(name: str, reason: str | None = None) -> str:
    """An outcome for people, with its reason where there is one."""
    words = OUTCOMES.get(name, name)
    return f"{words}: {REASONS.get(reason, reason)}" if reason else words


def chip_of(row: ResultRow) -> str:
    """What a measured row is charted under."""
    return row.chip or "unknown chip"


def age(chip: str) -> tuple[int, int, str]:
    """A key that puts Apple's chips in their order (M1, M1 Pro, M1 Max, M1 Ultra, M2 ...), and others behind them."""
    found = re.match(r"(?:Apple )?M(\d+)(?: (Pro|Max|Ultra))?", chip)
    return (int(found[1]), TIERS.index(found[2] or ""), chip) if found else (_BEHIND, 0, chip)


def cores(row: ResultRow | PublishedRow) -> str:
    """The cores that did the work, as far as they are known: "10 GPU cores", or nothing; a guest's GPU is marked so."""
    if row.device == "cpu":
        return f"{row.cpu_cores} CPU cores" if row.cpu_cores else ""
    if isinstance(row, ResultRow) and row.virtual:
        return "in a virtual machine"
    # The core count of the machine's GPU is Apple's; a discrete GPU is told by its name alone.
    return f"{row.gpu_cores} GPU cores" if row.gpu_cores and row.device in ("mps", "mlx_gpu") else ""


def is_guest_cpu(row: ResultRow) -> bool:
    """Whether the row is the CPU of a virtual machine, which is listed apart and never ranked."""
    return bool(row.virtual) and row.device == "cpu"


def is_beyond_peak(row: ResultRow) -> bool:
    """Whether a result is faster than its chip's published peak allows: as its run saw it, or as the peaks say now."""
    return BEYOND_PEAK in row.flags or (row.calibration is not None and bool(row.calibration.beyond))


def guest_name(row: ResultRow) -> str:
    """A guest's CPU as the design words it: "4 virtual cores of NAME"."""
    number = f"{row.cpu_cores} virtual cores" if row.cpu_cores else "virtual cores"
    return f"{number} of {chip_of(row)}"


def work(row: ResultRow) -> str:
    """The workload of a row for people: "ResNet-50 training, batch 8"."""
    batch = f", batch {row.batch}" if row.batch > 1 and "batch" not in row.title else ""
    return f"{row.title}{batch}{'' if row.version == 1 else f' (version {row.version})'}"


def way(row: ResultRow) -> str:
    """Precision and mode of a row, shortly: "fp32", or "fp16, compiled"."""
    return row.precision if row.mode == "eager" else f"{row.precision}, compiled"
