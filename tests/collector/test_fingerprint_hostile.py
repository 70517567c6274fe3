"""Whatever bytes an output holds, reading it neither fails nor makes up a number."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metalmark_collector.fingerprint import fingerprint, read_conditions, read_machine, read_software, replay_probe
from metalmark_collector.fingerprint.lenient import loads
from metalmark_collector.fingerprint.sources import SOURCES
from metalmark_collector.fingerprint.torch_process import build_settings
from metalmark_collector.fingerprint.values import clean, number, pairs, positive, size, whole

MAC = Path(__file__).parents[1] / "data/fixtures/macos"
# Digits, keys and separators that real outputs have, so that the parsers get past their first look.
PIECES = st.sampled_from(
    [
        *[
            "0",
            "7",
            "12",
            ":",
            "=",
            "{",
            "}",
            "[",
            "]",
            ",",
            '"',
            "'",
            "(",
            ")",
            "<",
            ">",
            "\n",
            "\t",
            "\x1b",
            "\x00",
            "%",
            "-",
            ".",
            "GB",
            "kB",
            "MiB",
            "proc",
            "10:4:6",
            "Apple",
            "Intel",
        ],
        *(
            "hw.perflevel0.physicalcpu",
            "hw.memsize",
            "chip_type",
            "number_processors",
            "physical_memory",
            "sppci_model",
        ),
        *("Chipset Model: ", "Displays:\n", "Model: ", "Graphics: ", "MemTotal: ", "CPU_Speed_Limit ", "powermode "),
        *(
            "p-core-count",
            "gpu-core-count",
            "NVIDIA H200, ",
            " processors",
            "SPHardwareDataType",
            "E:MEMORY_DEVICE_0_SIZE=",
        ),
        *(
            "\n    FB Memory Usage\n",
            "\n    Utilization\n        GPU : ",
            "        Used : ",
            "HW Thermal Slowdown : Active\n",
            "Driver Version : ",
            "\ndevices: pci:v000010DEd00001234sv00000000sd00000000bc03sc00i00\n",
            "card0-DP-1: connected\n",
            "torch_build",
            "threads",
        ),
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map("".join))
GENTLY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Saying:
    """A machine whose every output is the same text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def text(self, source: str) -> str | None:
        """The text, whatever is asked for."""
        assert source in SOURCES
        return self._text


@GENTLY
@given(TEXTS)
def test_any_text_in_every_output_gives_a_record_that_is_valid(text: str) -> None:
    probe = Saying(text)
    for value in (read_machine(probe), read_software(probe), read_conditions(probe)):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


@GENTLY
@given(st.text(st.characters(exclude_categories=["Nd"]), max_size=200))
def test_a_text_without_digits_gives_no_number(text: str) -> None:
    found = fingerprint(Saying(text))
    derived = {"gpu_count", "display_count", "displays", "gpu_users"}  # counts of things that are named or listed
    numbers = {key: value for key, value in found.items() if type(value) in (int, float) and key not in derived}
    assert numbers == {}


# What stands around a number in real outputs, without any digit that a reader could take for one.
AROUND = st.sampled_from(
    [
        *(
            "13",
            "13",
            "13",
            " ",
            "\n",
            ": ",
            " = ",
            "(",
            ")",
            "{",
            "}",
            '"',
            ", ",
            "%",
            " GB",
            " MiB",
            " kB",
            "proc ",
            ":",
        ),
        *("Apple M", "Intel", "Chipset Model: ", "Total Number of Cores: ", "Memory: ", "Displays:\n", "Graphics: "),
        *("hw.memsize: ", "hw.physicalcpu: ", "hw.ncpu: ", "vm.swapusage: total = ", "used = ", "vm.loadavg: { "),
        *('"number_processors" : ', '"physical_memory" : ', '"sppci_model" : ', '"sppci_cores" : ', '"threads": '),
        *("MemTotal: ", "MemAvailable: ", "SwapTotal: ", "SwapFree: ", "(page size of ", " bytes)", "Pages free: "),
        *("CPU_Speed_Limit = ", "gpu-core-count = ", "Device Utilization % = ", "In use system memory = "),
        *("\nFB Memory Usage\nTotal : 13 MiB\nUsed : ", "\nUtilization\nGPU : ", "NVIDIA, ", " performance and "),
    ]
)


