"""A whole sitting in a process of its own, with hostile workers: interrupted and killed by the tests.

Called as ``run_hostile.py DATABASE TRICKS [ROUNDS [resume]]`` with TRICKS as for ``hostile_worker.py``;
measures the workloads of TRICKS, in the suite's order, or goes on with the last run, and prints a line
as each case ends.
"""

import functools
import json
import signal
import sys
from pathlib import Path

import msgspec

from metalmark_collector import budget, progress, resume, sitting, watch
from metalmark_collector.fingerprint import local_probe
from metalmark_collector.look import look
from metalmark_collector.plan import Plan, Planned, make_plan
from metalmark_collector.process import Worker
from metalmark_db.store import open_database
from metalmark_db.words import Effort


class InOrder(Plan, frozen=True, kw_only=True):
    """A plan that keeps the suite's order, so that a test knows what is running."""

    def order(self, number: int) -> list[tuple[str, list[Planned]]]:  # noqa: ARG002 - the plan's signature
        """The cases as they stand."""
        return [(device, list(cases)) for device, cases in self.cases.items()]


if __name__ == "__main__":
    database, tricks, *more = sys.argv[1:]
    rounds, go_on = int(more[0]) if more else 1, "resume" in more
    hostile = str(Path(__file__).with_name("hostile_worker.py"))
    start_worker = functools.partial(Worker, program=(hostile, tricks))
    # The default of a field is part of the class's __init__: setting the class's attribute would change nothing.
    vars(sitting)["Progress"] = functools.partial(progress.Progress, start_worker=start_worker)
    # Estimates are for real sizes: on a busy machine they would leave cases out that a test waits for.
    vars(budget)["iteration_s"] = lambda *_: 1e-3
    engine = open_database(database)
    earlier = resume.find(engine, look(local_probe())) if go_on else None
    plan = earlier.plan if earlier else make_plan(Effort.QUICK, ["cpu"], seed=1, only=list(json.loads(tricks)))
    plan = InOrder(
        **{name: getattr(plan, name) for name in plan.__struct_fields__} | {"rounds": rounds, "aimed_s": 5.0}
    )
    earlier = msgspec.structs.replace(earlier, plan=plan) if earlier else None
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    request = sitting.Request(size="tiny", check=False)
    with watch.watcher(plan, earlier) as watcher:
        ended = sitting.sit(engine, request, plan, watcher, earlier=earlier)
    print(msgspec.json.encode({"run": ended.run_id, "finished": ended.finished}).decode())  # noqa: T201
