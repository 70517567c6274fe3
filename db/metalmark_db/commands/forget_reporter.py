"""``metalmark forget-reporter``: from now on, this computer is another one."""

from .. import reporter
from ..output import say


def forget_reporter() -> None:
    """Replace the random value that tells this computer's runs from those of others.

    Runs that are stored or handed in keep the reporter that they carry; runs to come have another one,
    and nobody can tell that both are from one computer. To leave it out altogether: metalmark run --no-reporter
    """
    reporter.forget()
    say(
        "This computer has a new reporter: nobody can tell that runs to come are from the computer of earlier ones. "
        "Runs that are stored or handed in already keep the old one."
    )
