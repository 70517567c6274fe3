"""The rows that readers of the database get: one frozen type for each question."""

from msgspec import Struct


class Calibration(Struct, frozen=True, kw_only=True):
    """The rate of a product of matrices or a copy, beside the chip's published peak of the same precision.

    What speaks of the peak is None where none is known.
    """

    rate: float
    unit: str  # of rate and peak: "TFLOP/s", or "GB/s" for a copy
    peak: float | None = None
    share: float | None = None  # rate / peak
    beyond: bool | None = None  # above the peak by more than makers' rounding explains
    source: str | None = None  # where the peak comes from


class ResultRow(Struct, frozen=True, kw_only=True):
    """One row of the view ``results``: a measured case, flat."""

    run_id: int
    started_at: str
    effort: str
    chip: str | None
    gpu_cores: int | None
    cpu_cores: int | None
    memory_bytes: int | None
    virtual: bool | None
    os_name: str | None
    os_version: str | None
    torch_version: str | None
    workload: str
    version: int
    family: str | None  # what variants of a workload share; None where that is not known
    title: str
    task: str
    batch: int
    item: str
    device: str
    device_chip: str | None
    precision: str
    mode: str
    fallback: bool  # ran partly on the CPU: never ranked
    fallback_ops: tuple[str, ...]
    outcome: str
    reason: str | None
    median_s: float | None
    low_s: float | None
    high_s: float | None
    interval: str | None = None  # "rounds" or "within one process": what low_s and high_s speak for
    samples: int
    items_per_s: float | None
    tflops: float | None
    speedup: float | None  # over the CPU's fp32 eager time of the same workload version in the same run
    flags: tuple[str, ...]
    calibration: Calibration | None = None  # of what ties a chip to its published peaks, where it was measured


class RunRow(Struct, frozen=True, kw_only=True):
    """One run with its machine and counts."""

    run_id: int
    started_at: str
    effort: str
    finished: bool
    chip: str | None
    gpu_name: str | None
    gpu_cores: int | None
    cpu_cores: int | None
    memory_bytes: int | None
    virtual: bool | None
    os_name: str | None
    os_version: str | None
    python_version: str | None
    torch_version: str | None
    cases: int
    ok_cases: int


class PublishedRow(Struct, frozen=True, kw_only=True):
    """One figure somebody else published, with its citation."""

    id: int
    source_id: str
    workload: str
    model: str
    task: str
    precision: str | None
    batch_size: int | None
    input_shape: str | None
    device: str | None
    chip: str
    cpu_cores: int | None
    gpu_cores: int | None
    memory_gb: float | None
    os: str | None
    framework: str | None
    framework_version: str | None
    metric: str
    value: float | None
    seconds: float | None  # of one iteration, where the metric tells it
    outcome: str  # our outcomes, or picture_only
    note: str | None


class SourceRow(Struct, frozen=True, kw_only=True):
    """Where published figures come from."""

    id: str
    author: str
    title: str
    date: str
    address: str  # where it was published: an address, or repository, path and commit
    licence: str
    notes: str
    figures: int


class ChipRow(Struct, frozen=True, kw_only=True):
    """Published facts of one bin of a chip."""

    chip: str
    variant: str
    cpu_super: int | None
    cpu_performance: int | None
    cpu_efficiency: int | None
    gpu_cores: int | None
    bandwidth_gb_s: float | None
    fp32_tflops: float | None
    fp16_tflops: float | None
    tf32_tflops: float | None = None
    bf16_tflops: float | None = None
    memory_options_gb: str | None
    source: str
    low_precision_source: str | None = None  # of the peaks of tf32, fp16 and bf16
    note: str | None


class WorkloadRow(Struct, frozen=True, kw_only=True):
    """A workload that at least one run has measured, or that the suite has."""

    id: str
    version: int
    family: str | None
    variant: str | None  # what tells it from the rest of its family
    title: str
    source: str
    task: str
    batch: int
    input_shape: str
    item: str
    items_per_iteration: float
    flops_per_iteration: float | None
    bytes_per_iteration: float | None
    parameters: int | None
    model: str | None
    loss: str | None
    optimizer: str | None
    description: str


class SpeedPair(Struct, frozen=True, kw_only=True):
    """One published operation timed on the CPU and on the GPU (mps) of the same Mac by the same source."""

    source_id: str
    workload: str
    input_shape: str | None
    batch_size: int | None
    precision: str | None
    chip: str
    cpu_cores: int | None
    gpu_cores: int | None
    memory_gb: float | None
    framework_version: str | None
    cpu_s: float
    mps_s: float
    speedup: float  # cpu_s / mps_s: above 1 the GPU is faster
