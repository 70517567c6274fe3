"""``metalmark doctor``: whether this machine can be measured well, and what to do where not."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from metalmark_db.output import console

from .. import doctor as checks
from ..doctor.bundle import announce, covered, make_new, write
from ..doctor.observe import Tell
from ..doctor.show import as_json as to_json
from ..doctor.show import show
from ..fingerprint import local_probe
from ..fingerprint.probe import Remembered


def doctor(
    bundle: Annotated[
        Path | None,
        typer.Option(help="Keep what was read, without names and serial numbers, in this new folder."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of {check, state, what, remedy}.")] = False,
) -> None:
    """Say whether this machine can be measured well, why not, and what to do.

    Each line is ok, a warning or a problem. The exit code is 0 if all is ok, 1 if something spoils numbers,
    2 if something cannot be measured. Nothing is stored and nothing is sent anywhere.

    Examples: metalmark doctor; metalmark doctor --bundle for-the-report
    """
    if bundle is not None:
        make_new(bundle)
    probe = Remembered(local_probe())
    with _telling() as tell:
        sight = checks.observe(probe, tell)
    findings = checks.examine(sight)
    if as_json:
        print(to_json([covered(one) for one in findings]))  # noqa: T201
    else:
        show(findings)
    if bundle is not None:
        write(bundle, probe, sight)
        announce(bundle)
    if code := checks.exit_code(findings):
        raise typer.Exit(code)


@contextlib.contextmanager
def _telling() -> Iterator[Tell]:
    """Says on a terminal what is being done; a pipe and a log are spared it."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield lambda _: None
        return
    with screen.status("") as status:
        yield status.update
