"""A folder that says all that was seen of a machine, for a bug report; `fingerprint --replay` reads it."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from metalmark_db.errors import UsageProblem
from metalmark_db.output import say

from ..fingerprint import Probe
from ..fingerprint.sources import SOURCES
from ..scrub import cover
from . import checks
from .finding import Finding
from .redact import redact
from .show import as_json
from .sight import Sight

_FINDINGS = "doctor.json"
_README = "README.txt"
_NAMES = {"uname": "uname_mrsv.txt"}  # the others go by the first of their recorded names


def make_new(folder: Path) -> None:
    """Make the folder of a bundle, before the machine is looked at: what cannot be written is said at once.

    Raises:
        UsageProblem: something is there already, which is neither overwritten nor mixed with this.
    """
    is_free = not any(folder.iterdir()) if folder.is_dir() else not (folder.exists() or folder.is_symlink())
    if not is_free:
        raise UsageProblem(f"{folder} is there already. --bundle makes a new folder: give it a name that is not taken.")
    folder.mkdir(parents=True, exist_ok=True)


def write(folder: Path, probe: Probe, sight: Sight) -> None:
    """Write every output that the probe has, redacted, with the findings and a text that says what this is."""
    outputs = recorded(probe)
    # Which programs run here, and which other runs come from here, explains nothing to others.
    findings = [covered(one) for one in checks.examine(msgspec.structs.replace(sight, busy=(), reporter=None))]
    for name, text in outputs.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / _FINDINGS).write_text(as_json(findings) + "\n", encoding="utf-8")
    (folder / _README).write_text(_readme(outputs), encoding="utf-8")


def recorded(probe: Probe) -> dict[str, str]:
    """File names and redacted texts of all sources that gave something."""
    texts = ((source, probe.text(source)) for source in SOURCES)
    return {file_name(source): redact(source, text) for source, text in texts if text is not None}


def file_name(source: str) -> str:
    """The name under which a replay looks for the output of a source."""
    return _NAMES.get(source, SOURCES[source].recorded[0])


def announce(folder: Path) -> None:
    """Say on standard error what was written."""
    say(
        f"The outputs are in {folder}, without names, addresses and serial numbers as far as these are known. "
        "Look through the files before you share them.",
        stderr=True,
    )


def covered(finding: Finding) -> Finding:
    """The finding without names and paths."""
    remedy = None if finding.remedy is None else cover(finding.remedy)
    return msgspec.structs.replace(finding, what=cover(finding.what), remedy=remedy)


def _readme(names: Iterable[str]) -> str:
    listed = "\n".join(f"  {name}" for name in sorted(names))
    return f"""What Metalmark's doctor saw of a machine, for a bug report.

{_FINDINGS} holds its findings. The other files hold what the system's own commands and files said,
by allow-list: what is not needed was left out or replaced by "removed", and user name, host name,
paths, addresses, serial numbers and other identifiers were covered as far as they are known.

Look through all of it before you share it: you know best what is yours alone. To see what
Metalmark makes of these files, on any machine:

  metalmark fingerprint --replay FOLDER

The outputs:
{listed}
"""
