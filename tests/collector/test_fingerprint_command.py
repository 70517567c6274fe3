"""``metalmark fingerprint`` as a person uses it."""

import json
from pathlib import Path

import pytest

from metalmark_collector.commands.fingerprint import fingerprint
from metalmark_db.errors import UsageProblem

M5_MAX = Path(__file__).parents[1] / "data/fixtures/macos/macbookpro-m5max-macos26"


def test_json_is_one_flat_object(capsys: pytest.CaptureFixture[str]) -> None:
    fingerprint(replay=M5_MAX, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["cpu_tiers"] == [{"name": "Super", "cores": 6}, {"name": "Performance", "cores": 12}]
    assert found["rosetta"] is None


def test_a_table_says_unknown_where_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    fingerprint(replay=M5_MAX)
    lines = capsys.readouterr().out.splitlines()
    shown = dict(line.split(maxsplit=1) for line in lines)
    assert shown["chip"].strip() == "Apple M5 Max"
    assert shown["cpu_tiers"].strip() == "Super 6, Performance 12"
    assert (shown["virtual"].strip(), shown["machine_id"].strip()) == ("no", "unknown")


def test_hostile_text_is_neither_markup_nor_a_terminal_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sysctl.txt").write_text("machdep.cpu.brand_string: [red]Apple\x1b[31m M1[/red] \u202eevil\n")
    fingerprint(replay=tmp_path)
    shown = capsys.readouterr().out
    assert "[red]Apple [31m M1[/red]" in shown
    assert "\x1b[31m" not in shown
    assert "\u202e" not in shown


def test_a_missing_folder_is_a_usage_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        fingerprint(replay=tmp_path / "nowhere")


def test_a_folder_without_recorded_outputs_is_a_usage_problem_that_names_some(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("nothing of a machine")
    with pytest.raises(UsageProblem, match=r"sysctl\.txt"):
        fingerprint(replay=tmp_path)


def test_this_machine_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    fingerprint()
    assert "python_version" in capsys.readouterr().out
