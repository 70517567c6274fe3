"""What is said of many runs together: the rows of the tables ``summary`` and ``cells``."""

from typing import Annotated

from msgspec import Struct

from .record import Bytes, Count, Number, Text, meaning


class Measured(Struct, frozen=True, kw_only=True):
    """What any group of cases says: how many there are, and what they come to."""

    machines: Annotated[Number, meaning("Computers: reporters, and one for each configuration whose runs name none")]
    runs: Annotated[Number, meaning("Runs")]
    median_s: Annotated[
        float | None,
        meaning("Median over the computers of the median over each one's runs, of one iteration", unit="s"),
    ] = None
    low_s: Annotated[float | None, meaning("Lower end of what the column interval names", unit="s")] = None
    high_s: Annotated[float | None, meaning("Upper end of what the column interval names", unit="s")] = None
    interval: Annotated[
        Text | None,
        meaning(
            "machines: 95 % interval of the median, from six computers on; range: the fastest and the slowest run of "
            "fewer; rounds or within one process: the 95 % interval of the only run"
        ),
    ] = None
    speedup: Annotated[
        float | None, meaning("The same median of the speed-up over the CPU's fp32 eager time of the same run")
    ] = None
    newest: Annotated[Text, meaning("Start of the newest run in UTC, ISO 8601")]


class SummaryRow(Measured, frozen=True, kw_only=True):
    """Cases that may be ranked, of one bin of a chip, with one torch and one system."""

    chip: Annotated[Text, meaning("What the rows are charted under")]
    chip_family: Annotated[Text, meaning("Family of the chip: Apple M1, NVIDIA, Intel ...")]
    bin: Annotated[Text | None, meaning("Which of the chip's bins this is, told by its cores")]
    virtual: Annotated[bool | None, meaning("Whether the machines are virtual ones")]
    workload: Annotated[Text, meaning("Name of the workload")]
    version: Annotated[Count, meaning("Version of the workload")]
    device: Annotated[Text, meaning("cpu, mps, cuda or xpu")]
    precision: Annotated[Text, meaning("Number format")]
    mode: Annotated[Text, meaning("eager or compile")]
    torch: Annotated[Text | None, meaning("Release of torch without its last part, such as 2.14")]
    os: Annotated[Text | None, meaning("System with the release of macOS: macOS 26, or Linux")]


class CellRow(SummaryRow, frozen=True, kw_only=True):
    """Cases of one configuration that ended alike, whether they may be ranked or not."""

    configuration: Annotated[Text, meaning("Id of the machine, or a digest of its fields where it has none")]
    cpu_cores: Annotated[Count | None, meaning("All physical CPU cores")]
    gpu_cores: Annotated[Count | None, meaning("GPU cores of the machine")]
    memory_bytes: Annotated[Bytes | None, meaning("Installed memory", unit="bytes")]
    power: Annotated[Text | None, meaning("ac, battery, or low power (mode)")]
    outcome: Annotated[Text, meaning("How the cases ended")]
    fallback: Annotated[bool, meaning("Whether operations that the backend lacks were let run on the CPU")]
    ranked: Annotated[bool, meaning("Whether the cases may stand in a ranking")]


VALUES: tuple[str, ...] = Measured.__struct_fields__
SUMMARY_KEY = tuple(name for name in SummaryRow.__struct_fields__ if name not in VALUES)
CELL_KEY = tuple(name for name in CellRow.__struct_fields__ if name not in VALUES)
