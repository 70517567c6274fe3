"""What each workload was when its version was set, and what it is now.

Called without words it says what has changed and gives 1 if anything has. ``--pin`` pins new workloads and new
versions; with ``--same-work`` also those of which only the writing has changed. ``--file`` names another file.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from metalmark_collector.spec import spec_digest
from metalmark_collector.workloads import WORKLOADS

FILE = Path(__file__).parents[1] / "data" / "workloads.json"
COMMAND = ".venv/bin/python tests/collector/pin_workloads.py --pin"
Pins = dict[str, dict[str, Any]]  # by id: version and digest


def main() -> int:
    """Prints what has changed, and pins it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--same-work", action="store_true")
    parser.add_argument("--file", type=Path, default=FILE)
    given = parser.parse_args()
    pinned: Pins = json.loads(given.file.read_text(encoding="utf-8")) if given.file.exists() else {}
    now = {name: {"version": one.facts.version, "digest": spec_digest(one)} for name, one in WORKLOADS.items()}
    kept = _kept(pinned, now, same_work=given.same_work) if given.pin else pinned
    if given.pin:
        given.file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    told = _told(kept, now)
    print("\n".join(told))  # noqa: T201
    return int(bool(told))


def _kept(pinned: Pins, now: Pins, *, same_work: bool) -> Pins:
    """What is pinned from now on: a workload that changed under its version stays as it was, unless told otherwise."""
    return {
        name: pinned[name] if name in pinned and pinned[name]["version"] >= one["version"] and not same_work else one
        for name, one in now.items()
    }


def _told(pinned: Pins, now: Pins) -> list[str]:
    """What has changed since, and what to do."""
    changed = [name for name in now if name in pinned and now[name]["version"] == pinned[name]["version"]]
    changed = [name for name in changed if now[name]["digest"] != pinned[name]["digest"]]
    lowered = [name for name in now if name in pinned and now[name]["version"] < pinned[name]["version"]]
    raised = [name for name in now if name in pinned and now[name]["version"] > pinned[name]["version"]]
    groups = {
        "What decides their cost has changed under the same version. If an iteration can cost something else now, "
        "raise their version, so that old results are not taken for new ones, and pin it. If only the writing has "
        f"changed, pin them again: {COMMAND} --same-work": changed,
        "Their version is lower than one that was pinned, and results of that one may exist: raise it.": lowered,
        f"They have a new version; pin it: {COMMAND}": raised,
        f"They are new; pin them: {COMMAND}": [name for name in now if name not in pinned],
        f"They are pinned and no longer in the suite. If that is meant, pin the suite without them: {COMMAND}": [
            name for name in pinned if name not in now
        ],
    }
    return [f"{', '.join(names)}: {todo}" for todo, names in groups.items() if names]


if __name__ == "__main__":
    sys.exit(main())
