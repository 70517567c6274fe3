"""The commands ``build`` and ``serve``: parse, one call, print."""

from pathlib import Path

import pytest

from metalmark_db.cli import main
from metalmark_db.errors import MissingPart
from metalmark_site import data as places
from metalmark_site import parts
from metalmark_site.data import data


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code and output of the program."""
    with pytest.raises(SystemExit) as end:
        main(words)
    output = capsys.readouterr()
    return int(end.value.code or 0), output.out, output.err


def test_build_without_its_packages_says_how_to_get_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One paragraph, its own exit code, nothing written."""
    monkeypatch.setitem(parts.PARTS, "no_such_module", "no-such-package")
    code, _, err = run(capsys, "build", "--out", str(tmp_path / "out"), "--db", str(tmp_path / "a.sqlite"))
    assert code == MissingPart.exit_code
    assert "no-such-package" in err
    assert "pip install 'metalmark[site]'" in err
    assert not (tmp_path / "out").exists()


def test_build_refuses_a_folder_of_sources(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Somebody's own pages are not replaced."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "mine.md").write_text("mine", encoding="utf-8")
    code, _, err = run(capsys, "build", "--out", str(tmp_path), "--db", str(tmp_path / "a.sqlite"))
    assert code == 2
    assert "was not made by `metalmark build`" in err
    assert (tmp_path / "pages" / "mine.md").read_text(encoding="utf-8") == "mine"


def test_serve_before_build_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The error names the command that is missing."""
    code, _, err = run(capsys, "serve", "--out", str(tmp_path), "--no-open")
    assert code == 2
    assert "Run `metalmark build` first" in err


@pytest.mark.parametrize("command", ["build", "serve"])
def test_help_shows_the_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    """Without importing what a build needs."""
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    assert "--out" in out


@pytest.mark.parametrize("name", sorted(places.PLACES))
def test_every_part_is_found_in_the_checkout_and_in_a_package(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's own copy comes first; nothing at all is an error that says what to do."""
    assert data(name) == places.CHECKOUT / places.PLACES[name]
    monkeypatch.setattr(places, "PACKAGED", tmp_path)
    (tmp_path / name).mkdir()
    assert data(name) == tmp_path / name
    monkeypatch.setattr(places, "PACKAGED", tmp_path / "none")
    monkeypatch.setattr(places, "CHECKOUT", tmp_path / "none")
    with pytest.raises(MissingPart, match="are missing"):
        data(name)
