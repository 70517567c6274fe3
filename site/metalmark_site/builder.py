"""From a database to a finished site: facts, pages, drawings, MkDocs, finishing step, swap."""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from metalmark_db import addresses, document
from metalmark_db.errors import UsageProblem

from .data import data
from .draw import Drawing, draw
from .facts import Facts, read_facts
from .figures import Figure
from .finish import ASSETS, copy_assets, finish
from .mkdocs import MARK, run_mkdocs, write_config
from .page import Content
from .pages import PAGES
from .render import markdown, templates

Say = Callable[[str], None]
PARTS = ("pages", "html")
# MkDocs copies these itself, so that `mkdocs build` alone looks like the site.
SHARED = ("metalmark.css", "loader.js", "logo.svg", "icon.svg", "licences.txt")


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """What a build made."""

    out: Path
    pages: int
    drawings: int
    runs: int
    published: int


def build(engine: sa.Engine, out: Path, say: Say = lambda _: None) -> BuildReport:
    """The report of a site built from the database into ``out``/html; an older site stays until this one is done."""
    say("reading the database")
    return build_site(read_facts(engine), out, say)


def build_site(facts: Facts, out: Path, say: Say = lambda _: None) -> BuildReport:
    """The report of a site built from these facts."""
    out = out.resolve()  # MkDocs runs in a folder of its own
    if any(part.is_file() for part in (out, *out.parents)):
        raise UsageProblem(f"{out} cannot be a folder: there is a file in its way. Choose another with --out.")
    check_out(out)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=out) as name:
        work = Path(name)
        figures = write_pages(facts, work / "pages", say)
        drawings = draw_all(figures, say)
        say("running MkDocs")
        write_config(work / "mkdocs.yml", work / "pages", work / "html")
        run_mkdocs(work / "mkdocs.yml")
        say("putting in drawings, tables and the policy")
        count = finish(work / "html", figures, drawings)
        _swap(work, out)
    return BuildReport(
        out=out, pages=count, drawings=len(drawings), runs=len(facts.runs), published=len(facts.published)
    )


def check_out(out: Path) -> None:
    """Nothing, if ``out`` may be written to; an error if a folder there is not a build's."""
    config = out / "mkdocs.yml"
    if config.exists() and config.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        return
    # MkDocs alone, run in a checkout, leaves a 404 page: that is no source either.
    foreign = [out / part for part in PARTS if _filled(out / part) and not _only_404(out / part)]
    foreign += [config] if config.exists() else []
    if foreign:
        raise UsageProblem(
            f"{foreign[0]} was not made by `metalmark build`, which would replace it. "
            "Choose an empty folder with --out, or remove it first."
        )


def _only_404(html: Path) -> bool:
    return (html / "404.html").exists() and not (html / "index.html").exists()


def _filled(folder: Path) -> bool:
    return folder.is_dir() and any(entry.name != ".gitkeep" for entry in folder.iterdir())


def write_pages(facts: Facts, folder: Path, say: Say) -> list[Figure]:
    """The figures of all pages, whose Markdown lies in ``folder`` now."""
    say("writing the pages")
    shutil.copytree(data("pages"), folder)
    (folder / "data").mkdir()
    (folder / "data" / "document.schema.json").write_bytes(document.schema())
    (folder / ".gitkeep").touch()  # a checkout keeps its empty folder of pages by it
    copy_assets(folder / ASSETS, SHARED)
    environment = templates()
    shared = {"repository": addresses.repository()}
    figures: list[Figure] = []
    for kind in PAGES:
        for content in kind.contents(facts):
            _write(folder / content.path, markdown(environment, kind.template, content, **shared))
            figures += content.figures
    return _checked(figures)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _checked(figures: list[Figure]) -> list[Figure]:
    names = [figure.id for figure in figures]
    if len(set(names)) != len(names):
        raise ValueError(f"two figures share an id: {sorted({n for n in names if names.count(n) > 1})}")
    return figures


def draw_all(figures: Iterable[Figure], say: Say) -> dict[str, Drawing]:
    """The drawings of all figures, wide and narrow."""
    specs = [
        (name, figure.plot.spec(size))
        for figure in figures
        if figure.plot
        for size, name in figure.drawing_ids().items()
    ]
    say(f"drawing {len(specs)} charts")
    return draw(specs)


def _swap(work: Path, out: Path) -> None:
    """The new folders in the place of the old ones, which go with the working folder."""
    moved: list[tuple[Path, Path]] = []
    try:
        for part in PARTS:
            if (out / part).exists():
                moved.append(((out / part).rename(work / f"old-{part}"), out / part))
            moved.append(((work / part).rename(out / part), work / part))
    except BaseException:  # an interruption too: the old site is put back
        for now, before in reversed(moved):
            now.rename(before)
        raise
    write_config(out / "mkdocs.yml", out / "pages", out / "html")


__all__ = ["BuildReport", "Content", "build", "build_site"]
