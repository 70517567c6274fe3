"""How long `metalmark --help` takes beside the smallest typer program: at most 1.15 times, and without torch."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

FIGURE = 1.15
PAIRS = 20
HEAVY = ("torch", "sqlalchemy", "altair", "jinja2", "mkdocs")

MINIMAL = """
import typer
app = typer.Typer()
@app.command()
def run() -> None: pass
@app.command()
def show() -> None: pass
app()
"""
OURS = "from metalmark_db.cli import main; main()"
LOADED = f"""
import sys
from metalmark_db.cli import main
try:
    main(["--help"])
finally:
    sys.stderr.write(" ".join(name for name in {HEAVY!r} if name in sys.modules))
"""


def seconds(program: str) -> float:
    """How long Python takes for this program with the word --help."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, "--help"], check=True, capture_output=True)
    return time.perf_counter() - began


def ratios(first: str, second: str) -> list[float]:
    """The times of one program over those of the other, measured in pairs whose order alternates."""
    found = []
    for pair in range(PAIRS):
        if pair % 2:
            b, a = seconds(second), seconds(first)
        else:
            a, b = seconds(first), seconds(second)
        found.append(a / b)
    return found


def describe(values: Sequence[float]) -> str:
    """The median with the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.2f} x (quartiles {low:.2f} to {high:.2f})"


def main() -> int:
    """Prints the ratio beside its floor, and gives 1 where it misses the figure."""
    seconds(OURS)
    seconds(MINIMAL)
    ours = ratios(OURS, MINIMAL)
    print(f"metalmark --help over a minimal typer program: {describe(ours)}; figure to reach: {FIGURE} x")
    print(f"the minimal program over itself, which is the floor: {describe(ratios(MINIMAL, MINIMAL))}")
    done = subprocess.run([sys.executable, "-c", LOADED], check=False, capture_output=True, text=True)
    print(f"heavy packages that --help loads: {done.stderr or 'none'}")
    return int(statistics.median(ours) > FIGURE or bool(done.stderr))


if __name__ == "__main__":
    sys.exit(main())
