"""A person's own workloads, from a Python file: read, checked, and marked so that none can be taken for the suite's."""

import contextlib
import hashlib
import importlib.util
import itertools
import math
import re
import sys
import traceback
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from metalmark_db.errors import UsageProblem
from metalmark_db.record import Workload
from metalmark_db.terminal import harmless

from .workloads import WORKLOADS
from .workloads.base import Entry

PREFIX = "own-"
SOURCE = "plugin"  # of the facts of every such workload ...
FLAG = "plugin"  # ... and on each of its cases
_LONGEST = 300  # characters of an error
_MOST = 1000  # workloads of one file
_LONGEST_NAME = 60 - len(PREFIX)
_NAME = re.compile(rf"[a-z0-9-]{{2,{_LONGEST_NAME}}}")
_HOW = "The page own-workloads of the site has an example."

# What this process was told to measure beside the suite: filled once, where the command or the worker's task begins.
_OWN: dict[str, Entry] = {}
_FILES: dict[str, Path] = {}
# Every workload that a case of a run can be of; the suite alone is ``WORKLOADS``.
KNOWN: Mapping[str, Entry] = ChainMap(_OWN, dict(WORKLOADS))


def is_own(workload: str) -> bool:
    """Whether a workload comes from somebody's own file; none of the suite is called so."""
    return workload.startswith(PREFIX)


def file_of(workload: str) -> Path | None:
    """The file that an own workload comes from; None for those of the suite."""
    return _FILES.get(workload)


def add(files: Iterable[Path]) -> tuple[str, ...]:
    """Make the workloads of these files known to this process; gives their ids.

    Raises:
        UsageProblem: a file cannot be read, or what it defines is no list of workloads.
    """
    names: list[str] = []
    for file in dict.fromkeys(one.absolute() for one in files):
        for entry in load(file):
            name = entry.facts.id
            if _FILES.get(name, file) != file:
                raise UsageProblem(
                    f"Both {_FILES[name]} and {file} define the workload {name}. Rename it in one of them."
                )
            _OWN[name], _FILES[name] = entry, file
            names.append(name)
    return tuple(names)


def load(file: Path) -> tuple[Entry, ...]:
    """The workloads that a file defines, checked and marked as own ones; nothing else gets to know them.

    Raises:
        UsageProblem: the file cannot be read, or what it defines is no list of workloads.
    """
    entries = _entries(_module(file), file)
    marked = tuple(_marked(one, f"ENTRIES[{place}] of {file}") for place, one in enumerate(entries))
    names = [one.facts.id for one in marked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageProblem(f"ENTRIES of {file} defines {twice} more than once. Give each workload a name of its own.")
    return marked


def _module(file: Path) -> ModuleType:
    """The file, run; what it prints goes to standard error, since standard output belongs to the command's answer."""
    if not file.is_file():
        raise UsageProblem(f"There is no file {file}. Give --plugin the path of a Python file.")
    name = f"metalmark_plugin_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"  # no other module is called so
    spec = importlib.util.spec_from_file_location(name, file) if file.suffix == ".py" else None
    if spec is None or spec.loader is None:
        raise UsageProblem(f"{file} is no Python file: its name has to end in .py. {_HOW}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # it may import its neighbours, which cannot stand in for anybody else's
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageProblem(_raised(file, error)) from error
    return module


def _raised(file: Path, error: BaseException) -> str:
    """What went wrong while the file ran, and in which of its lines."""
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    is_python = bool(frames) or not isinstance(error, SyntaxError | ValueError)
    line = error.lineno if isinstance(error, SyntaxError) and not frames else (frames or [None])[-1]
    said = str(error.msg if isinstance(error, SyntaxError) else error).strip().partition("\n")[0]
    told = harmless(f"{type(error).__name__}: {said}"[:_LONGEST])
    problem = "raises while it is read" if is_python else "is not Python"
    return f"{file} {problem}{f' (line {line})' if line else ''}: {told}. Mend it and give the same command again."


def _entries(module: ModuleType, file: Path) -> Sequence[Entry]:
    found: Any = getattr(module, "ENTRIES", None)
    if found is None:
        raise UsageProblem(f"{file} defines no ENTRIES, the tuple of its workloads. {_HOW}")
    if isinstance(found, Entry) or not isinstance(found, Iterable):
        raise UsageProblem(
            f"ENTRIES of {file} is of type {type(found).__name__}, and has to be a tuple of Entry. {_HOW}"
        )
    entries = tuple(itertools.islice(found, _MOST + 1))  # a generator may have no end
    if not entries:
        raise UsageProblem(f"ENTRIES of {file} is empty. {_HOW}")
    if len(entries) > _MOST:
        raise UsageProblem(f"ENTRIES of {file} has more than {_MOST} workloads. Divide it into several files.")
    for place, one in enumerate(entries):
        if not isinstance(one, Entry):
            raise UsageProblem(
                f"ENTRIES[{place}] of {file} is of type {type(one).__name__}, and has to be an Entry, as "
                f"Family.variant and operation make it. {_HOW}"
            )
    return entries


def _marked(entry: Entry, place: str) -> Entry:
    """The entry as an own one, with facts that the database takes."""
    facts = entry.facts
    named = {"id": facts.id, "family": facts.family or facts.id}
    for what, name in named.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name.removeprefix(PREFIX)):
            raise UsageProblem(
                f"{place} has the {what} {name!r}. Use 2 to {_LONGEST_NAME} small letters, digits and hyphens; "
                f"Metalmark puts {PREFIX} before them."
            )
        named[what] = f"{PREFIX}{name.removeprefix(PREFIX)}"
    facts = msgspec.structs.replace(facts, source=SOURCE, **named)
    for name in ("items_per_iteration", "flops_per_iteration", "bytes_per_iteration", "parameters"):
        number = getattr(facts, name)
        if isinstance(number, int | float) and not 0 <= number < math.inf:  # NaN is neither
            raise UsageProblem(f"{place} has {number} as its {name}. Give a finite number, or leave it out.")
    try:
        msgspec.convert(msgspec.to_builtins(facts), Workload)
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageProblem(f"{place} has facts of a wrong kind: {error}. {_HOW}") from error
    lacking = {one.value for some in entry.precisions.values() for one in some if one not in entry.tolerances}
    if lacking:
        raise UsageProblem(f"{place} has no tolerance for {', '.join(sorted(lacking))}. Give one in `tolerances`.")
    return replace(entry, facts=facts)
