"""The seam to the machine: real commands that are missing, noisy, hanging; recorded ones that stay alone."""

import json
import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from metalmark_collector.fingerprint import fingerprint, local_probe, read_conditions, read_software, replay_probe
from metalmark_collector.fingerprint.evidence import Evidence
from metalmark_collector.fingerprint.probe import Gathered, LocalProbe, Remembered, run
from metalmark_collector.fingerprint.process import result_variables
from metalmark_collector.fingerprint.readers import CONDITIONS, EXTRA, MACHINE, SOFTWARE
from metalmark_collector.fingerprint.sources import SOURCES, Command, Source
from metalmark_db.errors import UsageProblem


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_standard_error_never_mixes_into_the_output() -> None:
    code = "import sys; print('noise', file=sys.stderr, flush=True); print('value')"
    assert run(python(code), 20.0) == "value\n"


def test_a_missing_command_gives_nothing() -> None:
    assert run(("no-such-command-anywhere",), 1.0) is None


def test_a_failing_command_still_gives_its_output() -> None:
    assert run(python("print('kept'); raise SystemExit(1)"), 20.0) == "kept\n"


def test_commands_speak_the_language_of_the_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert run(python("import os; print(os.environ['LC_ALL'])"), 20.0) == "C\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert run(python("import sys; sys.stdout.buffer.write(b'a\\xffb')"), 20.0) == "a\ufffdb"


def test_a_hanging_command_is_ended_with_all_that_it_started() -> None:
    # The grandchild keeps the pipe open: waiting for its end would take a minute.
    code = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    start = time.monotonic()
    assert run(python(code), 0.5) is None
    assert time.monotonic() - start < 30


def test_sources_of_another_system_are_not_asked() -> None:
    assert LocalProbe("Plan9").text("cpuinfo") is None
    assert LocalProbe("Plan9").text("sysctl") is None
    assert LocalProbe("Darwin").text("crash_footer") is None


def test_a_reading_asks_every_source_once() -> None:
    asked: list[str] = []

    class Counting:
        def text(self, source: str) -> str | None:
            asked.append(source)
            return None

    probe = Remembered(Counting())
    assert [probe.text("sysctl"), probe.text("sysctl")] == [None, None]
    assert asked == ["sysctl"]


def test_commands_are_asked_side_by_side_and_only_once() -> None:
    asked: list[tuple[str, int]] = []
    together = threading.Barrier(2, timeout=60)  # broken, if one command waited for the other

    class Listening:
        def text(self, source: str) -> str | None:
            asked.append((source, threading.get_ident()))
            if source in ("sw_vers", "vm_stat"):
                together.wait()
            return source

    probe = Gathered(Listening(), ("process", "sw_vers", "vm_stat"))
    for source in ("vm_stat", "sw_vers", "vm_stat", "process"):
        assert probe.text(source) == source
    assert sorted(source for source, _ in asked) == ["process", "sw_vers", "vm_stat"]
    # What a thread knows of itself, such as its priority, is asked where it counts.
    assert dict(asked)["process"] == threading.get_ident()


def test_system_profiler_is_never_called_twice_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "system_profiler"
    script.write_text(f"#!/bin/sh\nmkdir {tmp_path}/busy || exit 1\nsleep 0.2\necho '{{}}'\nrmdir {tmp_path}/busy\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    probe = Gathered(LocalProbe("Darwin"), ("hardware_json", "displays_json"))
    assert [probe.text(source) for source in ("hardware_json", "displays_json")] == ["{}\n", "{}\n"]


def test_torch_is_asked_only_where_somebody_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "torch", Source(("torch.json",), None, Command(python("print(1)"), 60.0), slow=True))
    assert LocalProbe().text("torch") is None
    assert LocalProbe(slow=True).text("torch") == "1\n"


