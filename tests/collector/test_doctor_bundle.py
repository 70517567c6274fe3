"""A bundle of the doctor: it replays to what was seen, and names nobody."""

import getpass
import json
import platform
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalmark_collector.busy import Busy
from metalmark_collector.doctor import Sight
from metalmark_collector.doctor.bundle import file_name, make_new, recorded, write
from metalmark_collector.doctor.redact import RULES, redact
from metalmark_collector.fingerprint import fingerprint, local_probe, replay_probe
from metalmark_collector.fingerprint.lenient import loads
from metalmark_collector.fingerprint.probe import Remembered
from metalmark_collector.fingerprint.sources import SOURCES
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Conditions, Machine, Software

FIXTURES = Path(__file__).parents[1] / "data/fixtures"
MACHINES = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
NOTHING = Sight(machine=Machine(), software=Software(), conditions=Conditions())

UUID, SERIAL, MAC = "0E3F4A52-1B2C-4D5E-8F90-123456789ABC", "C02XK1ABJGH5", "3c:22:fb:aa:01:02"
# What a machine can say of its owner and of itself, in the places where it really says so.
TELLING = {
    "hardware_json": f'{{"SPHardwareDataType": [{{"chip_type": "Apple M4", "serial_number": "{SERIAL}", '
    f'"platform_UUID": "{UUID}", "provisioning_UDID": "00006000-{SERIAL}", "activation_lock_status": "jdoe"}}]}}',
    "hardware_text": f"    Chip: Apple M4\n    Serial Number (system): {SERIAL}\n    Hardware UUID: {UUID}\n",
    "displays_json": f'{{"SPDisplaysDataType": [{{"sppci_model": "Apple M4", "spdisplays_ndrvs": '
    f'[{{"_name": "Jdoe TV", "_spdisplays_display-serial-number": "{SERIAL}", "_spdisplays_week": 424242}}]}}]}}',
    "displays_text": f"      Chipset Model: Apple M4\n      Displays:\n        Jdoe TV:\n          Serial: {SERIAL}\n",
    "power_json": f'{{"SPPowerDataType": [{{"sppower_battery_serial_number": "{SERIAL}"}}]}}',
    "software_text": "      System Version: macOS 26.1\n      Computer Name: jdoe-macbook\n      User Name: J (jdoe)\n",
    "sysctl": f"hw.model: Mac16,1\nkern.hostname: jdoe-macbook.local\nkern.uuid: {UUID}\nhw.serial: {SERIAL}\n",
    "ioreg_gpu": f'  +-o AGX  <class AGX>\n    {{\n "gpu-core-count" = 10\n "IOPlatformUUID" = "{UUID}"\n'
    f' "IOPlatformSerialNumber" = "{SERIAL}"\n',
    "pmset_g": " sleep  1 (sleep prevented by jdoe-secret-app, caffeinate)\n",
    "pmset_batt": " -InternalBattery-0 (id=22806627)\t100%; charged; 0:00 remaining\n",
    "powermetrics": "Boot arguments: jdoe=1\nMachine model: Mac16,1\n",
    "crash_footer": f"Model: Mac16,1, 16 GB\nBluetooth: jdoe\nNetwork Service: Wi-Fi, {MAC}\n",
    "notes": f"Apple M4, at /Users/jdoe/x of jdoe-macbook, {MAC}, 192.168.178.23, fe80::1c2b:3d4e:5f60:7182, {UUID}",
    "cpuinfo": f"model name\t: Cortex\nSerial\t\t: {SERIAL}\nuuid : {UUID}\n",
    "dmi": f"product_name: XPS\nproduct_serial: {SERIAL}\nproduct_uuid: {UUID}\n",
    "dmi_memory": f"E:MEMORY_DEVICE_0_SIZE=8589934592\nE:MEMORY_DEVICE_0_SERIAL_NUMBER={SERIAL}\nE:SERIAL={SERIAL}\n",
    "power_supply": f"AC: 1\nhid-{MAC}-battery: 1\n",
    "os_release": 'NAME="Debian"\nHOME_URL="https://jdoe.example"\nMACHINE_ID=22806627\n',
    "device_tree": f"model: Apple MacBook\nserial-number: {SERIAL}\n",
}
SECRETS = ("jdoe", SERIAL, UUID, MAC, "192.168", "fe80", "22806627", "424242", "secret")


def new(folder: Path) -> Path:
    """A folder for a bundle."""
    make_new(folder / "bundle")
    return folder / "bundle"


class Telling:
    """A machine that tells everything."""

    def text(self, source: str) -> str | None:
        """Its outputs."""
        return TELLING.get(source)


