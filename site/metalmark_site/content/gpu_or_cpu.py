"""GPU or CPU: published pairs of one operation on the GPU and the CPU of the same Mac."""

from collections.abc import Iterator
from statistics import median

from metalmark_db.rows import SpeedPair

from .. import units
from ..charts import CHARTS, gpu_or_cpu
from ..facts import Facts, grouped
from ..figures import Figure, Plot, Table
from ..page import Content
from ..text import Markdown, slug
from ..words import age
from .common import present

SOURCE = "mlx_benchmark"  # the one source that has the same operations on many Macs, synchronised

# Heading -> operations, in the order of the page; an operation that is new to us stands under the last heading.
GROUPS = (
    ("Matrix products and attention", ("matmul", "linear", "scaleddotproductattention")),
    ("Convolutions", ("conv1d", "conv2d")),
    (
        "Activations, softmax and loss",
        ("relu", "leakyrelu", "prelu", "selu", "sigmoid", "softplus", "softmax", "layernorm", "bce"),
    ),
    ("Sums, sorting and joining", ("sum", "sumall", "argmax", "sort", "concat")),
    ("Gather and scatter", ("gather", "scatter", "scattersum", "scattermax")),
)
REST = "Other operations"

COLUMNS = ("Operation and shapes", "Mac", "torch", "CPU", "GPU", "GPU over CPU")
NUMBERS = frozenset({"CPU", "GPU", "GPU over CPU"})


def page(facts: Facts) -> Iterator[Content]:
    """The page of the heat maps."""
    pairs = [pair for pair in facts.speed_pairs if pair.source_id == SOURCE]
    macs = sorted({gpu_or_cpu.mac(pair) for pair in pairs}, key=age)
    sections = [(name, _figure(name, mine, macs), mine) for name, mine in _sections(pairs)]
    slower = [pair for pair in pairs if pair.speedup < 1]
    source = next((row for row in facts.sources if row.id == SOURCE), None)
    yield Content(
        path="published/gpu-or-cpu.md",
        title="GPU or CPU?",
        figures=present(*(figure for _, figure, _ in sections)),
        context={
            "pairs": f"{len(pairs):,}",
            "slower": f"{len(slower):,}",
            "share": f"{100 * len(slower) / len(pairs):.0f}" if pairs else "0",
            "macs": len(macs),
            "sections": [
                {
                    "title": name,
                    "figure": figure.placeholder,
                    "slower": sum(p.speedup < 1 for p in mine),
                    "pairs": len(mine),
                }
                for name, figure, mine in sections
            ],
            "operations": _operations(pairs),
            "source": source,
            "link": Markdown(f"{facts.source_slugs[SOURCE]}.md") if source else None,
        },
    )


def _sections(pairs: list[SpeedPair]) -> Iterator[tuple[str, list[SpeedPair]]]:
    places = {operation: name for name, operations in GROUPS for operation in operations}
    found = grouped(pairs, lambda pair: places.get(_operation(pair), REST))
    for name in (*(name for name, _ in GROUPS), REST):
        if name in found:
            yield name, found[name]


def _operation(pair: SpeedPair) -> str:
    return pair.workload.removeprefix("op/")


def _figure(name: str, pairs: list[SpeedPair], macs: list[str]) -> Figure:
    rows = gpu_or_cpu.rows(pairs, macs)
    key = tuple((step, words) for step, _, words in gpu_or_cpu.STEPS)
    table = Table(
        caption=f"{name}: published times of CPU and GPU",
        columns=COLUMNS,
        rows=[_cells(pair) for pair in pairs],
        numbers=NUMBERS,
        summary=f"Data: {units.count(len(pairs), 'pair')}, source {SOURCE}",
    )
    return Figure(
        id=f"gpu-or-cpu-{slug(name)}",
        caption=f"{name}: the CPU's time divided by the GPU's, from one source",
        plot=Plot(chart=CHARTS["gpu_or_cpu"], rows=rows, axis=gpu_or_cpu.AXIS, key=key),
        tables=(table,),
    )


def _cells(pair: SpeedPair) -> tuple[str, ...]:
    return (
        gpu_or_cpu.operation(pair),
        gpu_or_cpu.mac_name(pair),
        pair.framework_version or units.UNKNOWN,
        units.seconds(pair.cpu_s),
        units.seconds(pair.mps_s),
        units.times(pair.speedup),
    )


def _operations(pairs: list[SpeedPair]) -> list[dict[str, object]]:
    """For each operation how often the GPU was slower, and the middle speed-up; the worst first."""
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "pairs": len(mine),
            "slower": sum(pair.speedup < 1 for pair in mine),
            "middle": units.times(median(pair.speedup for pair in mine)),
            "lowest": units.times(min(pair.speedup for pair in mine)),
            "highest": units.times(max(pair.speedup for pair in mine)),
        }
        for name, mine in sorted(grouped(pairs, _operation).items())
    ]
    return sorted(rows, key=lambda row: -int(str(row["slower"])) / int(str(row["pairs"])))
