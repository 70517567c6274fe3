"""The documents beside the code: nothing they point to is missing, and every decision is listed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-DATA.md", "docs/decisions/README.md"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_to_a_file_leads_somewhere(name: str) -> None:
    document = ROOT / name
    links = re.findall(r"\]\((?!https://)([^)#]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_decision_is_listed_and_has_its_three_parts() -> None:
    folder = ROOT / "docs" / "decisions"
    decisions = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    assert sorted(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text())) == decisions
    for name in decisions:
        parts = re.findall(r"^\*\*(\w+)\.\*\*", (folder / name).read_text(), flags=re.MULTILINE)
        assert parts == ["Context", "Choice", "Consequence"], name


def test_the_targets_in_the_readme_exist() -> None:
    known = re.search(r"^TARGETS = (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert known is not None
    for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md"):
        for code in re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)", (ROOT / name).read_text(), flags=re.MULTILINE):
            assert "".join(code) in known[1].split(), name
