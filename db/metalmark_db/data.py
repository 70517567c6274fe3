"""Where the data that ships with the package lies, in a wheel and in a checkout."""

from pathlib import Path

from .errors import MissingPart

_PACKAGE = Path(__file__).resolve().parent


def data(name: str) -> Path:
    """Path of ``published`` or ``submissions``: inside the installed wheel, else in the checkout.

    Raises:
        MissingPart: neither place has it, which means that the installation is damaged.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.exists():
            return candidate
    raise MissingPart(f"Metalmark's own data folder '{name}' is missing from this installation. Install it again.")
