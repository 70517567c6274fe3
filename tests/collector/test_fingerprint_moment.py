"""The state of the machine after every case: read from files and a few short commands, kept with the case."""

import time

import pytest

from metalmark_collector.budget import Budget
from metalmark_collector.fingerprint import brief_probe, read_conditions, read_moment
from metalmark_collector.fingerprint.readers import CONDITIONS, MOMENT
from metalmark_collector.fingerprint.sources import MOMENTARY, SOURCES, Command
from metalmark_collector.plan import Planned, make_plan
from metalmark_collector.progress import Progress
from metalmark_db.record import Case, Machine, Moment
from metalmark_db.words import Effort, Outcome, Reason

OUTPUTS = {
    "sysctl": "vm.swapusage: total = 2048.00M  used = 512.00M  free = 1536.00M\nvm.loadavg: { 3.50 2.00 1.00 }\n",
    "pmset_g": "Now in use:\n powermode            1\n",
    "pmset_batt": "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=0)\t80%; discharging; 3:00 remaining\n",
    "pmset_therm": "CPU_Speed_Limit \t= 70\n",
    "thermal_pressure": "com.apple.system.thermalpressurelevel 2\n",
    "vm_stat": "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: 100.\nPages inactive: 20.\n"
    "Pages speculative: 5.\n",
}


class Telling:
    """A Mac that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def text(self, source: str) -> str | None:
        """The output of a source."""
        self.asked.add(source)
        return OUTPUTS.get(source)


def test_the_state_of_a_mac_is_read() -> None:
    assert read_moment(Telling()) == Moment(
        power_source="battery",
        low_power_mode=True,
        thermal_state="Heavy",
        cpu_speed_limit=70,
        swap_used_bytes=512 * 2**20,
        memory_available_bytes=125 * 16384,
        load_1m=3.5,
    )


def test_it_is_a_part_of_the_conditions_with_the_same_meaning() -> None:
    assert set(MOMENT) == set(Moment.__struct_fields__) < set(CONDITIONS)
    all_of_it, part = read_conditions(Telling()), read_moment(Telling())
    assert {field: getattr(all_of_it, field) for field in MOMENT} == {field: getattr(part, field) for field in MOMENT}


def test_no_slow_command_is_started_between_two_cases() -> None:
    probe = Telling()
    read_moment(probe)
    commands = {source for source in probe.asked if isinstance(SOURCES[source].live, Command)}
    assert commands <= set(MOMENTARY)
    asked = {live.argv[0] for source in MOMENTARY if isinstance(live := SOURCES[source].live, Command)}
    assert asked == {"sysctl", "pmset", "notifyutil", "vm_stat"}


def test_this_machine_is_read() -> None:
    found = read_moment(brief_probe())
    assert found.load_1m is not None
    assert found.memory_available_bytes is not None


@pytest.mark.parametrize(
    ("outcome", "reason", "looked"),
    [(Outcome.OUT_OF_MEMORY, None, True), (Outcome.TIMEOUT, None, True), (Outcome.NOT_RUN, Reason.BUDGET, False)],
)
def test_a_case_that_was_tried_carries_the_state_that_it_ended_in(
    outcome: Outcome, reason: Reason | None, *, looked: bool
) -> None:
    moment = Moment(swap_used_bytes=3)
    plan = make_plan(Effort.QUICK, ["cpu"], 1, only=["matmul-2048"])
    saved: list[Case] = []
    progress = Progress(
        plan=plan,
        machine=Machine(),
        save=saved.append,
        watcher=Silent(),
        budget=Budget(aimed_s=5, limit_s=60, began=time.monotonic()),
        moment=lambda: moment,
    )
    progress.end(plan.cases["cpu"][0].ended(outcome, reason))
    assert [case.conditions for case in saved] == [moment if looked else None]


class Silent:
    """A watcher that nothing is told to."""

    def starting(self, device: str) -> None:
        """Nothing."""

    def measuring(self, case: Planned, round_number: int) -> None:
        """Nothing."""

    def beat(self, case: Planned, samples: int) -> None:
        """Nothing."""

    def ended(self, case: Case, left_s: float) -> None:
        """Nothing."""
