"""Where the site's own files lie: inside an installed package or, in a checkout, in the top-level folders."""

from pathlib import Path

from metalmark_db.errors import MissingPart

PACKAGED = Path(__file__).parent / "_data"
CHECKOUT = Path(__file__).parents[2]

# Name in the package -> place in a checkout. Nothing else knows either.
PLACES = {
    "templates": "templates",
    "pages": "site/pages",
    "assets": "site/assets/dist",
    "mkdocs.yml": "mkdocs.yml",
}


def data(name: str) -> Path:
    """The path of a part of the site: ``templates``, ``pages``, ``assets`` or ``mkdocs.yml``."""
    for path in (PACKAGED / name, CHECKOUT / PLACES[name]):
        if path.exists():
            return path
    hint = "python -m metalmark_site.assets" if name == "assets" else "pip install --force-reinstall metalmark"
    raise MissingPart(f"The site's {name} are missing: looked for {PACKAGED / name} and {path}. Run `{hint}`.")


def asset(name: str) -> Path:
    """The path of one built asset, such as ``draw.mjs``."""
    path = data("assets") / name
    if not path.exists():
        raise MissingPart(f"The built asset {path} is missing. Run `python -m metalmark_site.assets` in the checkout.")
    return path
