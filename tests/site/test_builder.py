"""The whole build: from a database to a folder of finished pages."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import yaml

from metalmark_db.cli import main
from metalmark_db.errors import UsageProblem
from metalmark_site import builder
from metalmark_site.builder import BuildReport, build_site, check_out
from metalmark_site.errors import SiteProblem
from metalmark_site.facts import Facts
from metalmark_site.figures import Figure
from metalmark_site.finish import finish
from metalmark_site.mkdocs import MARK, run_mkdocs, write_config
from metalmark_site.pages import PAGES

ROOT = Path(__file__).parents[2]
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


class Page(HTMLParser):
    """Notes links, elements and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps the element, and its target if it is a link."""
        self.elements.append((tag, dict(attrs)))
        if tag == "a":
            self.links.append(dict(attrs).get("href") or "")


@pytest.fixture(scope="module")
def parsed(pages: dict[str, str]) -> dict[str, Page]:
    """The same pages, parsed."""
    return {path: Page(text) for path, text in pages.items()}


@pytest.fixture(scope="module")
def pages(html: Path) -> dict[str, str]:
    """The text of every finished page, by its path."""
    return {path.relative_to(html).as_posix(): path.read_text(encoding="utf-8") for path in html.rglob("*.html")}


def files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_page_has_the_same_strict_policy_first(pages: dict[str, str]) -> None:
    """Also the page for what is not there; nothing unsafe, no other host."""
    policies = {found[1] for text in pages.values() for found in POLICY.finditer(text)}
    assert len(policies) == 1
    assert all(len(POLICY.findall(text)) == 1 for text in pages.values())
    assert all(text.index("Content-Security-Policy") < text.index("<script") for text in pages.values())
    (policy,) = policies
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_no_placeholder_is_left_and_the_dialogue_has_a_name(pages: dict[str, str], built: BuildReport) -> None:
    """Drawings and tables are in, the note about an unfinished copy is out."""
    assert built.pages == len(pages)
    for text in pages.values():
        assert not re.search(r"<figure[^>]*></figure>", text)
        assert "mm-unfinished" not in text
        assert 'role="dialog" aria-label="Search"' in text


def test_no_page_refers_to_another_host_but_by_links(parsed: dict[str, Page]) -> None:
    """Scripts, styles and pictures are the site's own."""
    for page in parsed.values():
        for tag, attributes in page.elements:
            target = attributes.get("src") or (attributes.get("href") if tag == "link" else None) or ""
            assert not urlsplit(target).netloc
            assert "style" not in attributes


def test_hostile_names_are_text_in_every_page(pages: dict[str, str], parsed: dict[str, Page]) -> None:
    """Names, versions, titles and descriptions of contributed runs become no element, handler or address."""
    for path, text in pages.items():
        for tag, attributes in parsed[path].elements:
            assert not [name for name in attributes if name.startswith("on")]
            assert not (attributes.get("href") or "").startswith("javascript:")
            assert (tag, attributes.get("src")) != ("img", "x")
        assert "<script>alert" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in pages["chips/other/index.html"]
    assert "workloads/hostile/index.html" in pages


def test_every_page_can_be_reached_and_every_link_leads_somewhere(parsed: dict[str, Page], html: Path) -> None:
    """From the home page on, by links alone; pages of chips, workloads and sources are not in the navigation."""
    host = "http://site/"
    known = {urljoin(host, path.removesuffix("index.html")) for path in parsed} - {urljoin(host, "404.html")}
    seen, ahead = set(), [host]
    while ahead:
        here = ahead.pop()
        seen.add(here)
        for link in parsed[f"{here.removeprefix(host)}index.html"].links:
            target = urljoin(here, link).partition("#")[0]
            if target.endswith((".txt", ".json")):
                assert (html / target.removeprefix(host)).is_file()
            elif target.startswith(host):
                assert target in known
                if target not in seen:
                    ahead.append(target)
    assert seen == known