def test_a_probe_in_a_hurry_waits_for_no_command_longer_than_it_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Command(python("import time; time.sleep(60)"), 120.0)
    monkeypatch.setitem(SOURCES, "uname", Source(("uname_a.txt",), None, hanging))
    start = time.monotonic()
    assert LocalProbe(limit_s=0.1).text("uname") is None
    assert time.monotonic() - start < 30


def test_readers_ask_only_sources_of_the_allow_list_and_all_of_them() -> None:
    asked: set[str] = set()

    class Listening:
        def text(self, source: str) -> str | None:
            asked.add(source)
            # Sources that group logical CPUs are of use only where these are known.
            return '{"cpus": [{"cpu": 0, "core": 0}]}' if source == "lscpu_topology" else None

    evidence = Evidence(Listening())
    for readers in (MACHINE, SOFTWARE, CONDITIONS, EXTRA):
        for read in readers.values():
            read(evidence)
    assert asked == set(SOURCES)


def test_no_command_can_reveal_a_host_name_or_a_serial_number() -> None:
    commands = [" ".join(source.live.argv) for source in SOURCES.values() if isinstance(source.live, Command)]
    assert not any(word in command for command in commands for word in ("hostname", "uname -a", "-n ", "sudo"))
    assert "-detailLevel mini" in next(command for command in commands if "SPHardwareDataType" in command)


def test_nothing_of_the_machine_at_hand_leaks_into_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("a replay asked the machine at hand")

    monkeypatch.setattr(subprocess, "Popen", never)
    monkeypatch.setattr(platform, "machine", never)
    monkeypatch.setattr(os, "getpriority", never)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (tmp_path / "sw_vers.txt").write_text("ProductVersion:\t\t26.1\n")
    found = {key: value for key, value in fingerprint(replay_probe(tmp_path)).items() if value is not None}
    assert found == {"os_name": "macOS", "os_version": "26.1", "macos_version": "26.1", "environment": {}}


def test_a_folder_that_is_not_there_is_a_problem_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="recorded outputs"):
        replay_probe(tmp_path / "missing")


def test_folders_and_unreadable_files_in_a_recording_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "sysctl.txt").mkdir()
    assert replay_probe(tmp_path).text("sysctl") is None


def test_this_machine_tells_its_python_and_its_niceness() -> None:
    software = read_software(local_probe())
    assert software.python_version == platform.python_version()
    assert software.metalmark_version is not None or software.torch_version is not None
    assert read_conditions(local_probe()).niceness == os.getpriority(os.PRIO_PROCESS, 0)


