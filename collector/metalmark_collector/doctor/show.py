"""The findings on a terminal, in a pipe, and as JSON."""

import json
from collections import Counter
from collections.abc import Sequence

import msgspec
from rich.table import Table
from rich.text import Text

from metalmark_db.output import command, console, say
from metalmark_db.terminal import harmless

from .finding import Finding, State

_STYLES = {State.OK: "green", State.WARNING: "yellow", State.PROBLEM: "bold red"}


def show(findings: Sequence[Finding]) -> None:
    """Each finding with its remedy below it, and what they come to; in a pipe each finding is one line."""
    screen = console()
    if screen.is_terminal:
        screen.print(_table(findings))
    else:
        for finding in findings:
            words = [finding.state.value, f"{finding.check}:", finding.what, finding.remedy or ""]
            print(harmless(" ".join(words)).strip())  # noqa: T201
    say(summary(findings))


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects with check, state, what and remedy."""
    return json.dumps(msgspec.to_builtins(findings), indent=1, ensure_ascii=False)


def summary(findings: Sequence[Finding]) -> str:
    """How many warnings and problems there are, and what follows from that."""
    counts = Counter(finding.state for finding in findings)
    warnings, problems = counts[State.WARNING], counts[State.PROBLEM]
    run = command("run", takes_db=False)
    told = " and ".join(_counted(n, word) for n, word in ((problems, "problem"), (warnings, "warning")) if n)
    if problems:
        return f"{told}: not everything can be measured on this machine as it is."
    if warnings:
        return f"{told}: this machine can be measured ({run}), better after the remedies above."
    return f"All is well; measure this machine with: {run}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _table(findings: Sequence[Finding]) -> Table:
    """Two columns only, so that a narrow terminal leaves room for words."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        said = Text.assemble((f"{finding.check}:", "bold"), " ", harmless(finding.what))
        table.add_row(Text(finding.state.value, _STYLES[finding.state]), said)
        if finding.remedy is not None:
            table.add_row(Text(""), Text(f"→ {harmless(finding.remedy)}", "cyan"))
    return table