def test_the_reader_gets_a_specification_for_each_drawing(
    html: Path, pages: dict[str, str], built: BuildReport
) -> None:
    """Each drawing names a file that is there."""
    named = set(re.findall(r'data-chart="([a-z0-9-]+)"', "".join(pages.values())))
    assert named == {path.stem for path in (html / "charts").iterdir()}
    assert len(named) == built.drawings
    assert not (html / "assets/metalmark/draw.mjs").exists()


def test_the_search_index_holds_no_tables_of_figures(html: Path) -> None:
    """The theme loads it with every first view, so it must stay small."""
    assert (html / "search" / "search_index.json").stat().st_size < 100_000


def test_a_second_build_replaces_the_first_with_the_same_bytes(facts: Facts, tmp_path: Path) -> None:
    """Same rows, same site; only the compressed site map carries the time of day."""
    small = Facts(results=facts.results, runs=facts.runs, workloads=facts.workloads, chips=facts.chips[:4])
    once = files(build_site(small, tmp_path).out)
    (tmp_path / "html" / "stale.html").touch()
    again = files(build_site(small, tmp_path).out)
    assert once.keys() == again.keys()
    assert [name for name in once if once[name] != again[name] and name != "html/sitemap.xml.gz"] == []


def test_the_command_builds_a_first_site_with_the_published_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first site holds real Macs, and says that nothing is measured yet; its steps are told."""
    with pytest.raises(SystemExit) as end:
        main(["build", "--out", str(tmp_path / "out"), "--db", str(tmp_path / "empty.sqlite")])
    output = capsys.readouterr()
    assert end.value.code in {0, None}
    assert "4,761 published figures" in output.out
    assert output.err.startswith("reading the database ...")
    html = tmp_path / "out" / "html"
    assert "holds no measured run yet" in (html / "index.html").read_text(encoding="utf-8")
    assert (html / "chips/apple-m5-pro/index.html").exists()


def test_a_build_that_fails_leaves_the_old_site(facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the new one is seen before all of it is done, and no working folder stays behind."""
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "404.html").write_text("old", encoding="utf-8")

    def fail(_: Path) -> None:
        raise SiteProblem("no")

    monkeypatch.setattr(builder, "run_mkdocs", fail)
    with pytest.raises(SiteProblem):
        build_site(Facts(chips=facts.chips[:1]), tmp_path)
    assert files(tmp_path) == {"html/404.html": b"old"}


@pytest.mark.parametrize("folder", [ROOT, ROOT / "site", ROOT / "db"])
def test_sources_are_never_built_over(folder: Path, facts: Facts) -> None:
    """`--out site` would put generated pages in the place of the hand-written ones; `--out .` the configuration."""
    if folder.name == "db":
        check_out(folder)  # holds nothing that a build would replace
        return
    with pytest.raises(UsageProblem, match="not made by `metalmark build`"):
        build_site(facts, folder)


def test_the_sources_of_the_site_survive_a_build(built: BuildReport) -> None:
    """MkDocs empties its output folder, which by default would be site/."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert (config["docs_dir"], config["site_dir"]) == ("build/pages", "build/html")
    assert (ROOT / "site" / "metalmark_site" / "builder.py").exists()
    assert (ROOT / "site" / "pages" / "method.md").exists()
    assert not (ROOT / "site" / "index.html").exists()
    assert not (ROOT / "site" / "__init__.py").exists()
    copy = built.out / "mkdocs.yml"
    written = yaml.safe_load(copy.read_text(encoding="utf-8"))
    assert copy.read_text(encoding="utf-8").startswith(MARK)
    assert written["site_dir"] == str(built.out / "html")
    assert written["docs_dir"] == str(built.out / "pages")


def test_a_figure_without_a_place_is_a_fault(built: BuildReport, facts: Facts, tmp_path: Path) -> None:
    """A template that forgets its figure does not lose it in silence."""
    (tmp_path / "index.html").write_text('<meta charset="utf-8">', encoding="utf-8")
    with pytest.raises(SiteProblem, match="lost-figure"):
        finish(tmp_path, [Figure(id="lost-figure", caption="c")], {})


def test_what_mkdocs_complains_about_is_an_error(tmp_path: Path) -> None:
    """A link to a page that is not there stops the build, with MkDocs' own words."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("[lost](nowhere.md)", encoding="utf-8")
    write_config(tmp_path / "mkdocs.yml", tmp_path / "pages", tmp_path / "html")
    with pytest.raises(SiteProblem, match=r"nowhere\.md"):
        run_mkdocs(tmp_path / "mkdocs.yml")


