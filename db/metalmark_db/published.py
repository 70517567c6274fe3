"""The published figures, read from db/published and checked line by line."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from .data import data
from .errors import DataProblem
from .reading import Columns, lines, maybe, number, one_of, read_bytes, text
from .words import PUBLISHED_OUTCOMES

FILES = ("sources.json", "results.csv", "chips.csv", "aliases.csv", "mapping.csv")
DEVICES = {"cpu", "mps", "cuda", "mlx_gpu"}

# Seconds of one iteration from the printed value and the batch; metrics that are missing here
# (a whole epoch, TFLOP/s, a speed-up) do not tell the time of one iteration.
_PER_ITERATION: dict[str, float] = {
    "seconds_per_iter": 1.0,
    "ms_per_iter": 1e-3,
    "us_per_iter": 1e-6,
    "seconds_per_20_iters": 1 / 20,
    "seconds_per_100_iters": 1 / 100,
    "seconds_per_1000_iters": 1 / 1000,
    "ms_per_1000_iters": 1e-6,
    "ms_per_10000_iters": 1e-7,
}
_PRODUCT = re.compile(r"([0-9]{1,6})x([0-9]{1,6}) ([0-9]{1,6})x([0-9]{1,6})")
# Sources that print so few digits that short times come out as zero: 0.00 ms is anything under 0.005 ms.
_ROUNDED = {("mlx_benchmark", "ms_per_iter"): 0.005e-3}
_PER_SECOND = ("images_per_s", "samples_per_s")
METRICS = {
    *_PER_ITERATION,
    *_PER_SECOND,
    "iters_per_s",
    "tokens_per_s",
    "blocks_per_s",
    "seconds_per_epoch",
    "minutes_per_epoch",
    "minutes_epoch_plus_train_val_eval",
    "minutes_total",
    "seconds_total",
    "tflops",
    "gb_per_s",
    "speedup_vs_cpu",
    "speedup_vs_m1_pro_gpu",
    "speedup_vs_m2_gpu",
}


def digest(folder: Path | None = None) -> str:
    """Which edition of the figures lies in ``folder`` (default: the package's own)."""
    folder = folder or data("published")
    sha = hashlib.sha256()
    for name in FILES:
        sha.update(read_bytes(folder / name))
    return sha.hexdigest()


def read_sources(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``sources``; notes become one line of text each."""
    path = folder / "sources.json"
    try:
        entries = json.loads(read_bytes(path))
        return [_source(key, entry) for key, entry in entries.items()]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DataProblem(f"{path} is no table of sources: {error!r}. Restore it from the repository.") from error


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``published``, in the order of the file.

    Raises:
        DataProblem: names the file, the line, the column and what stands there.
    """
    rows = []
    for line, row in lines(folder / "results.csv", _RESULT_COLUMNS):
        rows.append(row | {"id": line - 1, "seconds": _seconds(row), "under_s": _under(row)})
    return rows


def read_chips(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``chips``, in the order of the file."""
    path = folder / "chips.csv"
    rows = []
    for place, (_, row) in enumerate(lines(path, _CHIP_COLUMNS), start=1):
        rows.append({_CHIP_NAMES.get(name, name): value for name, value in row.items()} | {"id": place})
    return rows


def _seconds(row: dict[str, Any]) -> float | None:
    value, metric, batch = row["value"], row["metric"], row["batch_size"]
    if not value:  # a printed zero is a time under the last printed digit, not no time
        return None
    if metric in _PER_ITERATION:
        return float(value * _PER_ITERATION[metric])
    if metric == "iters_per_s":
        return 1 / float(value)
    if metric in _PER_SECOND and batch:
        return float(batch / value)
    if metric == "tflops":
        return _product_s(row["workload"], row["input_shape"], value)
    return None


def _product_s(workload: str, shape: str | None, tflops: float) -> float | None:
    """The time of a product of matrices whose rate is known: 2 n k m operations for n x k by k x m."""
    found = _PRODUCT.fullmatch(shape or "")
    if workload != "op/matmul" or found is None or found[2] != found[3]:
        return None
    return 2 * int(found[1]) * int(found[2]) * int(found[4]) / tflops / 1e12


def _under(row: dict[str, Any]) -> float | None:
    """What a time lies under that was printed as zero: half of the last printed digit."""
    rounded = _ROUNDED.get((row["source_id"], row["metric"]))
    return rounded if row["value"] == 0 and row["outcome"] == "ok" else None


def _source(key: str, entry: dict[str, Any]) -> dict[str, Any]:
    notes = entry["notes"]
    lines = [f"{name}: {text}" for name, text in notes.items()] if isinstance(notes, dict) else [str(notes)]
    named = {name: text(str(entry[name])) for name in ("author", "title", "date", "licence")}
    return named | {"id": key, "address": text(str(entry["where"])), "notes": "\n".join(lines)}


_RESULT_COLUMNS: Columns = {
    "source_id": text,
    "workload": text,
    "model": text,
    "task": one_of({"inference", "train"}),
    "precision": maybe(str),
    "batch_size": maybe(int),
    "input_shape": maybe(str),
    "device": maybe(one_of(DEVICES)),
    "chip": text,
    "cpu_cores": maybe(int),
    "gpu_cores": maybe(int),
    "memory_gb": maybe(number),
    "os": maybe(str),
    "framework": maybe(str),
    "framework_version": maybe(str),
    "metric": one_of(METRICS),
    "value": maybe(number),
    "outcome": PUBLISHED_OUTCOMES.__getitem__,
    "note": maybe(str),
}
_CHIP_COLUMNS: Columns = {
    "chip": text,
    "variant": text,
    "cpu_p": maybe(int),
    "cpu_e": maybe(int),
    "cpu_s": maybe(int),
    "gpu_cores": maybe(int),
    "mem_bw_gbs": maybe(number),
    "fp32_tflops": maybe(number),
    "fp16_tflops": maybe(number),
    "tf32_tflops": maybe(number),
    "bf16_tflops": maybe(number),
    "low_precision_source": maybe(str),
    "memory_options_gb": maybe(str),
    "source": text,
    "note": maybe(str),
}
_CHIP_NAMES = {
    "cpu_p": "cpu_performance",
    "cpu_e": "cpu_efficiency",
    "cpu_s": "cpu_super",
    "mem_bw_gbs": "bandwidth_gb_s",
}
