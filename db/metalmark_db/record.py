"""What a run is: the frozen types that every part of Metalmark hands on.

A field is defined here once: name, type, unit, meaning and check. Table columns
(``metalmark_db.models``), the JSON Schema and page labels derive from these definitions.
Unknown is None: never 0, never "N/A", never a guess. What is unknown is left out where a record is written as JSON,
so that the digest of a run stays what it was when a later Metalmark knows more fields.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from .words import Effort, Mode, Outcome, Precision, Reason, Task


def meaning(description: str, *, unit: str | None = None, **checks: Any) -> Meta:
    """The definition of a field: its meaning, its unit, and msgspec's checks (``ge``, ``pattern`` ...)."""
    return Meta(description=description, extra={"unit": unit}, **checks)


Text = Annotated[str, Meta(max_length=200)]
Key = tuple[str, int, str, str, str, bool]  # workload, version, device, precision, mode, fallback
Detail = Annotated[str, Meta(max_length=2000)]
Count = Annotated[int, Meta(ge=1)]
Bytes = Annotated[int, Meta(ge=0)]
Load = Annotated[float, Meta(ge=0)]
Number = Annotated[int, Meta(ge=0)]  # of things of which there may be none, and that is known
Work = Annotated[float, Meta(ge=0, le=1e21)]  # what an iteration does: more is a mistake, and ends in infinity
Measure = Annotated[float, Meta(ge=0, le=1e12)]
Percent = Annotated[int, Meta(ge=0, le=100)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9-]{2,60}$(?!\n)")]  # of a workload or a family
Digits = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$(?!\n)")]


class Machine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The hardware: a configuration that many computers share, never one computer."""

    vendor: Annotated[Text | None, meaning("Maker of the processor, in small letters: apple, intel, amd")] = None
    chip: Annotated[Text | None, meaning("Marketing name of the SoC or CPU, without ' (Virtual)'")] = None
    soc: Annotated[Text | None, meaning("The SoC's own number, such as T6041")] = None
    model_identifier: Annotated[Text | None, meaning("Model of the computer, such as Mac16,1")] = None
    cpu_cores: Annotated[Count | None, meaning("All physical CPU cores")] = None
    tier_counts: Annotated[
        tuple[Count, ...] | None, meaning("CPU cores of each performance level, fastest level first")
    ] = None
    cpu_tiers: Annotated[
        tuple[tuple[Text, Count], ...] | None, meaning("Name and cores of each performance level, fastest first")
    ] = None
    gpu_name: Annotated[Text | None, meaning("Name of the GPU that torch can use")] = None
    gpu_cores: Annotated[Count | None, meaning("GPU cores (Apple) or multiprocessors (NVIDIA)")] = None
    gpu_count: Annotated[Number | None, meaning("GPUs that the system lists")] = None
    gpu_memory_bytes: Annotated[Bytes | None, meaning("Memory of one discrete GPU", unit="bytes")] = None
    memory_bytes: Annotated[Bytes | None, meaning("Installed memory", unit="bytes")] = None
    memory_total_bytes: Annotated[
        Bytes | None, meaning("Memory that the kernel reports, a little under what is installed", unit="bytes")
    ] = None
    arch: Annotated[Text | None, meaning("Architecture of the hardware: arm64 or x86_64")] = None
    virtual: Annotated[bool | None, meaning("Whether this is a virtual machine")] = None


class Software(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The software that a run used."""

    os_name: Annotated[Text | None, meaning("macOS or Linux")] = None
    os_version: Annotated[Text | None, meaning("Version of macOS or of the Linux distribution")] = None
    os_build: Annotated[Text | None, meaning("Build of macOS, such as 25A354")] = None
    kernel: Annotated[Text | None, meaning("Kernel release")] = None
    process_arch: Annotated[Text | None, meaning("Architecture of the Python process")] = None
    rosetta: Annotated[bool | None, meaning("Whether the process runs under Rosetta")] = None
    python_version: Annotated[Text | None, meaning("Version of Python")] = None
    torch_version: Annotated[Text | None, meaning("Version of torch")] = None
    torch_git: Annotated[Text | None, meaning("Commit torch was built from")] = None
    torch_debug: Annotated[bool | None, meaning("Whether torch is a debug build, whose times mean nothing")] = None
    torch_build: Annotated[
        dict[Text, Text] | None, meaning("Build settings of torch by name, such as BLAS_INFO, by allow-list")
    ] = None
    threads: Annotated[Count | None, meaning("Threads that torch computes with on the CPU")] = None
    gpu_driver: Annotated[Text | None, meaning("Version of the NVIDIA driver")] = None
    torchvision_version: Annotated[Text | None, meaning("Version of torchvision")] = None
    timm_version: Annotated[Text | None, meaning("Version of timm")] = None
    transformers_version: Annotated[Text | None, meaning("Version of transformers")] = None
    metalmark_version: Annotated[Text | None, meaning("Version of Metalmark")] = None
    environment: Annotated[dict[Text, Text], meaning("Environment variables that change results, by allow-list")] = (
        msgspec.field(default_factory=dict)
    )


