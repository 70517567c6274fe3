"""Recorded machines: whatever their files tell, the fingerprint tells, and nothing else."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from metalmark_collector.fingerprint import fingerprint, read_conditions, read_machine, read_software, replay_probe
from metalmark_collector.fingerprint.collect_env import parse
from metalmark_collector.fingerprint.readers import CONDITIONS, EXTRA, MACHINE, SOFTWARE
from metalmark_db.record import Conditions, Machine, Software

FIXTURES = Path(__file__).parents[1] / "data/fixtures"
MACHINES = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
REPORTS: dict[str, dict[str, object]] = json.loads((FIXTURES / "collect_env/expected.json").read_text())
KEY_ROW = re.compile(r"^\| ([a-z_]+(?:, [a-z_]+)*) \| ", re.MULTILINE)


@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_every_expected_value_of_a_recorded_machine_is_read(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text())
    found = fingerprint(replay_probe(folder))
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_every_recorded_machine_fits_the_types_of_a_record(folder: Path) -> None:
    probe = replay_probe(folder)
    for value in (read_machine(probe), read_software(probe), read_conditions(probe)):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


def test_all_recorded_machines_are_tried() -> None:
    assert len(MACHINES) >= 42


def test_every_documented_key_is_there_even_for_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    found = fingerprint(replay_probe(tmp_path))
    rows = KEY_ROW.findall((FIXTURES / "README.md").read_text())
    documented = {key for row in rows for key in row.split(", ")} - {"key"}
    assert len(documented) > 20
    assert documented <= set(found)
    assert {key: value for key, value in found.items() if value is not None} == {"environment": {}}


def test_every_field_has_a_reader() -> None:
    tables = ((Machine, MACHINE), (Software, SOFTWARE), (Conditions, CONDITIONS))
    for struct, readers in tables:
        assert set(readers) == set(struct.__struct_fields__)


def test_an_extra_key_never_hides_a_field() -> None:
    assert not set(EXTRA) & {*MACHINE, *SOFTWARE, *CONDITIONS}


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_a_report_of_collect_env_tells_its_versions(name: str) -> None:
    report = parse((FIXTURES / "collect_env" / name).read_text())
    assert {key: getattr(report, key) for key in REPORTS[name]} == REPORTS[name]


def test_a_report_of_collect_env_is_a_source_of_a_recorded_machine(tmp_path: Path) -> None:
    (tmp_path / "collect_env.txt").write_bytes((FIXTURES / "collect_env/002.txt").read_bytes())
    software = read_software(replay_probe(tmp_path))
    assert (software.os_version, software.process_arch, software.rosetta) == ("15.3", "x86_64", True)
    assert software.torch_version == "2.6.0a0+git1eba9b3"
    assert read_machine(replay_probe(tmp_path)).arch == "arm64"
