"""The finishing step: MkDocs has written the pages, now drawings, tables, names and the policy go in."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from .csp import policy, with_policy
from .data import data
from .draw import Drawing
from .errors import SiteProblem
from .figures import Figure, figure_html

ASSETS = Path("assets", "metalmark")
CHARTS = "charts"
# What goes to the reader; draw.mjs is Node's and stays behind.
SERVED = ("loader.js", "interactive.js", "metalmark.css", "logo.svg", "icon.svg", "licences.txt")

_PLACEHOLDER = re.compile(r'<figure id="([a-z0-9-]+)" data-search-exclude(?:="")?></figure>')
_UNFINISHED = re.compile(r'<p class="mm-unfinished">.*?</p>\s*', re.DOTALL)
_SEARCH = re.compile(r'<div class="md-search" data-md-component="search" role="dialog"(?! aria-label)')


def finish(html: Path, figures: Iterable[Figure], drawings: Mapping[str, Drawing]) -> int:
    """The number of pages in ``html``, all of them finished now."""
    known = {figure.id: figure for figure in figures}
    used: set[str] = set()

    def fill(found: re.Match[str]) -> str:
        used.add(found[1])
        return figure_html(known[found[1]], drawings)

    paths = sorted(html.rglob("*.html"))
    frames = {path: _named(path.read_text(encoding="utf-8")) for path in paths}
    text = policy(frames.values())
    for path, frame in frames.items():
        path.write_text(with_policy(_PLACEHOLDER.sub(fill, frame), text), encoding="utf-8", newline="\n")
    if lost := known.keys() - used:
        raise SiteProblem(f"The figures {', '.join(sorted(lost))} have no place in any page. Check the templates.")
    _write_charts(html / CHARTS, drawings)
    copy_assets(html / ASSETS, SERVED)
    return len(paths)


def _named(page: str) -> str:
    """The page without the note that it is unfinished, and with a name for the search dialogue."""
    return _SEARCH.sub(lambda found: f'{found[0]} aria-label="Search"', _UNFINISHED.sub("", page))


def _write_charts(folder: Path, drawings: Mapping[str, Drawing]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings.items():
        (folder / f"{name}.json").write_bytes(drawing.vega)


def copy_assets(folder: Path, names: Iterable[str]) -> None:
    """Copies of these built assets in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes((data("assets") / name).read_bytes())
