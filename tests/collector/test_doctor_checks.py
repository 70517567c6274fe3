"""The checks of the doctor: each state, with a remedy exactly where something is not ok."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from metalmark_collector.busy import Busy
from metalmark_collector.devices import CHOICES, reasons
from metalmark_collector.doctor import CHECKS, Sight, State, examine, exit_code
from metalmark_collector.doctor.observe import unread
from metalmark_collector.doctor.sight import Asked, Greeting, Room, Unread
from metalmark_collector.fingerprint import read_conditions, read_machine, read_software, replay_probe
from metalmark_collector.messages import Hello
from metalmark_collector.preflight import NATIVE, Kind
from metalmark_collector.process import Death
from metalmark_db.record import Conditions, Machine, Software

FIXTURES = Path(__file__).parents[1] / "data/fixtures"
M4 = Machine(
    vendor="apple",
    chip="Apple M4",
    tier_counts=(4, 6),
    cpu_cores=10,
    gpu_name="Apple M4",
    gpu_cores=10,
    gpu_count=1,
    memory_bytes=16 * 2**30,
    arch="arm64",
    virtual=False,
)
SOFTWARE = Software(
    os_name="macOS",
    os_version="26.1",
    process_arch="arm64",
    rosetta=False,
    python_version="3.13.1",
    torch_version="2.14.1",
    torchvision_version="0.29.1",
    transformers_version="5.24.0",
)
CALM = Conditions(
    power_source="ac",
    power_mode="automatic",
    low_power_mode=False,
    thermal_state="Nominal",
    swap_used_bytes=0,
    memory_available_bytes=9 * 2**30,
    load_1m=1.2,
    niceness=0,
)
HELLO = Hello(
    torch_version="2.14.1",
    torch_git=None,
    torch_debug=False,
    threads=4,
    unusable=None,
    chip_name=None,
    flops_per_s=2.1e12,
    limit_bytes=11 * 2**30,
)
ASYNCHRONOUS = msgspec.structs.replace(HELLO, probe_enqueue_ns=200_000, probe_synchronized_ns=40_000_000)
WELL = Sight(
    machine=M4,
    software=SOFTWARE,
    conditions=CALM,
    wheel_tags=("cp313-cp313-macosx_14_0_arm64",),
    python_macos="26.1",
    greetings=(Greeting("cpu", HELLO), Greeting("mps", ASYNCHRONOUS)),
    room=Room(folder="/data", free_bytes=2**38, writable=True),
)


def but(**changes: Any) -> Sight:
    """The machine that is well, but for some fields of what was seen or of its parts."""
    parts: dict[str, Any] = {name: getattr(WELL, name) for name in WELL.__struct_fields__}
    for name, value in changes.items():
        part = next((part for part in ("machine", "software", "conditions") if hasattr(parts[part], name)), None)
        if part is None:
            parts[name] = value
        else:
            parts[part] = msgspec.structs.replace(parts[part], **{name: value})
    return Sight(**parts)


def mps(**changes: Any) -> Sight:
    """The machine that is well, but for what the worker of its GPU says."""
    return but(greetings=(Greeting("cpu", HELLO), Greeting("mps", msgspec.structs.replace(ASYNCHRONOUS, **changes))))


INTEL: dict[str, Any] = {"chip": "Intel(R) Core(TM) i7", "vendor": "intel", "arch": "x86_64", "process_arch": "x86_64"}
CRASHED = Death(exit_code=-6, timed_out=False, stdout="", stderr="a\nfailed assertion in /Users/anna/x/MPSNDArray.mm\n")

# What was seen, the check that says so, its state, a word of what is wrong, a word of what to do.
SEEN: list[tuple[Sight, str, State, str, str]] = [
    (but(virtual=True), "virtual-machine", State.WARNING, "virtual machine", "machine itself"),
    (
        but(rosetta=True, process_arch="x86_64"),
        "python",
        State.PROBLEM,
        "Rosetta",
        "uv venv --python cpython-3.13-macos",
    ),
    (but(python_macos="10.16"), "python", State.WARNING, "takes macOS 26.1 for 10.16", "uv venv"),
    (but(torch_version=None, greetings=()), "torch", State.PROBLEM, "not installed", "pip install 'metalmark[bench]'"),
    (but(torch_version=None, **INTEL), "torch", State.PROBLEM, "last release for Intel Macs is 2.2", "Apple silicon"),
    (but(torch_version=None, rosetta=True, process_arch="x86_64"), "torch", State.PROBLEM, "under Rosetta", "uv venv"),
    (but(torch_debug=True), "torch", State.PROBLEM, "debug build", "pip install --force-reinstall torch"),
    (but(torch_version="2.2.2"), "torch", State.PROBLEM, "older than 2.4", "pip install --upgrade 'torch>=2.4'"),
    (but(torch_version="2.15.0.dev20261001"), "torch", State.WARNING, "nightly", "release"),
    (but(torch_version="2.6.0a0+git1eba9b3"), "torch", State.WARNING, "from its sources", "release"),
    (but(transformers_version=None), "libraries", State.WARNING, "transformers is not installed", "pip install"),
    (but(os_version=None), "macos", State.WARNING, "sw_vers", "--bundle"),
    (but(os_version="13.7.4"), "macos", State.PROBLEM, "built for macOS 14", "torch<2.9"),
    (
        but(os_version="13.7.4", torch_version="2.11.0", wheel_tags=("cp313-none-macosx_11_0_arm64",)),
        "macos",
        State.PROBLEM,
        "needs macOS 14 for MPS, whatever its error text says; this is 13.7.4",
        "pip install 'torch<2.9'",
    ),
    (
        but(os_version="12.7.6", torch_version="2.5.1", wheel_tags=()),
        "macos",
        State.PROBLEM,
        "needs macOS 13",
        "pip install 'torch<2.5'",
    ),
    (but(os_version="12.1", torch_version="2.4.1", wheel_tags=()), "macos", State.PROBLEM, "12.3", "Update macOS"),
    (
        but(os_version="13.7.4", torch_version="2.8.0", wheel_tags=("cp313-none-macosx_11_0_arm64",)),
        "macos",
        State.WARNING,
        "the older one that pip takes on macOS 13.7.4",
        "pip install --upgrade torch",
    ),
    (but(os_version="27.0", torch_version="2.13.0"), "known-problems", State.WARNING, "aborts", "'torch>=2.14'"),
    (
        but(chip="Apple M5 Pro", os_version="26.4.1", torch_version="2.11.0"),
        "known-problems",
        State.WARNING,
        "at each call before torch 2.13. On M5 chips with macOS 26.4",
        "'torch>=2.13'",
    ),
    (but(chip="Apple M5", os_version="26.4"), "known-problems", State.WARNING, "two to three times", "Update macOS"),
    (but(environment={"OMP_NUM_THREADS": "1"}), "variables", State.WARNING, "OMP_NUM_THREADS", "unset"),
    (
        but(greetings=(Greeting("cpu", msgspec.structs.replace(HELLO, unusable="cpu gives wrong numbers.")),)),
        "cpu",
        State.PROBLEM,
        "wrong numbers",
        "Restart",
    ),
    (mps(unusable=reasons.WITHOUT_MPS), "mps", State.PROBLEM, "without MPS", "--force-reinstall torch"),
    (mps(unusable=reasons.NO_METAL), "mps", State.PROBLEM, "no Metal device", "Terminal"),
    (mps(unusable="mps gives wrong numbers"), "mps", State.PROBLEM, "wrong numbers", "run --device cpu"),
    (but(greetings=(Greeting("mps", CRASHED),)), "mps", State.PROBLEM, "status -6: failed assertion in .../", "."),
    (
        but(greetings=(Greeting("cuda", msgspec.structs.replace(HELLO, unusable=reasons.NO_CUDA_GPU)),)),
        "cuda",
        State.PROBLEM,
        "sees no CUDA GPU",
        "nvidia-smi",
    ),
    (
        but(greetings=(Greeting("cuda", msgspec.structs.replace(HELLO, unusable=reasons.WITHOUT_CUDA)),)),
        "cuda",
        State.PROBLEM,
        "without CUDA",
        "--force-reinstall torch",
    ),
    (mps(probe_synchronized_ns=20_000), "synchronization", State.PROBLEM, "done when it is not", "Do not trust"),
    (mps(probe_enqueue_ns=30_000_000), "synchronization", State.WARNING, "not proven", "again"),
    (
        but(
            no_compile="torch.compile needs a C++ compiler, and there is none. Install one with: xcode-select --install"
        ),
        "compile",
        State.WARNING,
        "compile mode would not be run",
        "Install one with: xcode-select --install",
    ),
    (but(power_source="battery"), "power-source", State.WARNING, "battery", "Plug it in"),
    (but(low_power_mode=True), "power-mode", State.WARNING, "Low power mode", "Never"),
    (but(thermal_state="Heavy"), "heat", State.WARNING, "Heavy", "ten minutes"),
    (but(load_1m=9.0, busy=(Busy(name="Xcode", percent=83.0),)), "load", State.WARNING, "Xcode (83 %", "Quit"),
    (but(alone=False), "other-run", State.WARNING, "Another run", "End one"),
    (but(niceness=10), "priority", State.WARNING, "nice 10", "without nice"),
    (but(swap_used_bytes=12 * 2**30), "swap", State.WARNING, "12 GiB of swap", "restart"),
    (but(memory_available_bytes=2**30), "memory", State.WARNING, "Only 1 GiB", "Close programs"),
    (but(room=Room(folder="/data", free_bytes=2**29, writable=True)), "disk", State.WARNING, "/data", "Make room"),
    (but(room=Room(folder="/data", free_bytes=2**20, writable=True)), "disk", State.PROBLEM, "/data", "Make room"),
    (but(room=Room(folder="/data", free_bytes=2**38, writable=False)), "disk", State.PROBLEM, "/data", "--db"),
    (
        but(
            gpu_cores=None,
            unread=(Unread("gpu_cores", (Asked("system_profiler_displays", False), Asked("ioreg_cpus", True))),),
        ),
        "machine-id",
        State.WARNING,
        "gpu_cores is unknown, nothing came from system_profiler_displays, it is not in what ioreg_cpus gave",
        "--bundle",
    ),
]


@pytest.mark.parametrize(("sight", "check", "state", "what", "remedy"), SEEN)
def test_what_is_wrong_is_said_with_what_to_do(sight: Sight, check: str, state: State, what: str, remedy: str) -> None:
    found = {finding.check: finding for finding in examine(sight)}[check]
    assert found.state is state
    assert what in found.what
    assert found.remedy is not None
    assert remedy in found.remedy


def test_a_machine_that_is_well_gets_no_advice() -> None:
    findings = examine(WELL)
    assert {finding.state for finding in findings} == {State.OK}
    assert exit_code(findings) == 0
    assert len(findings) > 15


@pytest.mark.parametrize("sight", [WELL, *(sight for sight, *_ in SEEN)])
def test_a_remedy_is_there_exactly_where_something_is_not_ok(sight: Sight) -> None:
    for finding in examine(sight):
        assert finding.what.endswith("."), finding
        assert (finding.remedy is None) is (finding.state is State.OK), finding
        assert finding.remedy != ""


def test_nothing_known_is_no_problem_of_a_state() -> None:
    """A system that tells nothing gets no warning of power, load or heat, and no error."""
    findings = examine(Sight(machine=Machine(), software=Software(), conditions=Conditions()))
    assert {finding.check for finding in findings if finding.state is not State.OK} == {"torch", "machine-id"}


def test_every_check_can_go_wrong_but_those_that_only_tell() -> None:
    assert {check for _, check, *_ in SEEN} == set(CHECKS) - {"gpu", "reporter"}


def test_every_device_and_everything_that_spoils_numbers_has_a_check() -> None:
    assert set(CHOICES) <= set(CHECKS)
    spoiling = {
        Kind.ROSETTA: but(rosetta=True),
        Kind.DEBUG_BUILD: but(torch_debug=True),
        Kind.BATTERY: but(power_source="battery"),
        Kind.LOW_POWER: but(low_power_mode=True),
        Kind.HEAT: but(cpu_speed_limit=60),
        Kind.OTHER_RUN: but(alone=False),
        Kind.LOAD: but(load_1m=50.0),
        Kind.SWAP: but(swap_used_bytes=2**34),
        Kind.NICE: but(niceness=5),
        Kind.ENVIRONMENT: but(environment={"OMP_NUM_THREADS": "1"}),
        Kind.VIRTUAL: but(virtual=True),
    }
    assert set(spoiling) == set(Kind)
    for kind, sight in spoiling.items():
        assert exit_code(examine(sight)) > 0, kind


@pytest.mark.parametrize(("state", "code"), [({}, 0), ({"niceness": 5}, 1), ({"torch_debug": True, "niceness": 5}, 2)])
def test_the_exit_code_is_that_of_the_worst_finding(state: dict[str, Any], code: int) -> None:
    assert exit_code(examine(but(**state))) == code


def test_without_a_gpu_the_doctor_says_that_the_cpu_is_measured_alone() -> None:
    found = {finding.check: finding.what for finding in examine(but(greetings=(Greeting("cpu", HELLO),)))}
    assert "the CPU alone" in found["gpu"]
    assert "mps" not in found
    assert "synchronization" not in found


def test_a_virtual_machine_is_told_and_its_gpu_not_blamed_on_torch() -> None:
    """What a hosted macOS runner has to say: a virtual machine, whose MPS is not usable."""
    sight = mps(
        unusable="The GPU is a virtual machine's (Apple Paravirtual device), which is not what the chip can do."
    )
    sight = msgspec.structs.replace(sight, machine=msgspec.structs.replace(M4, virtual=True))
    found = {finding.check: finding for finding in examine(sight)}
    assert found["virtual-machine"].state is State.WARNING
    assert found["mps"].state is State.PROBLEM
    assert "on the Mac itself" in (found["mps"].remedy or "")
    assert "no machine id" in found["machine-id"].what


def replayed(name: str, **more: Any) -> dict[str, State]:
    """The states that a recorded machine gets."""
    probe = replay_probe(FIXTURES / name)
    machine = read_machine(probe)
    sight = Sight(
        machine=machine,
        software=read_software(probe),
        conditions=read_conditions(probe),
        unread=tuple(unread(probe, machine, "Darwin" if name.startswith("macos") else "Linux")),
        **more,
    )
    return {finding.check: finding.state for finding in examine(sight)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("macos/macbookair-m1-under-rosetta", {"python": State.PROBLEM, "virtual-machine": State.OK}),
        ("macos/vm-m4max-virtual-macos15", {"virtual-machine": State.WARNING, "machine-id": State.OK}),
        ("macos/github-runner-macos-15-intel", {"virtual-machine": State.WARNING, "macos": State.OK}),
        ("macos/virtualbox-hackintosh-vm", {"virtual-machine": State.WARNING}),
        ("macos/power-laptop-ac-powermode-high", {"power-source": State.OK, "power-mode": State.OK}),
        ("macos/macbookpro-m5max-macos26", {"machine-id": State.WARNING, "virtual-machine": State.OK}),
        ("linux/guest-h200-ubuntu24", {"virtual-machine": State.WARNING, "torch": State.OK}),
    ],
)
def test_a_recorded_machine_is_judged_by_what_it_printed(name: str, expected: dict[str, State]) -> None:
    found = replayed(name)
    assert {check: found[check] for check in expected} == expected


def test_every_recorded_machine_can_be_judged() -> None:
    folders = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
    for folder in folders:
        assert replayed(f"{folder.parent.name}/{folder.name}")


def test_sources_that_said_nothing_about_a_part_of_the_id_are_named() -> None:
    probe = replay_probe(FIXTURES / "macos/macbookpro-m5max-macos26")
    found = {one.field: one.asked for one in unread(probe, read_machine(probe), "Darwin")}
    assert set(found) == {"gpu_name", "gpu_count"}
    assert Asked("system_profiler_displays", False) in found["gpu_name"]


def test_the_native_environment_is_told_with_its_commands() -> None:
    findings = {finding.check: finding for finding in examine(but(rosetta=True))}
    assert findings["python"].remedy == NATIVE
