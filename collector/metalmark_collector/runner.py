"""A run: rounds of cases within a budget, every outcome stored as it comes."""

from .progress import Progress
from .rounds import DeviceRound


def run_plan(progress: Progress) -> bool:
    """Measure every case of the plan; True if it came to its end, False if it was interrupted.

    Every planned case gets an outcome, also when the time ends or the person presses Ctrl-C.
    """
    plan = progress.plan
    orders = [
        (number, device, [case for case in cases if (case.key, number) not in progress.done])
        for number in range(plan.rounds)
        for device, cases in plan.order(number)
    ]
    progress.saved |= set(progress.cases)
    progress.to_come = [case for _, _, cases in orders for case in cases]
    try:
        for number, device, cases in orders:
            if cases:
                DeviceRound(progress, device, number).measure(cases)
    except KeyboardInterrupt:
        progress.close()
        return False
    return True
