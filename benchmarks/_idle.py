"""How much of a core the parent uses while a worker is timed."""

import time

from metalmark_collector.messages import Done, Hello, Task
from metalmark_collector.process import Worker
from metalmark_db.words import Outcome, Precision


def parent_share(seconds: float) -> float:
    """The parent's CPU time over wall time, from asking a worker for a case until its answer.

    The case is measured for ``seconds`` at most, and then worked at for as long again.
    """
    worker = Worker("cpu")
    try:
        greeting = worker.greet()
        if not isinstance(greeting, Hello):
            raise SystemExit(f"The worker did not start: {greeting.stderr}")
        task = Task(
            workload="matmul-2048",
            precision=Precision.FP32,
            seed=0,
            round_number=0,
            share_s=seconds,
            size="tiny",
            sustain_s=seconds,
        )
        wall, used = time.perf_counter(), time.process_time()
        answer = worker.ask(task, limit_s=120.0 + 2 * seconds)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        if not isinstance(answer, Done) or answer.outcome is not Outcome.OK:
            raise SystemExit(f"The worker did not measure: {answer}")
    finally:
        worker.close()
    return used / wall
