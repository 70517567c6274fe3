"""The benchmark of the measuring: a small real sample of it runs and says what it should."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "measure.py"
RATIO = r"\d\.\d{4}"
VERDICT = "(reached|missed|not to be told, the machine is too busy)"
TOLD = (
    r"load averages before: [\d.]+, [\d.]+, [\d.]+, on \d+ cores",
    r"parent's share of a core while a worker is timed: \d+\.\d\d%; figure to reach: under 1%",
    rf"cpu: matmul 512: ours over torch.utils.benchmark: {RATIO}; figure to reach: 1 \+- 0\.01: {VERDICT}",
    rf"    torch.utils.benchmark over itself, which is the floor: {RATIO}",
    rf"cpu: add 64 x 64: ours over torch.utils.benchmark: {RATIO}; figure to reach: 1 \+- 0\.03: {VERDICT}",
    rf"cpu: LeNet-5 training: ours over torch.utils.benchmark: {RATIO}; figure to reach: 1 \+- 0\.01: {VERDICT}",
    r"runs whose centre lies within 1 % of that of a long run \(3 rounds\):",
    r"    ours, 3 rounds: [01] of 1; off by \d+\.\d\d% in the median, \d+\.\d\d% at most",
    r"    pyperf, its mean: [01] of 1; off by .*",
    r"    pyperf, its median: [01] of 1; off by .*",
    rf"    figure to reach: ours at least as often as pyperf's mean: {VERDICT}",
    r"wall time of a run: ours \d+\.\d s, pyperf \d+\.\d s, ratio \d+\.\d\d; figure to reach: 0\.5",
    r"quick: too few to judge by",
)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The benchmark as a person starts it."""
    return subprocess.run([sys.executable, str(SCRIPT), *words], check=False, capture_output=True, text=True)


def test_a_small_sample_of_every_part_is_measured_and_not_judged() -> None:
    done = run("--quick")
    assert done.returncode == 0, done.stderr
    for line in TOLD:
        assert re.search(rf"^{line}$", done.stdout, re.MULTILINE), f"{line}\n{done.stdout}"


def test_a_part_that_does_not_exist_is_refused_with_those_that_do() -> None:
    done = run("timer")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "There is no part 'timer'. Choose from: idle, timers, repetitions.\n"
