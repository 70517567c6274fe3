"""A stored run as a table or as JSON."""

import json
from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from . import asides, output, queries
from .errors import UsageProblem
from .load import load_cases
from .rows import ResultRow, RunRow
from .series import BIMODAL
from .terminal import gibibytes, harmless, seconds, significant

_COLUMNS = (
    "workload",
    "device",
    "precision",
    "median",
    "95 % interval",
    "per second",
    "TFLOP/s",
    "over CPU",
    "outcome",
)
_RIGHT = ("median", "95 % interval", "per second", "TFLOP/s", "over CPU")
_ALONE = ("workload", "device", "precision", "alone", "in a chain")
_PEAK = ("workload", "device", "precision", "measured", "peak", "share")
_MINUTE = ("workload", "device", "precision", "short blocks", "at the end", "power")
# What a narrow terminal can do without, first to last.
_SHED = ("TFLOP/s", "per second", "95 % interval", "precision", "over CPU")

_FEWEST = 6  # samples that the interval of a median takes
_NAMED = 3  # cases in one remark


def show_run(engine: sa.Engine, run_id: int | None, *, as_json: bool = False) -> None:
    """Print a run's machine and cases; the newest run where no number is given.

    Raises:
        UsageProblem: there is no such run.
    """
    run = _find(queries.runs(engine), run_id)
    rows, cases = queries.results(engine, run.run_id), load_cases(engine, run.run_id)
    alone, minutes = asides.short_calls(cases), asides.minutes(cases)
    if as_json:
        parts = {"run": run, "results": rows, "single_calls": alone, "sustained": minutes}
        text = msgspec.to_builtins(parts)
        print(json.dumps(text, ensure_ascii=False, indent=1))  # noqa: T201 - this is the command's output
        return
    output.say(machine_line(run))
    output.table(None, _COLUMNS, [_cells(row) for row in rows], right=_RIGHT, shed=_SHED)
    for line in _remarks(rows):
        output.say(line)
    _tell_shares(rows)
    if alone:
        output.say("")
        output.say("Short work, one call at a time (each waited for) and in a chain:")
        output.table(None, _ALONE, [_alone_cells(one) for one in alone], right=_ALONE[3:], shed=("precision",))
    if minutes:
        output.say("")
        output.say("A minute of work back to back: how long an iteration takes at its end, beside the short blocks:")
        output.table(None, _MINUTE, [_minute_cells(one) for one in minutes], right=_MINUTE[3:], shed=("precision",))


def _tell_shares(rows: Sequence[ResultRow]) -> None:
    """Calibrations beside their chip's peaks, where any is known."""
    cells = [told for row in rows if (told := _peak_cells(row))]
    if cells:
        output.say("")
        output.say("Beside the chip's published peak of the same precision:")
        output.table(None, _PEAK, cells, right=_PEAK[3:5], shed=("peak", "precision"))
    if any(row.calibration and row.calibration.beyond for row in rows):
        output.say("Beyond is more than a tenth above the peak: the time is wrong, or the peak.")


def machine_line(run: RunRow) -> str:
    """A run's machine and software in one line; what is unknown is left out."""
    parts = (
        harmless(run.chip or "unknown chip"),
        "virtual machine" if run.virtual else "",
        f"{run.cpu_cores} CPU cores" if run.cpu_cores else "",
        f"{run.gpu_cores} GPU cores" if run.gpu_cores else "",
        harmless(run.gpu_name if run.gpu_name != run.chip else ""),
        gibibytes(run.memory_bytes),
        f"{harmless(run.os_name)} {harmless(run.os_version)}".strip(),
        f"torch {harmless(run.torch_version)}" if run.torch_version else "",
    )
    return f"Run {run.run_id}, {harmless(run.started_at)}: " + ", ".join(part for part in parts if part)


def _find(runs: Sequence[RunRow], run_id: int | None) -> RunRow:
    if not runs:
        raise UsageProblem("There is no run yet. Measure this machine with: metalmark run")
    found = [run for run in runs if run_id in (None, run.run_id)]
    if not found:
        known = ", ".join(str(run.run_id) for run in runs[:10])
        raise UsageProblem(f"There is no run {run_id}. The newest runs are: {known}.")
    return found[0]


def _cells(row: ResultRow) -> tuple[str, ...]:
    interval = ""
    if row.low_s is not None and row.high_s is not None:
        interval = f"{seconds(row.low_s)} – {seconds(row.high_s)}"
    outcome = row.outcome + (f" ({row.reason})" if row.reason else "")
    outcome += " (partly on the CPU)" if row.fallback else ""
    return (
        row.workload,
        row.device,
        row.precision if row.mode == "eager" else f"{row.precision} {row.mode}",
        seconds(row.median_s),
        interval,
        f"{significant(row.items_per_s)} {row.item}s" if row.items_per_s else "",
        significant(row.tflops),
        f"{significant(row.speedup)} ×" if row.speedup and row.device != "cpu" else "",
        outcome,
    )


def _format(one: asides.ShortCall | asides.Minute) -> tuple[str, str, str]:
    return one.workload, one.device, one.precision if one.mode == "eager" else f"{one.precision} {one.mode}"


def _alone_cells(one: asides.ShortCall) -> tuple[str, ...]:
    return *_format(one), seconds(one.alone_s), seconds(one.chained_s)


def _minute_cells(one: asides.Minute) -> tuple[str, ...]:
    power = f"{significant(one.watts)} W" if one.watts is not None else ""
    return *_format(one), seconds(one.burst_s), f"{significant(one.ratio)} ×", power


def _peak_cells(row: ResultRow) -> tuple[str, ...] | None:
    found = row.calibration
    if found is None or found.peak is None or found.share is None:
        return None
    mode = "" if row.mode == "eager" else f" {row.mode}"
    measured, most = (f"{significant(value)} {found.unit}" for value in (found.rate, found.peak))
    share = f"{significant(100 * found.share)} %" + (", beyond" if found.beyond else "")
    return row.workload, row.device, f"{row.precision}{mode}", measured, most, share


def _remarks(rows: Sequence[ResultRow]) -> list[str]:
    """What has to be known to read the table rightly."""
    remarks = []
    if any(row.interval == "within one process" for row in rows):
        remarks.append("Intervals are within one process: another process may choose other kernels.")
    without = [row for row in rows if row.median_s is not None and row.low_s is None]
    apart = [row for row in without if BIMODAL in row.flags]
    few = [row for row in without if row not in apart and row.samples < _FEWEST]
    if apart:
        named = ", ".join(f"{row.workload} on {row.device} in {row.precision}" for row in apart[:_NAMED])
        more = f" and {len(apart) - _NAMED} more" if len(apart) > _NAMED else ""
        remarks.append(f"Rounds far apart, so that the median says little and has no interval: {named}{more}.")
    if few:
        remarks.append("A median without an interval has fewer than six samples: the run's time did not allow more.")
    if len(apart) + len(few) < len(without):
        remarks.append("A median of two rounds has no interval: that takes three, or one alone.")
    return remarks
