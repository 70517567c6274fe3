"""Nothing that tells a person or a computer apart reaches the database, a printed answer, a bundle or the site.

It is planted in the output of every source and in every way in which a case can fail.
"""

import functools
import getpass
import json
import os
import platform
import pwd
import re
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_collector import budget, doctor, sitting
from metalmark_collector.commands import doctor as doctor_command
from metalmark_collector.doctor.bundle import file_name, recorded
from metalmark_collector.fingerprint import (
    Probe,
    fingerprint,
    read_conditions,
    read_machine,
    read_software,
    replay_probe,
)
from metalmark_collector.fingerprint.process import result_variables
from metalmark_collector.fingerprint.sources import SOURCES
from metalmark_collector.plan import make_plan
from metalmark_collector.progress import Progress, StartWorker
from metalmark_collector.watch import watcher
from metalmark_db.cli import main
from metalmark_db.engine import open_database
from metalmark_db.words import Effort, Outcome
from metalmark_site.builder import build

FIXTURES = Path(__file__).parents[1] / "data/fixtures"
MACHINES = sorted(path.parent for path in FIXTURES.glob("*/*/expected.json"))
Hostile = Callable[..., StartWorker]

USER, HOST, HOME = "jane.quux", "Janes-MacBook-Pro.local", "/Users/jane.quux"
SERIAL, UUID, UDID = "C02XK1ABJGH5", "0E3F4A52-1B2C-4D5E-8F90-123456789ABC", "00008103-001A2B3C4D5E001E"
MAC, IPV4, IPV6 = "3c:22:fb:aa:01:02", "192.168.178.23", "fe80::1c2b:3d4e:5f60:7182"
# Whatever of it is found anywhere, in capitals or not, is a leak.
NEEDLES = (
    *("quux", "janes-macbook", "jane\u2019s", SERIAL, UUID, UDID, MAC, IPV4, IPV6),
    *("secret-project", "qx/k3jv9x4s", "/Users/jane", "/home/frid", "fridolin"),
)

# Lines as such outputs have them, on either system; none is a value that a reader may take.
LINES = f"""
      Serial Number (system): {SERIAL}
      Hardware UUID: {UUID}
      Provisioning UDID: {UDID}
      Computer Name: Jane\u2019s MacBook Pro
      User Name: Jane Quux ({USER})
kern.hostname: {HOST}
kern.uuid: {UUID}
  "IOPlatformSerialNumber" = "{SERIAL}"
  "IOPlatformUUID" = "{UUID}"
product_serial: {SERIAL}
product_uuid: {UUID}
E:MEMORY_DEVICE_0_SERIAL_NUMBER={SERIAL}
hid-{MAC}-battery: 1
	ether {MAC}
	inet {IPV4} netmask 0xffffff00
	inet6 {IPV6}%en0 prefixlen 64
Home: {HOME}/secret-project/run.py, /home/fridolin/x, /private/var/folders/qx/k3jv9x4s/T/
(sleep prevented by {USER})
"""
KEYS = json.dumps(
    {
        "machine_name": "Jane\u2019s MacBook Pro",
        "serial_number": SERIAL,
        "platform_UUID": UUID,
        "provisioning_UDID": UDID,
        "_name": HOST,
        "user": USER,
        "home": HOME,
        "address": [MAC, IPV4, IPV6],
    }
)
VARIABLES = {
    "PYTORCH_KERNEL_CACHE_PATH": f"{HOME}/secret-project",
    "TORCHINDUCTOR_CACHE_DIR": "/private/var/folders/qx/k3jv9x4s/T/torchinductor_jane.quux",
    "OMP_PLACES": "{0:4}",
    "OMP_NUM_THREADS": "4",
    "KMP_AFFINITY": IPV4,
    "MKL_DEBUG": USER,
    "HOME": HOME,
    "SSH_CLIENT": IPV4,
}
CONFESSION = (
    f'Traceback:\n  File "{HOME}/secret-project/my net.py", line 3, in {USER}\n{LINES}\n'
    f"loc of {HOST} at {IPV4}. {IPV6}: refused; {UUID}; {SERIAL}; cwd=/home/fridolin; fridolin: no\n"
    f"The operator '{HOME}/secret-project/aten::x' is not currently supported on the MPS backend and will fall back\n"
)


