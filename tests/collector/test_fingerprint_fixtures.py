"""Recorded machines: whatever their files tell, the fingerprint tells, and nothing else."""

import json
from pathlib import Path

import pytest
from metalmark_collector.fingerprint import fingerprint, read_conditions, read_machine, read_software, replay_probe
from metalmark_collector.fingerprint.collect_env import parse
from metalmark_db.record import Conditions, Machine, Software

FIXTURES = Path(__file__).parents[1] / "data/fixtures"
MACHINES = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
REPORTS: dict[str, dict[str, object]] = json.loads((FIXTURES / "collect_env/expected.json").read_text())


@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_every_expected_value_of_a_recorded_machine_is_read(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    found = fingerprint(replay_probe(folder))
    assert {key: found[key] for key in expected} == expected


def test_all_recorded_machines_are_tried() -> None:
    assert len(MACHINES) >= 40