def test_reading_this_machine_does_not_import_torch() -> None:
    code = (
        "import sys; from metalmark_collector.fingerprint import fingerprint, local_probe;"
        " fingerprint(local_probe()); print('torch' in sys.modules)"
    )
    answer = subprocess.run(python(code), capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout == "False\n"


def test_variables_that_change_results_are_kept_and_paths_and_names_in_them_are_not() -> None:
    kept = result_variables(
        {
            "OMP_NUM_THREADS": "4",
            "VECLIB_MAXIMUM_THREADS": "1",
            "NUMEXPR_NUM_THREADS": "2",
            "PYTORCH_ENABLE_MPS_FALLBACK": "1",
            "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:128",
            "PYTORCH_KERNEL_CACHE_PATH": "/Users/jane/cache",
            "TORCHINDUCTOR_CACHE_DIR": "/var/torchinductor_jane",
            "MKL_CBWR": "jane",
            "CUDA_VISIBLE_DEVICES": "GPU-8f3a",
            "HOME": "/Users/jane",
            "USER": "jane",
        }
    )
    assert kept == {
        "OMP_NUM_THREADS": "4",
        "VECLIB_MAXIMUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "2",
        "PYTORCH_ENABLE_MPS_FALLBACK": "1",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True,max_split_size_mb:128",
        "PYTORCH_KERNEL_CACHE_PATH": "(set)",
        "TORCHINDUCTOR_CACHE_DIR": "(set)",
        "MKL_CBWR": "(set)",
        "CUDA_VISIBLE_DEVICES": "(set)",
    }


def test_variables_of_a_recorded_process_are_read(tmp_path: Path) -> None:
    process = {
        "python_version": "3.13.1",
        "python_arch": "arm64",
        "niceness": 5,
        "environment": {"OMP_NUM_THREADS": "4"},
    }
    (tmp_path / "process.json").write_text(json.dumps(process))
    found = fingerprint(replay_probe(tmp_path))
    assert (found["python_version"], found["python_arch"], found["niceness"]) == ("3.13.1", "arm64", 5)
    assert found["environment"] == {"OMP_NUM_THREADS": "4"}


SCRIPTS = {
    "sysctl": """case "$*" in
"-n hw.optional.arm64") echo 1 ;;
*) echo "sysctl: unknown oid 'iogpu.wired_limit_mb'" >&2
   echo "machdep.cpu.brand_string: Apple M5"; echo "hw.model: Mac17,2"; echo "hw.memsize: 17179869184"
   echo "hw.nperflevels: 2"; echo "sysctl.proc_translated: 1"
   for n in 0:Super:4 1:Efficiency:6; do
     level=${n%%:*}; rest=${n#*:}
     echo "hw.perflevel$level.name: ${rest%:*}"; echo "hw.perflevel$level.physicalcpu: ${rest#*:}"
   done; exit 1 ;;
esac""",
    # Without the prefix the emulated machine would be described.
    "arch": '[ "$1" = -arm64 ] || exit 1; shift; NATIVE=1 exec "$@"',
    "system_profiler": """[ -n "$NATIVE" ] || exit 1
echo "2026-04-28 08:52:35.280 system_profiler[1:2] noise" >&2
case "$*" in
*SPHardwareDataType*) echo '{"SPHardwareDataType": [{"machine_name": "MacBook Pro", "chip_type": "Apple M5"}]}' ;;
*SPDisplaysDataType*) echo '{"SPDisplaysDataType": [{"sppci_model": "Apple M5", "sppci_cores": "10"}]}' ;;
esac""",
    "sw_vers": 'printf "ProductName:\\t\\tmacOS\\nProductVersion:\\t\\t26.4\\nBuildVersion:\\t\\t25E233\\n"',
    "uname": 'echo "Darwin 25.4.0 Darwin Kernel Version 25.4.0: Thu; root:xnu-1/RELEASE_ARM64_T8142 x86_64"',
    "pmset": 'case "$2" in batt) echo "Now drawing from \'AC Power\'" ;; "") echo " powermode 2" ;; esac',
    "vm_stat": "sleep 60",
}


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalProbe:
    """A Mac at hand, with scripts for its commands, whose Python runs under Rosetta."""
    for name, script in SCRIPTS.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setitem(SOURCES, "vm_stat", Source(("vm_stat.txt",), "Darwin", Command(("vm_stat",), 0.5)))
    return LocalProbe("Darwin")


def test_a_mac_at_hand_is_read_through_real_commands(mac: LocalProbe) -> None:
    found = fingerprint(mac)
    assert (found["chip"], found["soc"], found["model"]) == ("Apple M5", "T8142", "Mac17,2")
    assert (found["tier_counts"], found["super_cores"], found["gpu_cores"]) == ([4, 6], 4, 10)
    assert (found["machine_name"], found["virtual"]) == ("MacBook Pro", False)
    assert (found["os_version"], found["os_build"], found["kernel"]) == ("26.4", "25E233", "25.4.0")
    assert (found["arch"], found["process_arch"], found["rosetta"]) == ("arm64", "x86_64", True)
    assert (found["power_source"], found["power_mode"]) == ("ac", "high")
    assert found["machine_id"] is not None


def test_a_command_that_hangs_costs_its_own_field_only(mac: LocalProbe) -> None:
    conditions = read_conditions(mac)
    assert (conditions.memory_available_bytes, conditions.power_mode) == (None, "high")
