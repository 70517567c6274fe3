"""Whether Metalmark takes GitHub's macOS runner for what it is: a virtual Mac with an Apple chip.

    python tools/expect_mac.py MACOS FINGERPRINT REPLAYED DOCTOR

MACOS is the major version that the runner is meant to have; the others are files that `metalmark fingerprint --json`,
the same with `--replay` of the doctor's bundle, and `metalmark doctor --json` printed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WORDS = 4
# Told by the hardware and the installed software, so that a replay has to tell the same.
LASTING = ("chip", "model", "tier_counts", "memory_bytes", "virtual", "arch", "rosetta", "os_build", "torch_version")
STATES = {
    "virtual-machine": "warning",
    "python": "ok",
    "torch": "ok",
    "libraries": "ok",
    "macos": "ok",
    "cpu": "ok",
    "mps": "problem",
    "compile": "ok",
    "disk": "ok",
    "machine-id": "ok",
}


def unmet(
    macos: str, found: Mapping[str, Any], replayed: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """The expectations that are not met, as sentences."""
    told = {**found, "macos": str(found.get("os_version")).partition(".")[0]}
    expected = {
        "os_name": "macOS",
        "macos": macos,
        "vendor": "apple",
        "arch": "arm64",
        "process_arch": "arm64",
        "rosetta": False,
        "virtual": True,
        "machine_id": None,
        "gpu_cores": None,
    }
    for key, value in expected.items():
        if told.get(key) != value:
            yield f"{key} is {told.get(key)!r} and not {value!r}"
    if not str(found.get("chip")).startswith("Apple M"):
        yield f"chip is {found.get('chip')!r} and no Apple M"
    if sum(found.get("tier_counts") or ()) != found.get("cpu_cores"):
        yield f"the levels {found.get('tier_counts')!r} are not the {found.get('cpu_cores')!r} cores"
    for key in (
        "cpu_cores",
        "memory_bytes",
        "os_build",
        "kernel",
        "torch_version",
        "load_1m",
        "memory_available_bytes",
    ):
        if not found.get(key):
            yield f"{key} is {found.get(key)!r}"
    for key in LASTING:
        if found.get(key) != replayed.get(key):
            yield f"{key} is {found.get(key)!r}, and {replayed.get(key)!r} when the bundle is replayed"
    yield from _unmet_states(findings)


def _unmet_states(findings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    states = {finding["check"]: finding["state"] for finding in findings}
    for check, state in STATES.items():
        if states.get(check) != state:
            yield f"the doctor finds {check} {states.get(check)!r} and not {state!r}"


def main(words: Sequence[str]) -> int:
    """Prints what is not met; the exit status says whether all is."""
    if len(words) != WORDS:
        print(__doc__)
        return 2
    macos, *files = words
    found, replayed, findings = (json.loads(Path(file).read_text(encoding="utf-8")) for file in files)
    problems = list(unmet(macos, found, replayed, findings))
    print("\n".join(problems) or "The runner is taken for what it is.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
