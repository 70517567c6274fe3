"""The home page: what this is, the speed of the machines measured so far, the newest runs."""

from collections.abc import Iterator

from metalmark_db.rows import ResultRow, RunRow

from .. import units
from ..charts import CHARTS, speed
from ..facts import Facts
from ..figures import Figure, Plot
from ..page import Content
from ..text import Markdown
from ..words import chip_of, cores
from . import headline, tables
from .common import device_key, guest_figure, guests, placeholder, present, ranked
from .headline import Headline, Key, on_lines

NEWEST = 6
FEW = 3  # machine configurations below which a comparison is not one yet


def home(facts: Facts) -> Iterator[Content]:
    """The home page."""
    rows = [row for row in facts.results if row.precision == "fp32" and row.mode == "eager"]
    mine, others = ranked(rows), guests(rows)
    lines = Headline(facts).lines(mine or others)
    chart = _speed("home-speed", "Time of one iteration, fp32, eager, on each machine and device", mine, lines)
    apart = _apart(mine, others, lines)
    yield Content(
        path="index.md",
        title="Metalmark",
        figures=present(chart, apart),
        context={
            "speed": placeholder(chart),
            "guests": placeholder(apart),
            "most": headline.MOST,
            "dots": headline.DOTS,
            "families": units.count(len(facts.families), "family", "families"),
            "standing": standing(facts),
            "cards": [_card(run, facts) for run in facts.runs[:NEWEST]],
            "more_runs": units.count(len(facts.runs) - NEWEST, "older run is", "older runs are")
            if len(facts.runs) > NEWEST
            else None,
            "counts": _counts(facts),
        },
    )


def _speed(name: str, caption: str, results: list[ResultRow], lines: list[Key]) -> Figure | None:
    kinds = on_lines(results, lines, _kind)
    rows = speed.rows(kinds, lines)
    if not rows:
        return None
    plot = Plot(chart=CHARTS["speed"], rows=rows, axis=speed.AXIS, key=device_key(rows))
    return Figure(id=name, caption=caption, plot=plot, tables=(tables.measured(kinds, caption),))


def _apart(mine: list[ResultRow], others: list[ResultRow], lines: list[Key]) -> Figure | None:
    """Virtual machines: a table below a chart of others, and the chart itself where there is no other."""
    if mine:
        return guest_figure("home", on_lines(others, lines, _kind), headline.MOST * headline.DOTS, short=0)
    return _speed("home-guests", "Virtual machines, listed apart and never ranked", others, lines)


def _kind(row: ResultRow) -> tuple[object, ...]:
    return chip_of(row), cores(row), row.memory_bytes, row.device


def standing(facts: Facts) -> str:
    """How much is measured, in one honest sentence."""
    if not facts.runs:
        return (
            "This database holds no measured run yet: everything below was published by others. "
            "Measure this machine with the command metalmark run and build the site again."
        )
    machines = len({_configuration(run) for run in facts.runs})
    held = f"{units.count(len(facts.runs), 'run')} on {units.count(machines, 'machine configuration')}"
    if machines < FEW:
        return f"So far this database holds {held}: a beginning, not yet a comparison."
    return f"This database holds {held}."


def _configuration(run: RunRow) -> tuple[object, ...]:
    return (run.chip, run.gpu_name, run.cpu_cores, run.gpu_cores, run.memory_bytes, run.virtual)


def _counts(facts: Facts) -> list[tuple[str, str]]:
    """The few numbers that say how big the database is: (number, what it counts)."""
    measured = sum(1 for row in facts.results if row.outcome == "ok")
    macs = {row.chip for row in facts.published if row.chip.startswith("Apple M")}
    return [
        (f"{len(facts.runs):,}", "measured runs" if len(facts.runs) != 1 else "measured run"),
        (f"{measured:,}", "measured cases" if measured != 1 else "measured case"),
        (f"{len(facts.published):,}", "published figures"),
        (f"{len(macs):,}", "Apple chips among them"),
    ]


def _card(run: RunRow, facts: Facts) -> dict[str, object]:
    names = [name for name in (run.chip, run.gpu_name) if name] or ["Unknown chip"]
    name = next((name for name in names if name in facts.chip_slugs), names[0])  # a card may be all that was measured
    page = facts.chip_slugs.get(name)
    hardware = (
        f"{run.cpu_cores} {'virtual' if run.virtual else 'CPU'} cores" if run.cpu_cores else None,
        f"{run.gpu_cores} GPU cores" if run.gpu_cores else None,
        *(other for other in dict.fromkeys(names) if other != name),
        units.gibibytes(run.memory_bytes) if run.memory_bytes else None,
        "virtual machine" if run.virtual else None,
    )
    system = " ".join(filter(None, (run.os_name, run.os_version)))
    software = (
        system or None,
        f"Python {run.python_version}" if run.python_version else None,
        f"torch {run.torch_version}" if run.torch_version else None,
    )
    return {
        "name": name,
        "link": Markdown(f"chips/{page}.md") if page else None,
        "hardware": " · ".join(filter(None, hardware)),
        "software": " · ".join(filter(None, software)),
        "when": run.started_at[:10],
        "what": f"{run.effort} run, {run.ok_cases} of {units.count(run.cases, 'case')} measured"
        + ("" if run.finished else ", not finished"),
    }
