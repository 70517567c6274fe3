"""A sitting with somebody's own workloads and real workers of tiny size: run by the tests of plugins.

Called as ``run_plugins.py DATABASE FILE PATTERN...``; prints as its last line which process served which workload.
With ``--begin-only`` as the last word the run is stored with nothing measured, as an interruption leaves it.
"""

import functools
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from metalmark_collector import budget, plugins, progress, sitting, watch
from metalmark_collector.fingerprint import local_probe
from metalmark_collector.look import look
from metalmark_collector.messages import Done, Task
from metalmark_collector.plan import make_plan
from metalmark_collector.process import Death, Worker
from metalmark_db import store
from metalmark_db.store import open_database
from metalmark_db.words import Effort, Outcome, Reason

served: list[tuple[int, str]] = []


class Noted(Worker):
    """A worker of which it is noted what it was asked for."""

    def ask(self, task: Task, *others: Any, **more: Any) -> Done | Death:
        """The worker's own answer."""
        served.append((self.pid, task.workload))
        return super().ask(task, *others, **more)


if __name__ == "__main__":
    database, file, *patterns = sys.argv[1:]
    begin_only = patterns[-1] == "--begin-only"
    plugins.add([Path(file)])
    engine = open_database(database)
    plan = make_plan(Effort.FULL, ["cpu"], seed=1, only=patterns[: -1 if begin_only else None])
    plan = msgspec.structs.replace(plan, rounds=2, aimed_s=10.0)
    if begin_only:
        seen = look(local_probe())
        planned = [case for cases in plan.cases.values() for case in cases]
        waiting = [case.ended(Outcome.NOT_RUN, Reason.INTERRUPTED) for case in planned]
        store.begin_run(engine, sitting._head(plan, seen, None), [case.facts for case in planned], waiting)
        sys.exit()
    # The default of a field is part of the class's __init__: setting the class's attribute would change nothing.
    patient = functools.partial(progress.Progress, start_worker=Noted, patience_s=8.0)
    vars(sitting)["Progress"] = patient
    vars(budget)["iteration_s"] = lambda *_: 1e-3  # estimates are for real sizes
    with watch.watcher(plan) as lines:
        sitting.sit(engine, sitting.Request(size="tiny"), plan, lines)
    print(json.dumps(served))  # noqa: T201
