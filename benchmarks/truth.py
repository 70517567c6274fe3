"""How exact the best device at hand is, and whether the truth check would catch it if it were not.

For every workload and precision: the errors against the CPU, the worst over the seeds, and the teeth. Setting the
weights of the first, the middle or the last layer to zero on the device, or one sample of its output, has to move the
error to at least five times the tolerance. Without a GPU it rehearses on the CPU with tiny sizes.
"""

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter

import torch

from metalmark_collector import devices
from metalmark_collector.devices.base import Device
from metalmark_collector.truth import check_case
from metalmark_collector.truth.compare import difference
from metalmark_collector.truth.reference import reference
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Size
from metalmark_db.record import Truth
from metalmark_db.words import Precision, Task

FIGURE = 5.0
COLUMNS = (
    f"{'workload':24} {'precision':9} {'tolerance':>9} {'error':>8} {'max/rms':>8} {'loss':>8} {'gradient':>8}"
    f" {'input':>6} {'first':>7} {'middle':>7} {'last':>7} {'sample':>7}  layers over {FIGURE:g} x"
)


@dataclass
class Case:
    """What one workload showed in one precision from one seed; damage is an error over the tolerance."""

    workload: str
    precision: str
    seed: int
    tolerance: float
    wrong: str | None
    truth: Truth | None
    sample: float = math.nan
    layers: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def teeth(self) -> tuple[float, ...]:
        """Damage of the first, the middle and the last layer that has weights, and of one sample."""
        layers = self.layers
        return (layers[0], layers[len(layers) // 2], layers[-1], self.sample) if layers else (self.sample,)

    @property
    def passes(self) -> bool:
        """Whether the figure is reached, and nothing was wrong without damage."""
        return self.wrong is None and min(self.teeth) >= FIGURE


def best_device() -> Device:
    """A GPU that computes, or the CPU."""
    made = [devices.make(kind) for kind in ("cuda", "mps", "cpu")]
    return next(device for device in made if device.unusable() is None)


def examine(entry: Entry, job: Job, folder: Path) -> Case:
    """The errors of a right device, and of the same device made wrong."""
    began = perf_counter()
    truth, wrong = check_case(entry, job, folder)
    case = Case(entry.facts.id, job.precision.value, job.seed, entry.tolerances[job.precision].output, wrong, truth)
    expected = reference(entry, job, folder).output
    work = entry.prepare(replace(job, dropout=False))
    try:
        damaged = work.output().clone()
        damaged[... if entry.facts.task is Task.OPERATION else -1] = 0
        case.sample = _over(difference(damaged, expected).norm, case.tolerance)
        for weight in work.weights():
            kept = weight.detach().clone()
            with torch.no_grad():
                weight.zero_()
                case.layers.append(_over(difference(work.output(), expected).norm, case.tolerance))
                weight.copy_(kept)
    finally:
        work.close()
    case.seconds = perf_counter() - began
    return case


def table_row(cases: Sequence[Case]) -> str:
    """The worst over the seeds of one workload in one precision."""
    truths = [case.truth for case in cases if case.truth is not None]

    def worst(name: str) -> str:
        values = [value for truth in truths if (value := getattr(truth, name)) is not None]
        return f"{(min if name == 'input_dependence' else max)(values):.2g}" if values else ""

    teeth = [min(each) for each in zip(*(case.teeth for case in cases), strict=True)]
    shown = ["", "", "", *teeth] if len(teeth) == 1 else teeth
    layers = [min(each) for each in zip(*(case.layers for case in cases), strict=True)]
    return (
        f"{cases[0].workload:24} {cases[0].precision:9} {cases[0].tolerance:9.2g} {worst('error_norm'):>8}"
        f" {worst('error_max_rms'):>8} {worst('loss_error'):>8} {worst('gradient_error'):>8}"
        f" {worst('input_dependence'):>6} "
        + " ".join(f"{one if isinstance(one, str) else format(one, '.3g'):>7}" for one in shown)
        + (f"  {sum(ratio >= FIGURE for ratio in layers)} of {len(layers)}, least {min(layers):.2g}" if layers else "")
    )


def main() -> int:
    """Prints the table, and gives 1 where a figure is missed."""
    arguments = _arguments()
    device = best_device()
    size: Size = arguments.size or ("tiny" if device.kind == "cpu" else "real")
    print(f"{device.chip_name() or device.kind}, torch {torch.__version__}, size {size}, seeds {arguments.seed}")
    print(COLUMNS)
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in (WORKLOADS[name] for name in arguments.workload or WORKLOADS):
            for precision in entry.precisions[device.kind]:
                if precision in arguments.precision:
                    jobs = [entry.job(device, precision, seed, size) for seed in arguments.seed]
                    found = [examine(entry, job, Path(folder)) for job in jobs]
                    cases += found
                    print(table_row(found), *(case.wrong for case in found if case.wrong), flush=True)
    if arguments.json:
        document = {"device": device.chip_name() or device.kind, "torch": str(torch.__version__), "size": size}
        arguments.json.write_text(json.dumps(document | {"cases": [_plain(case) for case in cases]}, indent=1))
    return int(not all(case.passes for case in cases))


def _plain(case: Case) -> dict[str, object]:
    truth = None if case.truth is None else {name: getattr(case.truth, name) for name in case.truth.__struct_fields__}
    return asdict(replace(case, truth=None)) | {"truth": truth}


def _over(error: float, tolerance: float) -> float:
    return error / tolerance if tolerance else math.inf


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", action="append", choices=list(WORKLOADS))
    parser.add_argument("--precision", action="append", type=Precision, choices=list(Precision))
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--size", choices=("real", "tiny"))
    parser.add_argument("--json", type=Path, help="also write every figure to this file")
    arguments = parser.parse_args()
    arguments.seed = arguments.seed or [1]
    arguments.precision = arguments.precision or list(Precision)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
