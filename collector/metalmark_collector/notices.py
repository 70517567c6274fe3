"""What a person is told after a run, beside its table."""

from metalmark_db.output import console
from metalmark_db.terminal import harmless
from metalmark_db.words import Outcome

from .sitting import Sitting


def after(sitting: Sitting) -> None:
    """Say on standard error what did not work and what to do next."""
    screen = console(stderr=True)
    for device, why in sorted({(c.device, c.detail) for c in sitting.cases if c.outcome is Outcome.NO_BACKEND}):
        screen.print(f"{device} was not measured: {harmless(why)} The CPU's rows are the CPU's alone.", soft_wrap=True)
    if not sitting.finished:
        measured = sum(c.outcome is Outcome.OK for c in sitting.cases)
        screen.print(f"Interrupted: the {measured} cases measured so far are stored as run {sitting.run_id}.")
    screen.print(
        f"Stored as run {sitting.run_id}. Look at it again: metalmark show {sitting.run_id}. "
        "Build the site: metalmark build; see it: metalmark serve.",
        soft_wrap=True,
    )
