"""A watcher at a terminal of its own, moved on by the tests of ``watch``, with a clock that they set.

Called as ``run_live.py TERMINAL_FD COMMAND_FD ANSWER_FD CASES``. Each line of commands is JSON: seconds
that pass, then the name of the watcher's call and what the call needs; each is answered by a dot.
"""

import json
import os
import sys

import msgspec

from metalmark_collector import watch
from metalmark_collector.efforts import EFFORTS
from metalmark_collector.live import Live
from metalmark_collector.plan import Plan, Planned
from metalmark_db.record import Case, Round
from metalmark_db.words import Effort, Outcome, Precision


def planned(count: int) -> Plan:
    """The first ``count`` workloads on the CPU and on MPS, the last of them in half precision as well."""
    names = EFFORTS[Effort.QUICK].workloads[:count]
    cases = {kind: [Planned(workload=n, device=kind, precision=Precision.FP32) for n in names] for kind in KINDS}
    cases["mps"].append(Planned(workload=names[-1], device="mps", precision=Precision.FP16))
    return Plan(
        effort=Effort.QUICK,
        seed=1,
        rounds=1,
        aimed_s=90,
        limit_s=240,
        cases={kind: tuple(some) for kind, some in cases.items()},
    )


def ended(case: Planned, outcome: str, milliseconds: int) -> Case:
    """The case with ten samples around that time, or with none."""
    blocks = tuple(milliseconds * 1_000_000 + jitter * 20_000 for jitter in range(10)) if milliseconds else ()
    rounds = (Round(number=0, iterations=1, block_ns=blocks),) if blocks else ()
    return msgspec.structs.replace(case.ended(Outcome(outcome), detail="\x1b[31mboom"), rounds=rounds)


KINDS = ("cpu", "mps")

if __name__ == "__main__":
    terminal, commands, answers, count = map(int, sys.argv[1:])
    os.login_tty(terminal)
    plan = planned(count)
    cases = [case for some in plan.cases.values() for case in some]
    time_s = 1000.0
    try:
        with watch.watcher(plan) as watcher, os.fdopen(commands) as lines:
            if isinstance(watcher, Live):
                watcher._now = lambda: time_s
                watcher._drawn_at, watcher._left_at = time_s, time_s
            os.write(answers, b".")
            for line in lines:
                passed, verb, *given = json.loads(line)
                time_s += passed
                if verb == "starting":
                    watcher.starting(given[0])
                elif verb == "measuring":
                    watcher.measuring(cases[given[0]], 0)
                elif verb == "beat":
                    watcher.beat(cases[given[0]], given[1])
                else:
                    watcher.ended(ended(cases[given[0]], given[1], given[2]), 45.0)
                os.write(answers, b".")
    except KeyboardInterrupt:
        os.write(answers, b"i")
    print("the end")  # noqa: T201