def mkdocs(folder: Path) -> subprocess.CompletedProcess[str]:
    """`mkdocs build --strict` in a folder."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_mkdocs_alone_builds_in_a_fresh_clone(tmp_path: Path) -> None:
    """The only file of build/pages there is .gitkeep."""
    (tmp_path / "mkdocs.yml").write_bytes((ROOT / "mkdocs.yml").read_bytes())
    (tmp_path / "build" / "pages").mkdir(parents=True)
    (tmp_path / "build" / "pages" / ".gitkeep").touch()
    done = mkdocs(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


def test_mkdocs_alone_gives_a_readable_site_that_says_what_it_lacks(built: BuildReport, tmp_path: Path) -> None:
    """From the pages of a build, without drawings, tables and policy."""
    (tmp_path / "mkdocs.yml").write_bytes((ROOT / "mkdocs.yml").read_bytes())
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "pages").symlink_to(built.out / "pages")
    done = mkdocs(tmp_path)
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "build" / "html" / "index.html").read_text(encoding="utf-8")
    assert "This copy was built without its drawings and tables" in home
    assert (tmp_path / "build/html/assets/metalmark/metalmark.css").exists()


def test_a_published_address_enters_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The theme's instant navigation needs it; without one none is invented."""
    monkeypatch.delenv("METALMARK_SITE", raising=False)
    write_config(tmp_path / "a.yml", tmp_path, tmp_path)
    monkeypatch.setenv("METALMARK_SITE", "https://example.org/metalmark/")
    write_config(tmp_path / "b.yml", tmp_path, tmp_path)
    assert (
        yaml.safe_load((tmp_path / "b.yml").read_text(encoding="utf-8"))["site_url"] == "https://example.org/metalmark/"
    )
    assert "example.org" not in (tmp_path / "a.yml").read_text(encoding="utf-8")


def test_two_figures_of_one_name_are_refused(facts: Facts) -> None:
    """Two figures of one name would share files: that is a fault of ours, found before anything is written."""
    figure = next(f for kind in PAGES for c in kind.contents(facts) for f in c.figures)
    with pytest.raises(ValueError, match="share an id"):
        builder._checked([figure, figure])


def test_a_swap_that_is_interrupted_puts_the_old_site_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, work = tmp_path / "out", tmp_path / "work"
    for folder, text in ((out, "old"), (work, "new")):
        for part in ("pages", "html"):
            (folder / part).mkdir(parents=True)
            (folder / part / "index.html").write_text(text)
    rename, calls = Path.rename, iter(range(9))

    def interrupted(self: Path, target: Path) -> Path:
        if next(calls) == 3:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        builder._swap(work, out)
    assert [(out / part / "index.html").read_text() for part in ("pages", "html")] == ["old", "old"]


def test_a_site_of_somebody_else_is_not_replaced_for_its_404_page(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    for name in ("index.html", "404.html"):
        (tmp_path / "html" / name).write_text("mine")
    with pytest.raises(UsageProblem):
        check_out(tmp_path)


def test_a_file_in_the_way_of_the_output_is_a_clear_error(facts: Facts, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/inside"):
        with pytest.raises(UsageProblem, match="file in its way"):
            build_site(facts, tmp_path / place)
