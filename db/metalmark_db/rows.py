"""The rows that readers of the database get: one frozen type for each question."""

from typing import Annotated

from msgspec import Struct

from .record import meaning


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

    run_id: Annotated[int, meaning("Number of the run in this database")]
    started_at: Annotated[str, meaning("Start of the run in UTC, ISO 8601")]
    effort: Annotated[str, meaning("quick, standard or full")]
    reporter: Annotated[str | None, meaning("Tells one computer from another of the same configuration")] = None
    configuration: Annotated[str, meaning("Id of the machine, or a digest of its fields where it has none")]
    chip: Annotated[str | None, meaning("What the row is charted under: the SoC, the GPU, or on cpu the CPU")]
    chip_family: Annotated[str, meaning("Family of the chip: Apple M1, NVIDIA, Intel ...")] = "Other"
    bin: Annotated[str | None, meaning("Which of the chip's bins this is, told by its cores")] = None
    machine_chip: Annotated[str | None, meaning("Name of the machine's SoC or CPU")]
    cpu_cores: Annotated[int | None, meaning("All physical CPU cores")]
    gpu_cores: Annotated[int | None, meaning("GPU cores (Apple) or multiprocessors (NVIDIA)")]
    memory_bytes: Annotated[int | None, meaning("Installed memory", unit="bytes")]
    virtual: Annotated[bool | None, meaning("Whether this is a virtual machine")]
    os_name: Annotated[str | None, meaning("macOS or Linux")]
    os_version: Annotated[str | None, meaning("Version of macOS or of the Linux distribution")]
    os: Annotated[str | None, meaning("System with the release of macOS: macOS 26, or Linux")] = None
    torch_version: Annotated[str | None, meaning("Version of torch")]
    torch: Annotated[str | None, meaning("Release of torch without its last part, such as 2.14")] = None
    power: Annotated[str | None, meaning("ac, battery, or low power (mode)")] = None
    workload: Annotated[str, meaning("Name of the workload")]
    version: Annotated[int, meaning("Version of the workload")]
    family: Annotated[str | None, meaning("What variants of a workload share; null where that is not known")]
    variant: Annotated[str | None, meaning("What tells it from the rest of its family")] = None
    title: Annotated[str, meaning("Name of the workload for people")]
    task: Annotated[str, meaning("inference, train or operation")]
    batch: Annotated[int, meaning("Samples in one iteration")]
    item: Annotated[str, meaning("What one item of the throughput is: image, sequence, call")]
    device: Annotated[str, meaning("cpu, mps, cuda or xpu")]
    device_chip: Annotated[str | None, meaning("The chip as the system spells it")]
    precision: Annotated[str, meaning("Number format")]
    mode: Annotated[str, meaning("eager or compile")]
    fallback: Annotated[bool, meaning("Whether operations that the backend lacks ran on the CPU: never ranked")]
    fallback_ops: Annotated[tuple[str, ...], meaning("Operations that ran on the CPU instead")]
    outcome: Annotated[str, meaning("How the case ended")]
    reason: Annotated[str | None, meaning("Why it was not run, or which error it was")]
    ranked: Annotated[
        bool,
        meaning(
            "Whether the row may stand in a ranking: right, all of it on the device, not beyond the chip's peak, no "
            "CPU of a virtual machine, no variable set that changes results, no debug build, Rosetta or low power"
        ),
    ] = True
    median_s: Annotated[float | None, meaning("Centre of the samples, of one iteration", unit="s")]
    low_s: Annotated[float | None, meaning("Lower end of the 95 % interval", unit="s")]
    high_s: Annotated[float | None, meaning("Upper end of the 95 % interval", unit="s")]
    interval: Annotated[str | None, meaning("What the interval speaks for: rounds, or within one process")] = None
    samples: Annotated[int, meaning("Timed blocks of all rounds")]
    items_per_s: Annotated[float | None, meaning("Items in a second")]
    tflops: Annotated[float | None, meaning("Arithmetic done", unit="TFLOP/s")]
    peak_share: Annotated[
        float | None,
        meaning("The same over the chip's published peak of the precision; of a copy, the bandwidth over the memory's"),
    ] = None
    cpu_s: Annotated[
        float | None, meaning("The CPU's fp32 eager time of the same workload version in the same run", unit="s")
    ] = None
    speedup: Annotated[float | None, meaning("cpu_s over median_s: above 1 the row is faster than the CPU")]
    energy_j: Annotated[float | None, meaning("Energy of one iteration in a minute of work", unit="J")] = None
    energy_source: Annotated[str | None, meaning("Which counter the energy comes from")] = None
    flags: Annotated[tuple[str, ...], meaning("Remarks of the engine, such as few_samples")]
    signature_digest: Annotated[str | None, meaning("Work signature: points are joined only where it is equal")] = None
    calibration: Calibration | None = None  # of what ties a chip to its published peaks; told outside of SQL


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
    under_s: float | None = None  # what a time lies under that was printed as zero
    outcome: str  # our outcomes, or picture_only
    note: str | None
    ours: str | None = None  # our workload that it can be held beside
    ours_version: int | None = None
    ours_mode: str | None = None
    grade: str | None = None  # how alike they are: same, near or other


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