@pytest.fixture
def jdoe(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is the computer of one John Doe."""
    monkeypatch.setattr(platform, "node", lambda: "jdoe-macbook.local")
    monkeypatch.setattr(getpass, "getuser", lambda: "jdoe")
    monkeypatch.setattr(Path, "home", lambda: Path("/Users/jdoe"))


@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_the_bundle_of_a_recorded_machine_replays_to_the_same_fingerprint(folder: Path, tmp_path: Path) -> None:
    probe = replay_probe(folder)
    write(new(tmp_path), probe, NOTHING)
    assert fingerprint(replay_probe(tmp_path / "bundle")) == fingerprint(probe)


def test_the_bundle_of_this_machine_replays_to_its_fingerprint(tmp_path: Path) -> None:
    probe = Remembered(local_probe())
    write(new(tmp_path), probe, NOTHING)
    assert fingerprint(replay_probe(tmp_path / "bundle")) == fingerprint(probe)


def test_a_bundle_of_a_bundle_is_the_same_bundle(tmp_path: Path) -> None:
    first = recorded(Remembered(local_probe()))
    write(new(tmp_path), Remembered(local_probe()), NOTHING)
    assert recorded(replay_probe(tmp_path / "bundle")).keys() == first.keys()


@pytest.mark.usefixtures("jdoe")
def test_nothing_that_tells_a_person_or_a_computer_apart_is_in_a_bundle(tmp_path: Path) -> None:
    busy = (Busy(name="jdoe-secret-app", percent=99.0),)
    write(
        new(tmp_path),
        Telling(),
        Sight(machine=Machine(), software=Software(), conditions=Conditions(), busy=busy),
    )
    written = {path.name: path.read_text() for path in (tmp_path / "bundle").iterdir()}
    assert len(written) == len(TELLING) + 2
    for name, text in written.items():
        for secret in SECRETS:
            assert secret.lower() not in text.lower(), (name, secret)


@pytest.mark.usefixtures("jdoe")
def test_what_a_bundle_is_for_stays() -> None:
    kept = recorded(Telling())
    assert '"chip_type": "Apple M4"' in kept["system_profiler_hardware.json"]
    assert '"sppci_model": "Apple M4"' in kept["system_profiler_displays.json"]
    assert kept["sysctl.txt"] == "hw.model: Mac16,1\n"
    assert "gpu-core-count" in kept["ioreg_ioaccelerator.txt"]
    assert kept["pmset_g.txt"].startswith(" sleep  1 (sleep prevented by ")
    assert kept["dmi_memory.txt"] == "E:MEMORY_DEVICE_0_SIZE=8589934592\n"
    assert kept["power_supply.txt"] == "AC: 1\n"


def test_every_source_has_a_rule_and_a_file_name_that_it_is_read_from(tmp_path: Path) -> None:
    assert set(RULES) == set(SOURCES)
    for source in SOURCES:
        folder = tmp_path / source
        folder.mkdir()
        (folder / file_name(source)).write_text("x")
        assert replay_probe(folder).text(source) == "x"


def test_the_text_of_a_truncated_output_breaks_off_at_the_same_place() -> None:
    text = '{"SPHardwareDataType": [{"chip_type": "Apple M4", "serial_number": "C02XK'
    assert redact("hardware_json", text) == '{"SPHardwareDataType": [{"chip_type": "Apple M4", "serial_number": "'


def test_values_of_a_list_belong_to_the_key_above_it() -> None:
    text = '{"serial_number": [{"chip_type": "Apple M4"}, "C02XK", 17], "chip_type": ["Apple M4", 4]}'
    expected = '{"serial_number": [{"chip_type": "Apple M4"}, "removed", 0], "chip_type": ["Apple M4", 4]}'
    assert redact("hardware_json", text) == expected


@settings(deadline=None)
@given(st.text(), st.sampled_from(sorted(SOURCES)))
def test_no_output_breaks_its_rule(text: str, source: str) -> None:
    assert isinstance(redact(source, text), str)


leaves = st.text(alphabet="QXZ", min_size=3) | st.integers(min_value=10_000)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["serial", "udid", "_name"]), inner)
)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["serial", "udid"]), trees), st.integers(min_value=0, max_value=200))
def test_no_value_of_an_unknown_key_is_left_wherever_the_text_breaks_off(tree: object, cut: int) -> None:
    left = redact("hardware_json", json.dumps(tree)[:cut])
    assert not set(left) & set("QXZ123456789")
    loads(left)


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    make_new(tmp_path)
    make_new(tmp_path / "new" / "deeper")
    assert (tmp_path / "new" / "deeper").is_dir()
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageProblem, match="not taken"):
        make_new(tmp_path)
    with pytest.raises(UsageProblem, match="not taken"):
        make_new(tmp_path / "mine.txt")


def test_a_bundle_says_what_it_is_and_that_one_should_look_at_it(tmp_path: Path) -> None:
    write(new(tmp_path), Telling(), NOTHING)
    text = (tmp_path / "bundle/README.txt").read_text()
    assert "Look through all of it before you share it" in text
    assert "  sysctl.txt\n" in text
    assert {"check", "state", "what", "remedy"} == set(json.loads((tmp_path / "bundle/doctor.json").read_text())[0])
