"""How long reading a whole machine takes, without torch: the median of some readings, each asked anew."""

import sys
from statistics import median
from time import perf_counter

from metalmark_collector.fingerprint import local_probe
from metalmark_collector.look import look

FIGURE_S = 1.0  # on Linux; a Mac's system_profiler alone takes longer
READINGS = 5


def main() -> int:
    """Prints the time, and gives 1 where the figure is missed."""
    times = [_reading_s() for _ in range(READINGS)]
    if "torch" in sys.modules:
        print("reading the machine has imported torch, which it must not")
        return 1
    print(
        f"machine, software and conditions: {median(times):.2f} s in the median, {max(times):.2f} s at most; ", end=""
    )
    print(f"figure to reach on Linux: under {FIGURE_S:g} s")
    return int(sys.platform == "linux" and median(times) >= FIGURE_S)


def _reading_s() -> float:
    began = perf_counter()
    look(local_probe())
    return perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