@GENTLY
@given(st.lists(AROUND, max_size=60).map("".join))
def test_every_number_that_is_told_stands_in_the_text(text: str) -> None:
    """All numbers of the text are made of 13: what is read, scaled or added up of them is a multiple of 13."""
    found = fingerprint(Saying(text))
    derived = {"gpu_count", "display_count", "displays", "gpu_users"}  # counts of things that are named or listed
    told = {key: value for key, value in found.items() if type(value) is int and key not in derived}
    assert {key: value for key, value in told.items() if value % 13} == {}


@GENTLY
@given(TEXTS)
def test_whatever_torch_shows_gives_short_settings_without_paths(text: str) -> None:
    found = build_settings(text + " USE_" + text)
    assert all(len(name) <= 60 and len(value) <= 80 and "/" not in value for name, value in found.items())


@GENTLY
@given(data=st.binary(max_size=300), source=st.sampled_from(sorted(SOURCES)))
def test_any_bytes_in_a_recorded_file_are_read(tmp_path: Path, data: bytes, source: str) -> None:
    (tmp_path / SOURCES[source].recorded[0].replace("*", "a")).write_bytes(data)
    json.dumps(fingerprint(replay_probe(tmp_path)))


@GENTLY
@given(cut=st.floats(0, 1), folder=st.sampled_from(sorted(path.name for path in MAC.iterdir())))
def test_a_recording_that_breaks_off_tells_less_and_nothing_else(tmp_path: Path, cut: float, folder: str) -> None:
    """Text loses whole lines, JSON breaks off anywhere; the chip of an Intel Mac may fall back to its other name."""
    for path in tmp_path.iterdir():
        path.unlink()
    for path in (MAC / folder).iterdir():
        text = path.read_text()
        kept = text[: int(len(text) * cut)]
        (tmp_path / path.name).write_text(kept if path.suffix == ".json" else kept[: kept.rfind("\n") + 1])
    whole_one, part = fingerprint(replay_probe(MAC / folder)), fingerprint(replay_probe(tmp_path))
    firm = ("memory_bytes", "cpu_cores", "gpu_cores", "macos_build", "soc", "model")
    for key in firm:
        assert part[key] in (None, whole_one[key])


@GENTLY
@given(TEXTS)
def test_the_small_parsers_never_raise(text: str) -> None:
    for parse in (clean, number, pairs, positive, size, whole, loads):
        parse(text)


@GENTLY
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    ).filter(lambda value: isinstance(value, list | dict))
)
def test_sound_json_is_read_as_the_standard_library_reads_it(document: object) -> None:
    text = json.dumps(document)
    assert loads(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "10', {}),
        ('{"a": 10', {}),
        ('{"a": 10, "b": [1, {"c": "d"', {"a": 10, "b": [1, {"c": "d"}]}),
        ('{"a": 1,}', {"a": 1}),
        ("no json", None),
        ("", None),
        ('[1, 2}, "x"', [1, 2]),
        ('{"a": , "b": 2}', {"b": 2}),
        ('{"a" "b" "c": nonsense', {"a": "b"}),
    ],
)
def test_broken_json_keeps_what_is_certain(text: str, value: object) -> None:
    assert loads(text) == value


@pytest.mark.parametrize("text", ["\u0663", "1e5", "-3", "9" * 400, "+5", "", " ", "0x10", "1_000"])
def test_only_plain_digits_are_a_number(text: str) -> None:
    assert whole(text) is None
