"""What torch.compile makes of the workloads is right: a few here, all of them in `make test-slow`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalmark_collector import compilers
from metalmark_collector.workloads import FAMILIES
from metalmark_db.words import Mode

# An operation and a transformer of two layers; LeNet-5 is compiled in test_compilers.py and test_runner.py.
QUICK = ("launch-chain-100", "bert-base-infer-t128-b4")
CODE = """
import sys
from pathlib import Path
from metalmark_collector import devices, truth
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.words import Mode, Precision
entry = WORKLOADS[sys.argv[1]]
job = entry.job(devices.make("cpu"), Precision.FP32, 1, "tiny", Mode.COMPILE)
prepared = entry.prepare(job)
prepared.step()
found, wrong = truth.check_case(entry, job, Path(sys.argv[2]), prepared=prepared)
assert wrong is None, wrong
assert found.reference == "cpu fp32" and found.error_norm <= found.tolerance
from torch._dynamo.utils import counters
assert counters["stats"]["unique_graphs"] >= 1, counters
assert not counters["graph_break"], counters["graph_break"]
"""


def _names() -> list[object]:
    compiled = [one[0].facts.id for one in FAMILIES.values() if Mode.COMPILE in one[0].modes]
    assert set(QUICK) <= set(compiled)
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in compiled]


@pytest.mark.parametrize("name", _names())
def test_a_compiled_workload_gives_what_the_cpu_gives(name: str, tmp_path: Path) -> None:
    """In a process of its own, with a cache of its own, and in one graph."""
    variables = compilers.environment(tmp_path / "compiled", compilers.find())
    ended = subprocess.run(
        [sys.executable, "-c", CODE, name, str(tmp_path)],
        env={**os.environ, **variables, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
