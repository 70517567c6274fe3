"""The browser of the tests: found where systems keep it, else installed, else asked for."""

from pathlib import Path

import pytest

from tools import browser


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, on a system without browsers, for an administrator with an empty home."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(browser, "program", lambda name: str(tmp_path / f"venv-{name}"))
    return tmp_path


def put(path: Path, script: str = "exit 0") -> None:
    """Makes a program of a line of shell; the outer PATH is empty, so that it names its tools in full."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    "name", ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"]
)
def test_a_browser_on_the_path_is_found(programs: Path, name: str) -> None:
    put(programs / name)
    assert browser.find_browser() == str(programs / name)


@pytest.mark.parametrize("name", ["Google Chrome", "Chromium", "Microsoft Edge"])
def test_the_application_of_a_mac_is_found(programs: Path, name: str) -> None:
    app = programs / "Applications" / f"{name}.app" / "Contents" / "MacOS" / name
    put(app)
    assert browser.find_browser() == str(app)


def test_debians_package_is_installed_after_its_lists_are_brought_up_to_date(programs: Path) -> None:
    lists, chromium = programs / "lists", programs / "chromium"
    install = f"[ -e {lists} ] && : >{chromium} && /bin/chmod +x {chromium}"
    put(programs / "apt-get", f'case "$1" in update) : >{lists};; install) {install};; esac')
    browser.set_up_browser()
    assert browser.find_browser() == str(chromium)


def test_playwrights_own_is_installed_where_the_system_offers_none(programs: Path) -> None:
    put(programs / "venv-python", f'echo "$@" >{programs / "asked"}')
    browser.set_up_browser()
    assert (programs / "asked").read_text() == "-m playwright install chromium\n"


def test_without_any_browser_one_paragraph_says_what_to_install(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(programs / "venv-python", "echo no network; exit 1")
    with pytest.raises(SystemExit) as stopped:
        browser.set_up_browser()
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert "no network" in said
    assert "apt install chromium" in said
