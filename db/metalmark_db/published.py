"""The published figures, read from db/published and checked line by line."""

import csv
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .data import data
from .errors import DataProblem
from .words import PUBLISHED_OUTCOMES

FILES = ("sources.json", "results.csv", "chips.csv")

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
        sha.update(_bytes(folder / name))
    return sha.hexdigest()


def read_sources(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``sources``; notes become one line of text each."""
    path = folder / "sources.json"
    try:
        entries = json.loads(_bytes(path))
        return [_source(key, entry) for key, entry in entries.items()]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DataProblem(f"{path} is no table of sources: {error!r}. Restore it from the repository.") from error


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``published``, in the order of the file.

    Raises:
        DataProblem: names the file, the line, the column and what stands there.
    """
    rows = []
    for line, row in _lines(folder / "results.csv", _RESULT_COLUMNS):
        checked = _convert(folder / "results.csv", line, row, _RESULT_COLUMNS)
        rows.append(checked | {"id": line - 1, "seconds": _seconds(checked)})
    return rows


def read_chips(folder: Path) -> list[dict[str, Any]]:
    """Rows of the table ``chips``, in the order of the file."""
    path = folder / "chips.csv"
    rows = []
    for number, (line, row) in enumerate(_lines(path, _CHIP_COLUMNS), start=1):
        checked = _convert(path, line, row, _CHIP_COLUMNS)
        rows.append({_CHIP_NAMES.get(name, name): value for name, value in checked.items()} | {"id": number})
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
    return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataProblem(f"{path} cannot be read ({error.strerror}). Restore the file from the repository.") from error


def _lines(path: Path, columns: dict[str, Callable[[str], Any]]) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = _bytes(path).decode("utf-8")
        reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
        missing = set(columns) - set(reader.fieldnames or ())
        if missing:
            raise DataProblem(f"{path} lacks the columns {', '.join(sorted(missing))}. Line 1 names the columns.")
        for row in reader:
            if None in row or None in row.values():
                raise DataProblem(f"{path}, line {reader.line_num}: not as many fields as in line 1.")
            yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataProblem(f"{path} is not a readable CSV file in UTF-8: {error}.") from error


def _convert(path: Path, line: int, row: dict[str, str], columns: dict[str, Callable[[str], Any]]) -> dict[str, Any]:
    converted = {}
    for name, read in columns.items():
        try:
            converted[name] = read(row[name])
        except (ValueError, KeyError) as error:
            raise DataProblem(f"{path}, line {line}, column {name}: {row[name]!r} is not allowed there.") from error
    return converted


def _text(field: str) -> str:
    if not field:
        raise ValueError(field)
    return field


def _maybe(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda field: read(field) if field else None


def _number(field: str) -> float:
    value = float(field)
    if not 0 <= value < float("inf"):
        raise ValueError(field)
    return value


def _one_of(allowed: set[str]) -> Callable[[str], str]:
    def read(field: str) -> str:
        if field not in allowed:
            raise ValueError(field)
        return field

    return read


def _source(key: str, entry: dict[str, Any]) -> dict[str, Any]:
    notes = entry["notes"]
    lines = [f"{name}: {text}" for name, text in notes.items()] if isinstance(notes, dict) else [str(notes)]
    named = {name: _text(str(entry[name])) for name in ("author", "title", "date", "licence")}
    return named | {"id": key, "address": _text(str(entry["where"])), "notes": "\n".join(lines)}


_RESULT_COLUMNS: dict[str, Callable[[str], Any]] = {
    "source_id": _text,
    "workload": _text,
    "model": _text,
    "task": _one_of({"inference", "train"}),
    "precision": _maybe(str),
    "batch_size": _maybe(int),
    "input_shape": _maybe(str),
    "device": _maybe(_one_of({"cpu", "mps", "cuda", "mlx_gpu"})),
    "chip": _text,
    "cpu_cores": _maybe(int),
    "gpu_cores": _maybe(int),
    "memory_gb": _maybe(_number),
    "os": _maybe(str),
    "framework": _maybe(str),
    "framework_version": _maybe(str),
    "metric": _one_of(METRICS),
    "value": _maybe(_number),
    "outcome": PUBLISHED_OUTCOMES.__getitem__,
    "note": _maybe(str),
}
_CHIP_COLUMNS: dict[str, Callable[[str], Any]] = {
    "chip": _text,
    "variant": _text,
    "cpu_p": _maybe(int),
    "cpu_e": _maybe(int),
    "cpu_s": _maybe(int),
    "gpu_cores": _maybe(int),
    "mem_bw_gbs": _maybe(_number),
    "fp32_tflops": _maybe(_number),
    "fp16_tflops": _maybe(_number),
    "tf32_tflops": _maybe(_number),
    "bf16_tflops": _maybe(_number),
    "low_precision_source": _maybe(str),
    "memory_options_gb": _maybe(str),
    "source": _text,
    "note": _maybe(str),
}
_CHIP_NAMES = {
    "cpu_p": "cpu_performance",
    "cpu_e": "cpu_efficiency",
    "cpu_s": "cpu_super",
    "mem_bw_gbs": "bandwidth_gb_s",
}