class Moment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The part of the conditions that is read in no time: their state when a case has just ended."""

    power_source: Annotated[Text | None, meaning("ac or battery")] = None
    low_power_mode: Annotated[bool | None, meaning("Whether low power mode is on")] = None
    thermal_state: Annotated[Text | None, meaning("Thermal state as the system names it")] = None
    cpu_speed_limit: Annotated[int | None, meaning("CPU speed limit of pmset (Intel Macs)", unit="percent")] = None
    swap_used_bytes: Annotated[Bytes | None, meaning("Swap in use", unit="bytes")] = None
    memory_available_bytes: Annotated[Bytes | None, meaning("Memory available without swapping", unit="bytes")] = None
    load_1m: Annotated[Load | None, meaning("Load average of the last minute")] = None


class Conditions(Moment, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The state of the machine before or after a run."""

    power_mode: Annotated[Text | None, meaning("automatic, low or high")] = None
    niceness: Annotated[int | None, meaning("Nice value of the process")] = None
    qos: Annotated[Text | None, meaning("Priority class of macOS that the run was started in")] = None
    displays: Annotated[Number | None, meaning("Displays that are connected")] = None
    gpu_users: Annotated[Number | None, meaning("Other programs that compute on the GPUs (NVIDIA)")] = None
    gpu_memory_used_bytes: Annotated[
        Bytes | None, meaning("Memory that all programs have on the GPUs", unit="bytes")
    ] = None
    gpu_utilization_percent: Annotated[
        Percent | None, meaning("Share of time that the first GPU is busy", unit="percent")
    ] = None


class Workload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The facts of a workload that do not depend on where it runs."""

    id: Annotated[str, meaning("Name, such as resnet50-train", pattern=r"^[a-z0-9-]{2,60}$(?!\n)")]
    version: Annotated[int, meaning("Changes when results stop being comparable", ge=1)]
    family: Annotated[Name | None, meaning("What variants share, such as resnet50-train: one page")] = None
    variant: Annotated[Text | None, meaning("What tells it from the rest of its family: batch 8")] = None
    title: Annotated[Text, meaning("Name for people")]
    source: Annotated[Text, meaning("Whose published workload this follows, or 'metalmark'")]
    task: Annotated[Task, meaning("inference, train or operation")]
    batch: Annotated[Count, meaning("Samples in one iteration")]
    input_shape: Annotated[Text, meaning("Shape of one sample")]
    item: Annotated[Text, meaning("What one item of the throughput is: image, sequence, call")]
    items_per_iteration: Annotated[float, meaning("Items in one iteration", gt=0, le=1e12)]
    flops_per_iteration: Annotated[
        Work | None,
        meaning("Floating-point operations of one iteration, a multiply-add counting 2", unit="FLOP"),
    ] = None
    bytes_per_iteration: Annotated[
        Work | None, meaning("Least bytes moved through memory in one iteration", unit="bytes")
    ] = None
    parameters: Annotated[Number | None, meaning("Trainable parameters of the model")] = None
    model: Annotated[Text | None, meaning("Library and model, such as torchvision resnet50")] = None
    loss: Annotated[Text | None, meaning("Loss of a training")] = None
    optimizer: Annotated[Text | None, meaning("Optimizer of a training, with its settings")] = None
    description: Annotated[str, meaning("What it is and where it comes from, as Markdown")] = ""


class Round(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """The raw samples of one case in one worker process."""

    number: Annotated[int, meaning("Number of the round, from 0", ge=0)]
    iterations: Annotated[Count, meaning("Iterations in every timed block of this round")]
    block_ns: Annotated[tuple[Count, ...], meaning("Duration of each timed block, in order", unit="ns")]
    first_call_ns: Annotated[int | None, meaning("Duration of the very first iteration, kept apart", unit="ns")] = None
    warmup_iterations: Annotated[int | None, meaning("Iterations before the first timed block")] = None
    enqueue_ns: Annotated[int | None, meaning("Time to enqueue one block without waiting (information)", unit="ns")] = (
        None
    )
    residual_ns: Annotated[
        int | None, meaning("Median wait for one element of the output after a synchronized block", unit="ns")
    ] = None
    per_call_ns: Annotated[
        tuple[Count, ...] | None,
        meaning("Durations of single iterations, each waited for; where one takes under 5 ms", unit="ns"),
    ] = None
    peak_memory_bytes: Annotated[Bytes | None, meaning("Most device memory in use", unit="bytes")] = None
    peak_memory_source: Annotated[
        Text | None, meaning("counter, or sampled: the most seen in one untimed iteration")
    ] = None
    process_peak_bytes: Annotated[Bytes | None, meaning("Most memory of the process so far", unit="bytes")] = None
    probe_enqueue_ns: Annotated[int | None, meaning("Time to enqueue a large matmul, in this worker", unit="ns")] = None
    probe_synchronized_ns: Annotated[
        int | None, meaning("Time to enqueue the same matmul and wait for it", unit="ns")
    ] = None


class Truth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What the comparison with the CPU's float32 result showed."""

    reference: Annotated[Text, meaning("What it was compared with: cpu fp32, or cpu fp64 for the CPU's own fp32")]
    samples: Annotated[Count, meaning("Samples of the batch that were compared")]
    error_norm: Annotated[float, meaning("Norm of the difference over the norm of the reference")]
    error_max: Annotated[float, meaning("Largest single difference, absolute")]
    error_max_rms: Annotated[float, meaning("Largest single difference over the root mean square of the reference")]
    tolerance: Annotated[float, meaning("Largest error_norm allowed; error_max_rms may be 30 times that")]
    input_dependence: Annotated[
        float | None, meaning("Norm of the difference of two inputs' outputs over the norm of one")
    ] = None
    loss_error: Annotated[float | None, meaning("Relative difference of the first training loss")] = None
    gradient_error: Annotated[float | None, meaning("Relative difference of the first gradient norm")] = None
    losses: Annotated[tuple[float, ...] | None, meaning("Losses of five training steps on one batch")] = None


