"""Warnings before a run: what spoils numbers, what to do, and never a false alarm."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalmark_collector import preflight
from metalmark_collector.busy import Busy, busiest
from metalmark_collector.preflight import Kind, concerns
from metalmark_db.record import Conditions, Machine, Software

MAC = Machine(vendor="apple", chip="Apple M1", cpu_cores=8, virtual=False)
QUIET = Conditions(
    power_source="ac",
    power_mode="automatic",
    low_power_mode=False,
    thermal_state="Nominal",
    cpu_speed_limit=100,
    swap_used_bytes=100 * 2**20,
    load_1m=1.9,
    niceness=0,
)

# What spoils the numbers, the kind of it, and a word of what to do.
SPOILED = [
    (Machine(virtual=True), Software(), Conditions(), Kind.VIRTUAL, "machine itself"),
    (MAC, Software(rosetta=True), QUIET, Kind.ROSETTA, "metalmark/bin/metalmark run"),
    (MAC, Software(torch_debug=True), QUIET, Kind.DEBUG_BUILD, "pip install"),
    (MAC, Software(environment={"OMP_NUM_THREADS": "1"}), QUIET, Kind.ENVIRONMENT, "unset OMP_NUM_THREADS"),
    (MAC, Software(), Conditions(power_source="battery"), Kind.BATTERY, "Plug it in"),
    (MAC, Software(), Conditions(low_power_mode=True), Kind.LOW_POWER, "Never"),
    (MAC, Software(), Conditions(thermal_state="Heavy"), Kind.HEAT, "lid open"),
    (MAC, Software(), Conditions(cpu_speed_limit=60), Kind.HEAT, "ten minutes"),
    (MAC, Software(), Conditions(load_1m=2.1), Kind.LOAD, "Quit them"),
    (MAC, Software(), Conditions(swap_used_bytes=12 * 2**30), Kind.SWAP, "restart"),
    (MAC, Software(), Conditions(niceness=10), Kind.NICE, "without nice"),
    (MAC, Software(), Conditions(niceness=0, qos="background"), Kind.NICE, "terminal of its own"),
    (MAC, Software(), Conditions(gpu_users=1), Kind.LOAD, "nvidia-smi"),
    (MAC, Software(), Conditions(gpu_users=3), Kind.LOAD, "nvidia-smi"),
]

# ps on macOS: paths with spaces, another user's hostile name, and what ps itself takes.
PS_OF_A_MAC = """\
  501  83.1 /Applications/Google Chrome.app/Contents/MacOS/Google Chrome Helper
  502  10.0 /Applications/Google Chrome.app/Contents/MacOS/Google Chrome Helper
  88   60.0 /System/Library/Frameworks/CoreServices.framework/mds_stores
  666  12.5 /tmp/[bold red]\x1b]0;owned\x07rm -rf
  777  97.0 ps
  900  99.0 /Users/alice/secret/python3.13
  901   4.9 /usr/libexec/logd
  902   1,5 nonsense
  903
"""


@pytest.mark.parametrize(("machine", "software", "conditions", "kind", "todo"), SPOILED)
def test_each_thing_that_spoils_numbers_is_named_with_what_to_do(
    machine: Machine, software: Software, conditions: Conditions, kind: Kind, todo: str
) -> None:
    found = concerns(machine, software, conditions)
    assert [concern.kind for concern in found] == [kind]
    assert todo in found[0].todo
    assert found[0].what


def test_every_kind_of_concern_can_come_up() -> None:
    (other,) = concerns(MAC, Software(), QUIET, alone=False)
    assert {kind for *_, kind, _ in SPOILED} | {other.kind} == set(Kind)


def test_a_quiet_machine_raises_no_alarm() -> None:
    assert concerns(MAC, Software(rosetta=False), QUIET, [Busy(name="mds", percent=20)]) == []


def test_what_is_unknown_is_no_concern() -> None:
    assert concerns(Machine(), Software(), Conditions()) == []


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=192), st.floats(min_value=0, max_value=500))
def test_the_load_that_counts_grows_with_the_cores(cores: int, load: float) -> None:
    found = concerns(Machine(cpu_cores=cores), Software(), Conditions(load_1m=load))
    assert bool(found) is (load > max(2, cores / 4))


def test_one_busy_program_is_told_though_the_load_is_low() -> None:
    busy = [Busy(name="Xcode", percent=83.4), Busy(name="mds", percent=20)]
    (concern,) = concerns(MAC, Software(), QUIET, busy)
    assert concern.kind is Kind.LOAD
    assert "Xcode (83 % of a core), mds (20 % of a core)" in concern.what


def test_the_busiest_programs_are_told_by_plain_name() -> None:
    """No path, no argument, nothing a terminal would obey; equal names together; neither ps nor this program."""
    found = busiest(listing=PS_OF_A_MAC, own=900)
    assert [(program.name, round(program.percent, 1)) for program in found] == [
        ("Google Chrome Helper", 93.1),
        ("mds_stores", 60.0),
        ("[bold red]\N{REPLACEMENT CHARACTER}]0;owned\N{REPLACEMENT CHARACTER}rm -rf", 12.5),
    ]


@settings(deadline=None)
@given(st.text())
def test_no_output_of_ps_breaks_the_list(text: str) -> None:
    for program in busiest(listing=text):
        assert program.name.isprintable()
        assert "/" not in program.name
        assert 5 <= program.percent < float("inf")


def test_a_real_busy_program_is_found() -> None:
    """Another process spins until it is seen; its arguments are not told."""
    script = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-c", script, "--password=hunter2"]) as spinning:
        try:
            found = busiest(count=100)
            while not any(program.name.startswith("python") for program in found):
                found = busiest(count=100)
        finally:
            spinning.kill()
    assert "hunter2" not in str(found)


def test_it_says_so_on_standard_error_and_prints_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = busiest(listing=PS_OF_A_MAC, own=900)
    preflight.show(concerns(MAC, Software(), Conditions(load_1m=9, power_source="battery"), hostile))
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0] == "These spoil the numbers; the run starts all the same:"
    assert lines[1].startswith("- The computer runs on battery")
    assert "[bold red]" in lines[2]
    assert "\x1b" not in shown.err


def test_nothing_is_said_when_there_is_nothing_to_say(capsys: pytest.CaptureFixture[str]) -> None:
    preflight.show([])
    assert capsys.readouterr() == ("", "")


def test_a_machine_without_ps_has_no_busy_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert busiest() == ()
