"""How good the measuring is: beside other timers, beside pyperf, and what the parent uses meanwhile.

Words choose parts: ``idle``, ``timers``, ``repetitions``. With ``--quick`` a small sample of each, whose
figures are printed and not judged.
"""

import os
import sys
from collections.abc import Callable, Sequence
from statistics import median

from _idle import parent_share
from _repetitions import ROUNDS, TIMES_AS_LONG, Repetitions, repeated
from metalmark_db.stats import median_interval

PAIRS = 200
REPETITIONS = 20
IDLE_S = 10.0
PARENT_SHARE = 0.01
WALL_SHARE = 0.5
MISSED = "missed"
TOO_BUSY = "not to be told, the machine is too busy"
QUICK_PYPERF = ("--processes", "2", "--values", "2", "--min-time", "0.01")


def main(words: Sequence[str]) -> int:
    """Prints every figure beside the one to reach, and gives 1 where one is missed."""
    quick = "--quick" in words
    chosen = [word for word in words if word != "--quick"] or list(PARTS)
    if unknown := [word for word in chosen if word not in PARTS]:
        print(f"There is no part {unknown[0]!r}. Choose from: {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    print(f"load averages before: {_loads()}, on {os.cpu_count()} cores", flush=True)
    reached = [PARTS[part](quick) for part in chosen]
    print(f"load averages after: {_loads()}")
    if quick:
        print("quick: too few to judge by")
        return 0
    return int(not all(reached))


def _loads() -> str:
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


def _idle(quick: bool) -> bool:
    share = parent_share(1.0 if quick else IDLE_S)
    print(f"parent's share of a core while a worker is timed: {share:.2%}; figure to reach: under {PARENT_SHARE:.0%}")
    return share < PARENT_SHARE


def _timers(quick: bool) -> bool:
    from _timers import compared  # noqa: PLC0415 - only this part needs torch in this process

    verdicts = []
    for found in compared(2 if quick else PAIRS):
        verdicts.append(verdict(found.ours, found.figure))
        print(f"{found.name}: ours over {found.other}: {said(found.ours)}; ", end="")
        print(f"figure to reach: 1 +- {found.figure:.2f}: {verdicts[-1]}")
        print(f"    {found.other} over itself, which is the floor: {said(found.floor)}", flush=True)
    return MISSED not in verdicts


def verdict(ratios: Sequence[float], figure: float) -> str:
    """Whether the median ratio lies near enough to 1; a machine too busy to tell counts for nothing."""
    if abs(median(ratios) - 1) <= figure:
        return "reached"
    low, high = median_interval(ratios) or (min(ratios), max(ratios))
    return TOO_BUSY if low <= 1 + figure and high >= 1 - figure else MISSED


def said(ratios: Sequence[float]) -> str:
    """The median ratio with its 95 % interval, where there are enough for one."""
    ends = median_interval(ratios)
    return f"{median(ratios):.4f}" + (f" ({ends[0]:.4f} to {ends[1]:.4f}, {len(ratios)} pairs)" if ends else "")


def _repetitions(quick: bool) -> bool:
    found = repeated(1, 3, QUICK_PYPERF) if quick else repeated(REPETITIONS, TIMES_AS_LONG * ROUNDS)
    count, wall = len(found.ours), found.our_wall_s / found.their_wall_s
    print(f"runs whose centre lies within 1 % of that of a long run ({len(found.long_run)} rounds):")
    print(f"    ours, {ROUNDS} rounds: {_within(found.ours, found)}")
    print(f"    pyperf, its mean: {_within(found.theirs, found)}")
    print(f"    pyperf, its median: {_within(found.their_medians, found)}")
    near = found.hits(found.ours) >= found.hits(found.theirs)
    told = ("reached" if near else MISSED) if found.truth_is_known else TOO_BUSY
    print(f"    figure to reach: ours at least as often as pyperf's mean: {told}")
    a_run = f"ours {found.our_wall_s / count:.1f} s, pyperf {found.their_wall_s / count:.1f} s"
    print(f"wall time of a run: {a_run}, ratio {wall:.2f}; figure to reach: {WALL_SHARE}")
    return told != MISSED and wall <= WALL_SHARE


def _within(centres: Sequence[float], found: Repetitions) -> str:
    off = sorted(abs(centre / found.truth - 1) for centre in centres)
    return f"{found.hits(centres)} of {len(centres)}; off by {median(off):.2%} in the median, {off[-1]:.2%} at most"


# In this order: the parent of the first part must not hold torch.
PARTS: dict[str, Callable[[bool], bool]] = {"idle": _idle, "timers": _timers, "repetitions": _repetitions}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
