"""Which share of a run is neither building, warming up nor sampling: starting workers, and comparing outputs.

Measures this machine as ``metalmark run`` does, with the same code, into a database of its own or into that of
``--db``. The figure is that of a standard run; a quick one, which takes minutes, is printed and not judged.
``--resume`` goes on with what an earlier call left unfinished there; Ctrl-C ends it, and what was measured by then is
told. ``--quick`` is a small sample with tiny sizes.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from metalmark_collector import resume, sitting, watch
from metalmark_collector.fingerprint import local_probe
from metalmark_collector.laps import BUILDING, SAMPLING, WARMING_UP
from metalmark_collector.look import look
from metalmark_collector.sitting import Request, Sitting
from metalmark_db import report
from metalmark_db.store import open_database
from metalmark_db.words import Effort

FIGURE = 0.10
USEFUL = (BUILDING, WARMING_UP, SAMPLING)
SAMPLE = ("lenet5-train-b128", "matmul-2048")


def main() -> int:
    """Prints the shares, and gives 1 where the figure is missed."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        own = str(Path(folder, "overhead.sqlite"))  # tiny results must not get into a database of real ones
        ended = _measured(arguments, own if arguments.quick or arguments.db is None else arguments.db)
    overhead = told(ended)
    if arguments.quick or arguments.effort is not Effort.STANDARD:
        print("not judged: the figure is that of a standard run")
        return 0
    return int(overhead > FIGURE)


def told(ended: Sitting) -> float:
    """Print where the time went, and give the share of the overhead."""
    spent = dict(ended.spent_s)
    parts = spent | {"the rest": ended.took_s - sum(spent.values())}
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        print(f"{name:32} {seconds:8.1f} s {seconds / ended.took_s:7.1%}")
    overhead = 1 - sum(spent.get(name, 0.0) for name in USEFUL) / ended.took_s
    print(f"{'all':32} {ended.took_s:8.1f} s; {ended.head.effort.value}, finished: {ended.finished}")
    print(f"neither building, warming up nor sampling: {overhead:.1%}; figure to reach: at most {FIGURE:.0%}")
    return overhead


def _measured(arguments: argparse.Namespace, database: str) -> Sitting:
    probe = local_probe()
    seen, engine = look(probe), open_database(database)
    request = Request(
        effort=arguments.effort,
        devices=tuple(arguments.device or ()),
        workloads=SAMPLE if arguments.quick else (),
        size="tiny" if arguments.quick else "real",
    )
    earlier = resume.find(engine, seen, arguments.effort) if arguments.resume else None
    plan = earlier.plan if earlier else sitting.plan_sitting(request, seen.machine)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with watch.watcher(plan, earlier) as watcher:
        ended = sitting.sit(engine, request, plan, watcher, probe, seen=seen, earlier=earlier)
    report.show_run(engine, ended.run_id)
    return ended


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=Effort, choices=list(Effort), default=Effort.QUICK)
    parser.add_argument("--device", action="append")
    parser.add_argument("--db")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
