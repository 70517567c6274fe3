"""What the doctor knows of torch's releases."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_collector.doctor.torch_facts import (
    KNOWN_BROKEN,
    OLDEST,
    known_broken,
    mps_needs,
    newest_for,
    tag_needs,
    tags_of,
)
from metalmark_collector.doctor.versions import Version, dotted, is_release, version
from metalmark_db.record import Machine, Software

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("torch", "macos"),
    [((2, 4, 1), (12, 3)), ((2, 5), (13,)), ((2, 8), (13,)), ((2, 9, 1), (14,)), ((2, 14, 1), (14,))],
)
def test_the_macos_that_mps_needs_follows_the_release(torch: Version, macos: Version) -> None:
    assert mps_needs(torch) == macos


@pytest.mark.parametrize(
    ("macos", "named"),
    [((26, 1), "torch"), ((14,), "torch"), ((13, 7), "torch<2.9"), ((12, 7, 6), "torch<2.5"), ((12, 2), None)],
)
def test_what_to_name_to_pip_is_the_newest_torch_whose_mps_works_there(macos: Version, named: str | None) -> None:
    assert newest_for(macos) == named


def test_the_tags_of_a_wheel_tell_the_macos_that_it_needs() -> None:
    wheel = "Wheel-Version: 1.0\nTag: cp311-cp311-macosx_14_0_arm64\nTag: cp311-cp311-macosx_11_0_arm64\n"
    assert tags_of(wheel) == ("cp311-cp311-macosx_14_0_arm64", "cp311-cp311-macosx_11_0_arm64")
    assert tag_needs(tags_of(wheel)) == (11,)
    assert tag_needs(tags_of("Tag: cp311-cp311-manylinux_2_28_x86_64")) is None
    assert tags_of(None) == ()


def test_the_installed_torch_has_tags_that_can_be_read() -> None:
    assert tags_of(distribution("torch").read_text("WHEEL"))


def test_the_oldest_torch_is_the_one_that_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"torch>={dotted(OLDEST)}" in project["optional-dependencies"]["bench"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("2.14.1+cu130", (2, 14, 1)),
        ("14.0", (14,)),
        ("2.6.0a0+git1eb", (2, 6)),
        ("0", (0,)),
        ("dev", None),
        (None, None),
    ],
)
def test_a_version_is_the_numbers_that_it_begins_with(text: str | None, numbers: Version | None) -> None:
    assert version(text) == numbers


@given(st.text())
def test_no_text_breaks_a_version(text: str) -> None:
    found = version(text)
    assert found is None or (found and all(number >= 0 for number in found))


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("2.14.1", True),
        ("2.11.0+cu130", True),
        ("2.15.0.dev20261001", False),
        ("2.6.0a0+git1eba9b3", False),
        ("2.9.0+gitab", False),
    ],
)
def test_nightlies_and_builds_from_git_are_no_releases(text: str, release: bool) -> None:
    assert is_release(text) is release


def test_every_known_problem_has_a_machine_and_ends_with_its_cure() -> None:
    """It is found from the first version on, and not from the version that has the cure on."""
    for one in KNOWN_BROKEN:
        chip = Machine(chip="Apple M5 Pro")
        there = Software(os_name="macOS", os_version=dotted(one.macos[0]), torch_version=dotted(one.torch[0]))
        assert one in known_broken(chip, there)
        for cured in (
            Software(os_name="macOS", os_version=dotted(one.macos[0]), torch_version=dotted(one.torch[1])),
            Software(os_name="macOS", os_version=dotted(one.macos[1]), torch_version=dotted(one.torch[0])),
            Software(os_name="Linux", os_version=dotted(one.macos[0]), torch_version=dotted(one.torch[0])),
            Software(os_name="macOS", os_version=dotted(one.macos[0])),
        ):
            assert one not in known_broken(chip, cured)
        if one.helps:
            assert one.helps == f"torch>={dotted(one.torch[1])}"


def test_a_problem_of_one_chip_is_not_told_of_another() -> None:
    software = Software(os_name="macOS", os_version="26.4.1", torch_version="2.11.0")
    assert len(known_broken(Machine(chip="Apple M5"), software)) == 2
    assert known_broken(Machine(chip="Apple M4 Max"), software) == ()
    assert known_broken(Machine(), software) == ()