class Planted:
    """A recorded machine that tells everything of its owner and of itself, in every output."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def text(self, source: str) -> str:
        """Its output; where none was recorded, what is planted alone."""
        text = self._probe.text(source)
        if source == "process":
            return json.dumps({**json.loads(text or "{}"), "environment": VARIABLES, **json.loads(KEYS)})
        if "json" in SOURCES[source].recorded[0] or (text or "").lstrip().startswith("{"):
            return re.sub(r"\{", lambda _: KEYS[:-1] + ", ", text) if text else KEYS
        return f"{text or ''}\n{LINES}"


@pytest.fixture
def jane(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is Jane's computer, and her variables are set."""
    monkeypatch.setattr(platform, "node", lambda: HOST)
    monkeypatch.setattr(socket, "gethostname", lambda: HOST)
    monkeypatch.setattr(getpass, "getuser", lambda: USER)
    account = pwd.struct_passwd((USER, "x", 501, 20, "Jane Quux,,,", HOME, "/bin/zsh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: account)
    monkeypatch.setattr(Path, "home", lambda: Path(HOME))
    for name, value in VARIABLES.items():
        if name not in ("HOME", "TORCHINDUCTOR_CACHE_DIR", "KMP_AFFINITY", "OMP_PLACES"):  # torch obeys these
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("CONFESSION", CONFESSION)


def leaks(texts: Iterable[str | bytes]) -> set[str]:
    """What of Jane is in these texts."""
    lower = [(text if isinstance(text, bytes) else text.encode()).lower() for text in texts]
    return {needle for needle in NEEDLES if any(needle.lower().encode() in text for text in lower)}


def test_the_search_finds_what_is_planted() -> None:
    probe = Planted(replay_probe(MACHINES[0]))
    assert leaks(probe.text(source) for source in SOURCES) == set(NEEDLES)
    assert leaks([CONFESSION]) == set(NEEDLES)


@pytest.mark.usefixtures("jane")
@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_no_reader_takes_it_from_any_output(folder: Path) -> None:
    probe = Planted(replay_probe(folder))
    assert leaks([repr(read(probe)) for read in (read_machine, read_software, read_conditions)]) == set()
    assert leaks([json.dumps(fingerprint(probe), ensure_ascii=False)]) == set()


@pytest.mark.usefixtures("jane")
@pytest.mark.parametrize("folder", MACHINES, ids=lambda folder: folder.name)
def test_no_bundle_holds_it(folder: Path) -> None:
    assert leaks(recorded(Planted(replay_probe(folder))).values()) == set()


def test_of_variables_only_names_of_the_list_and_plain_values_are_kept() -> None:
    kept = result_variables(VARIABLES)
    assert kept == {
        "KMP_AFFINITY": "(set)",
        "MKL_DEBUG": "(set)",
        "OMP_NUM_THREADS": "4",
        "OMP_PLACES": "{0:4}",
        "PYTORCH_KERNEL_CACHE_PATH": "(set)",
        "TORCHINDUCTOR_CACHE_DIR": "(set)",
    }


@pytest.fixture
def stored(tmp_path: Path, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, jane: None) -> Path:
    """The database of a run on Jane's Mac, of which every case tells everything, each in its way."""
    tricks = {
        "lenet5_train_b128": "confess",
        "resnet18_infer_b32": "confess_and_die",
        "matmul_2048": "confess_and_work",
    }
    start = hostile(**tricks)
    monkeypatch.setattr(sitting, "Progress", functools.partial(Progress, start_worker=start))
    monkeypatch.setattr(budget, "iteration_s", lambda *_: 1e-3)  # estimates are for real sizes
    engine = open_database(str(tmp_path / "m.sqlite"))
    plan = make_plan(Effort.QUICK, ["cpu"], seed=1, only=[name.replace("_", "-") for name in tricks])
    probe = Planted(replay_probe(FIXTURES / "macos/macbookair-m4-macos15"))
    request = sitting.Request(size="tiny", check=False)
    with watcher(plan) as lines:
        ended = sitting.sit(engine, request, plan, lines, probe)
    assert {case.outcome for case in ended.cases} == {Outcome.ERROR, Outcome.CRASH, Outcome.OK}
    assert all(case.detail for case in ended.cases if case.outcome is not Outcome.OK)
    engine.dispose()
    return tmp_path / "m.sqlite"


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the program prints."""
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(words)
    printed = capsys.readouterr().out
    json.loads(printed)
    return printed


def test_neither_database_nor_answers_nor_site_hold_it(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = ("--db", str(stored))
    engine = open_database(str(stored))
    tables = sa.inspect(engine).get_table_names()
    everything = [f"select * from {table}" for table in (*tables, "results")]  # noqa: S608 - names of our own tables
    queries = [asked(capsys, "query", query, "--json", *db) for query in everything]
    assert leaks(path.read_bytes() for path in stored.parent.glob("m.sqlite*")) == set()
    assert leaks(queries) == set()
    assert "(set)" in "".join(queries)
    assert leaks([asked(capsys, "show", "--json", *db)]) == set()
    out = build(engine, tmp_path / "site").out
    assert leaks(path.read_bytes() for path in out.rglob("*") if path.is_file()) == set()
    engine.dispose()


@pytest.mark.usefixtures("jane")
def test_fingerprint_and_doctor_tell_it_to_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, hostile: Hostile
) -> None:
    planted = Planted(replay_probe(FIXTURES / "macos/macbookair-m4-macos15"))
    for source in SOURCES:
        path = tmp_path / "replay" / file_name(source)
        path.parent.mkdir(exist_ok=True)
        path.write_text(planted.text(source))
    assert leaks([asked(capsys, "fingerprint", "--json", "--replay", str(tmp_path / "replay"))]) == set()
    monkeypatch.setenv("METALMARK_DB", f"sqlite:///{tmp_path}/Users/jane.quux/m.sqlite")
    monkeypatch.setattr(doctor_command, "local_probe", lambda: planted)
    observe = functools.partial(doctor.observe, start=hostile())
    monkeypatch.setattr(doctor, "observe", observe)
    bundle = tmp_path / "bundle"
    assert leaks([asked(capsys, "doctor", "--json", "--bundle", str(bundle))]) == set()
    assert leaks(path.read_bytes() for path in bundle.iterdir()) == set()
    assert (bundle / "doctor.json").exists()
    assert os.environ["OMP_NUM_THREADS"] == "4"