class Sustained(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A minute of work back to back, after the case was measured."""

    iterations: Annotated[Count, meaning("Iterations in every timed block")]
    block_ns: Annotated[tuple[Count, ...], meaning("Duration of each timed block, in order", unit="ns")]
    energy_j: Annotated[Measure | None, meaning("Energy that the device took meanwhile", unit="J")] = None
    energy_source: Annotated[Text | None, meaning("Which counter the energy comes from")] = None
    energy_s: Annotated[
        Measure | None,
        meaning("Time in which it was taken, the pauses between the blocks included", unit="s"),
    ] = None


class Signature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What the libraries made of a workload: code of models changes between their releases.

    Counted over one forward pass of one sample on torch's meta device, where nothing is computed.
    """

    parameters: Annotated[Number, meaning("Trainable parameters of the model; 0 for an operation")]
    forward_flops: Annotated[Number, meaning("What torch's counter makes of it", unit="FLOP")]
    calls: Annotated[Number, meaning("Calls of ATen operations")]
    digest: Annotated[Digits, meaning("Digest of how often each ATen operation is called")]


class Case(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One workload on one device, in one precision and one mode: what is measured and can fail."""

    workload: Annotated[str, meaning("Name of the workload", pattern=r"^[a-z0-9-]{2,60}$(?!\n)")]
    version: Annotated[int, meaning("Version of the workload", ge=1)]
    device: Annotated[str, meaning("cpu, mps, cuda or xpu", pattern=r"^[a-z]{2,10}$(?!\n)")]
    precision: Annotated[Precision, meaning("Number format")]
    mode: Annotated[Mode, meaning("eager or compile")]
    fallback: Annotated[
        bool, meaning("Whether operations that the backend lacks were let run on the CPU; such a row is never ranked")
    ] = False
    outcome: Annotated[Outcome, meaning("How the case ended")]
    reason: Annotated[Reason | None, meaning("Why it was not run, or which error it was")] = None
    detail: Annotated[Detail | None, meaning("What the system said, scrubbed")] = None
    device_chip: Annotated[Text | None, meaning("What the row is charted under")] = None
    fallback_ops: Annotated[tuple[Text, ...], meaning("Operations that ran on the CPU instead")] = ()
    flags: Annotated[tuple[Text, ...], meaning("Remarks of the engine, such as few_samples")] = ()
    needed_bytes: Annotated[Bytes | None, meaning("Estimate of the memory that the case needs", unit="bytes")] = None
    limit_bytes: Annotated[Bytes | None, meaning("Memory that the device recommends to stay under", unit="bytes")] = (
        None
    )
    settings: Annotated[
        dict[Text, bool | Text], meaning("Switches of torch that change speed or precision, as they were set")
    ] = msgspec.field(default_factory=dict)
    signature: Annotated[Signature | None, meaning("Work signature: points are joined only where it is equal")] = None
    truth: Annotated[Truth | None, meaning("Whether the output was right")] = None
    conditions: Annotated[Moment | None, meaning("State of the machine when the case had just ended")] = None
    sustained: Annotated[Sustained | None, meaning("A minute of work back to back")] = None
    rounds: Annotated[tuple[Round, ...], meaning("Raw samples, one entry a round")] = ()

    @property
    def key(self) -> Key:
        """What tells the cases of one run apart."""
        return (self.workload, self.version, self.device, self.precision.value, self.mode.value, self.fallback)


class RunHead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What is known of a run before its first case."""

    started_at: Annotated[str, meaning("Start in UTC, ISO 8601 to the second")]
    effort: Annotated[Effort, meaning("quick, standard or full")]
    seed: Annotated[int, meaning("Seed of inputs, weights and order", ge=0)]
    machine: Machine
    software: Software
    conditions_before: Conditions
    reporter: Annotated[
        Digits | None, meaning("Tells one computer from another of the same configuration, not which")
    ] = None


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Machine, software, conditions and cases of one sitting."""

    head: RunHead
    conditions_after: Conditions | None = None
    finished: Annotated[bool, meaning("Whether every planned case has an outcome of its own")] = False
    cases: tuple[Case, ...] = ()
