"""The workflow for GitHub's macOS runners, as far as it can be tried without one."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from metalmark_collector.doctor import CHECKS, Sight, examine
from metalmark_collector.doctor.bundle import make_new, write
from metalmark_collector.doctor.sight import Greeting, Room
from metalmark_collector.fingerprint import fingerprint, read_conditions, read_machine, read_software, replay_probe
from metalmark_collector.messages import Hello
from tools.expect_mac import STATES, main

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github/workflows/macos.yml"
GUEST = ROOT / "tests/data/fixtures/macos/vm-m4max-virtual-macos15"


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    """The workflow as GitHub reads it."""
    loaded: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text())
    return loaded


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    """The steps of all jobs."""
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_pull_requests_are_tried_on_three_systems_with_the_right_to_read_only(workflow: dict[Any, Any]) -> None:
    assert workflow[True] == {"pull_request": None}  # YAML 1.1 takes `on` for a yes
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["mac"]["strategy"]["matrix"]["macos"] == [14, 15, 26]
    assert not any("permissions" in job or "secrets" in json.dumps(job) for job in workflow["jobs"].values())


def test_actions_of_others_are_pinned_to_a_commit_and_keep_no_token(workflow: dict[Any, Any]) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert len(used) >= 5
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action in used)
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_every_script_is_one_that_a_shell_understands_and_holds_nothing_of_a_pull_request(
    workflow: dict[Any, Any],
) -> None:
    scripts = [step["run"] for step in steps(workflow) if "run" in step]
    for script in scripts:
        assert "${{" not in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    called = {word for script in scripts for word in re.findall(r"metalmark ([a-z]+) ", script)}
    assert called == {"doctor", "fingerprint", "run", "query"}


def runner(folder: Path) -> tuple[dict[str, Any], Sight]:
    """A guest as it is recorded, with the other outputs of GitHub's runner beside it."""
    shutil.copytree(GUEST, folder)
    process = {"python_version": "3.13.9", "python_arch": "arm64", "niceness": 0, "environment": {}}
    packages = {"torch": "2.14.1", "torchvision": "0.29.1", "transformers": "5.24.0"}
    (folder / "process.json").write_text(json.dumps(process | {"packages": packages}))
    (folder / "sw_vers.txt").write_text("ProductName:\t\tmacOS\nProductVersion:\t\t15.7.9\nBuildVersion:\t\t24G830\n")
    (folder / "uname_mrsv.txt").write_text(
        "Darwin 24.6.0 Darwin Kernel Version 24.6.0: xnu/RELEASE_ARM64_VMAPPLE arm64"
    )
    (folder / "vm_stat.txt").write_text(
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: 90000.\nPages inactive: 90000.\n"
        "Pages speculative: 9000.\n"
    )
    (folder / "sysctl.txt").write_text(
        "hw.memsize: 7516192768\nhw.physicalcpu: 3\nhw.nperflevels: 1\nhw.perflevel0.name: Standard\n"
        "hw.perflevel0.physicalcpu: 3\nmachdep.cpu.brand_string: Apple M1 (Virtual)\nvm.loadavg: { 2.10 1.00 0.50 }\n"
    )
    hello = Hello(
        torch_version="2.14.1",
        torch_git=None,
        torch_debug=False,
        threads=3,
        unusable=None,
        chip_name=None,
        flops_per_s=1e11,
    )
    probe = replay_probe(folder)
    sight = Sight(
        machine=read_machine(probe),
        software=read_software(probe),
        conditions=read_conditions(probe),
        greetings=(Greeting("cpu", hello), Greeting("mps", hello)),
        room=Room(folder="/Users/runner", free_bytes=2**35, writable=True),
    )
    return fingerprint(probe), sight


def files(folder: Path) -> list[str]:
    """What the workflow hands to the script, made here from a recorded guest."""
    found, sight = runner(folder / "guest")
    make_new(folder / "bundle")
    write(folder / "bundle", replay_probe(folder / "guest"), sight)
    texts = {
        "fingerprint.json": found,
        "replayed.json": fingerprint(replay_probe(folder / "bundle")),
        "doctor.json": [{"check": one.check, "state": one.state} for one in examine(sight)],
    }
    for name, value in texts.items():
        (folder / name).write_text(json.dumps(value))
    return [str(folder / name) for name in texts]


def test_a_runner_is_taken_for_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path)
    assert main(["15", *given]) == 0, capsys.readouterr().out


def test_what_is_not_as_expected_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path)
    assert main(["26", *given]) == 1
    assert capsys.readouterr().out == "macos is '15' and not '26'\n"
    wrong = json.loads(Path(given[0]).read_text()) | {"virtual": False, "chip": None, "tier_counts": [4, 4]}
    Path(given[0]).write_text(json.dumps(wrong))
    Path(given[2]).write_text("[]")
    assert main(["15", *given]) == 1
    told = capsys.readouterr().out
    for sentence in (
        "virtual is False and not True",
        "chip is None and no Apple M",
        "the levels [4, 4] are not the 3 cores",
        "tier_counts is [4, 4], and [3] when the bundle is replayed",
        "the doctor finds mps None and not 'problem'",
    ):
        assert sentence in told


def test_the_script_runs_by_itself_and_knows_only_checks_that_exist() -> None:
    assert set(STATES) <= set(CHECKS)
    ended = subprocess.run([sys.executable, ROOT / "tools/expect_mac.py"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "MACOS FINGERPRINT REPLAYED DOCTOR" in ended.stdout
