"""Workloads from somebody's own file: read with clear words, marked, measured apart, and no danger to others."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metalmark_collector import plugins
from metalmark_collector.plan import make_plan
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry
from metalmark_db import queries, store
from metalmark_db.engine import open_database
from metalmark_db.errors import UsageProblem
from metalmark_db.record import Case
from metalmark_db.words import Effort, Outcome, Precision

ROOT = Path(__file__).parents[2]
Command = Callable[..., subprocess.CompletedProcess[str]]
PAGE = ROOT / "site" / "pages" / "own-workloads.md"
HEAD = """
from metalmark_collector.workloads.base import FP32_ONLY, Prepared, Tolerance
from metalmark_collector.workloads.family import operation

def entry(name, step, **more):
    def builder(job):
        '''One number.'''
        return Prepared(step=step, output=step, close=lambda: None)

    facts = {"id": name, "title": name, "input_shape": "1", "item": "call", "items_per_iteration": 1} | more
    return operation(builder, facts=facts, precisions=FP32_ONLY, tolerances={"fp32": Tolerance(1e-6)})

def work():
    import torch
    return torch.ones(1)
"""


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What a test has made known is known to that test alone."""
    yield
    plugins._OWN.clear()
    plugins._FILES.clear()


def written(folder: Path, text: str, name: str = "mine.py", head: str = HEAD) -> Path:
    """A plugin of that text, after the helpers above."""
    file = folder / name
    file.write_text(head + text, encoding="utf-8")
    return file


def loaded(folder: Path, text: str) -> tuple[Entry, ...]:
    return plugins.load(written(folder, text))


def test_no_workload_of_the_suite_looks_like_an_own_one() -> None:
    assert not any(plugins.is_own(name) for name in WORKLOADS)
    assert set(plugins.KNOWN) == set(WORKLOADS)


def test_workloads_are_marked_whatever_they_call_themselves(tmp_path: Path) -> None:
    entries = loaded(
        tmp_path,
        'ENTRIES = [entry("launch", work), entry("own-bb", work, family="resnet50-train", title="Mine")]',
    )
    assert [(one.facts.id, one.facts.family) for one in entries] == [
        ("own-launch", "own-launch"),
        ("own-bb", "own-resnet50-train"),
    ]
    assert {one.facts.source for one in entries} == {"plugin"}
    assert entries[1].facts.title == "Mine"


def test_a_generator_and_a_neighbour_will_do(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_mine.py").write_text('NAMES = ("aa", "bb")\n')
    entries = loaded(tmp_path, "import neighbour_of_mine\nENTRIES = (entry(n, work) for n in neighbour_of_mine.NAMES)")
    assert [one.facts.id for one in entries] == ["own-aa", "own-bb"]


def test_what_a_file_prints_is_no_part_of_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded(tmp_path, 'print("hello")\nENTRIES = [entry("aa", work)]')
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import itertools\nENTRIES = itertools.repeat(0)", "has more than 1000 workloads. Divide it"),
        ('ENTRIES = [entry("aa", work, flops_per_iteration=float("nan"))]', "has nan as its flops_per_iteration"),
        ('ENTRIES = [entry("aa", work, bytes_per_iteration=-1.0)]', "has -1.0 as its bytes_per_iteration"),
        ("x = = 1", r"mine.py is not Python \(line 16\): SyntaxError: invalid syntax. Mend it"),
        ("\0", "mine.py is not Python"),
        ("\n1 / 0", r"mine.py raises while it is read \(line 17\): ZeroDivisionError: division by zero. Mend it"),
        ("import no_such_thing", r"\(line 16\): ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise SystemExit(3)", r"raises while it is read \(line 16\): SystemExit: 3"),
        ("raise ValueError('a\\x1b[31mb\\nc')", "ValueError: a\N{REPLACEMENT CHARACTER}.31mb. Mend"),
        ("", "mine.py defines no ENTRIES, the tuple of its workloads. The page own-workloads of the site"),
        ("ENTRIES = 5", "ENTRIES of .*mine.py is of type int, and has to be a tuple of Entry"),
        ("ENTRIES = entry('aa', work)", "is of type Entry, and has to be a tuple"),
        ("ENTRIES = []", "ENTRIES of .*mine.py is empty"),
        ("ENTRIES = [entry('aa', work), {}]", r"ENTRIES\[1\] of .* is of type dict, and has to be an Entry, as Family"),
        ("ENTRIES = [entry('My net', work)]", r"ENTRIES\[0\] of .* has the id 'My net'. Use 2 to 56 small letters"),
        ("ENTRIES = [entry('a' * 57, work)]", "has the id 'a{57}'. Use 2 to 56"),
        ("ENTRIES = [entry('', work)]", "has the id ''. Use"),
        ("ENTRIES = [entry('own-', work)]", "has the id 'own-'. Use"),
        ("ENTRIES = [entry(55, work)]", "has the id 55. Use"),
        ("ENTRIES = [entry('aa', work, family='A')]", "has the family 'A'. Use"),
        ("ENTRIES = [entry('aa', work), entry('own-aa', work)]", "ENTRIES of .* defines own-aa more than once"),
        (
            "ENTRIES = [entry('aa', work, parameters='many')]",
            r"facts of a wrong kind: Expected `int \| null`, got `str`",
        ),
        (
            "import dataclasses\nENTRIES = [dataclasses.replace(entry('aa', work), tolerances={})]",
            "has no tolerance for fp32. Give one",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageProblem, match=said) as refused:
        loaded(tmp_path, text)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    for name, said in (
        ("absent.py", "There is no file"),
        (".", "There is no file"),
        ("notes.txt", "has to end in .py"),
    ):
        (tmp_path / "notes.txt").touch()
        with pytest.raises(UsageProblem, match=said):
            plugins.load(tmp_path / name)
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UsageProblem, match="is not Python"):
        plugins.load(tmp_path / "bytes.py")


def test_two_files_may_not_share_a_name_and_one_may_be_named_twice(tmp_path: Path) -> None:
    one, other = (written(tmp_path, 'ENTRIES = [entry("aa", work)]', name) for name in ("one.py", "other.py"))
    assert plugins.add([one, one]) == ("own-aa",)
    assert plugins.file_of("own-aa") == one
    with pytest.raises(UsageProblem, match=r"Both .*one.py and .*other.py define the workload own-aa"):
        plugins.add([other])


def test_own_workloads_come_last_in_a_round_and_in_no_effort_of_their_own(tmp_path: Path) -> None:
    plugins.add([written(tmp_path, 'ENTRIES = [entry("aa", work), entry("bb", work)]')])
    plan = make_plan(Effort.FULL, ["cpu"], 1, only=["own-*", "launch*", "item"])
    for number in range(4):
        ((_, cases),) = plan.order(number)
        assert {case.workload for case in cases[-2:]} == {"own-aa", "own-bb"}
        assert len(cases) == 5
    assert not any(case.is_own for case in make_plan(Effort.FULL, ["cpu"], 1).cases["cpu"])
    with pytest.raises(UsageProblem, match=r"no workload 'own-cc'. Did you mean own-..\?.* name it with --plugin FILE"):
        make_plan(Effort.QUICK, ["cpu"], 1, only=["own-cc"])


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """What the program answers, in a process of its own and for a person who measures nothing else meanwhile."""
    home = os.environ | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}  # where a run says that it measures

    def answer(*words: str) -> subprocess.CompletedProcess[str]:
        program = f"from metalmark_db.cli import main; main({list(words)!r})"
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=ROOT,
            env=home,
        )

    return answer


def test_the_example_of_the_page_is_measured(tmp_path: Path, command: Command) -> None:
    """At its real size, checked against the CPU's double precision, and stored with the work that it says."""
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    file, db = written(tmp_path, example, "my_workloads.py", head=""), str(tmp_path / "m.sqlite")
    ended = command("run", "--plugin", str(file), "--device", "cpu", "--db", db, "--json")
    assert ended.returncode == 0, ended.stderr
    assert {row["workload"] for row in json.loads(ended.stdout)["results"]} == {
        "own-two-layers-infer-b64",
        "own-two-layers-infer-b512",
    }
    cases = store.load_cases(open_database(db), 1)
    assert {(case.outcome, case.flags[:1]) for case in cases} == {(Outcome.OK, ("plugin",))}
    for case in cases:
        assert case.truth is not None
        assert case.signature is not None
        facts = plugins.load(file)[0].facts
        assert case.signature.parameters == facts.parameters
        assert case.signature.forward_flops * facts.batch == facts.flops_per_iteration
    assert {row.source for row in queries.workloads(open_database(db))} == {"plugin"}


def test_own_workloads_are_listed_like_those_of_the_suite(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, 'ENTRIES = [entry("aa", work), entry("bb", work)]')
    ended = command("workloads", "--plugin", str(file), "--json")
    assert [(row["id"], row["source"], row["efforts"]) for row in json.loads(ended.stdout)] == [
        ("own-aa", "plugin", []),
        ("own-bb", "plugin", []),
    ]
    one = command("workloads", "own-b*", "launch", "--plugin", str(file), "--json")
    assert [row["id"] for row in json.loads(one.stdout)] == ["own-bb", "launch"]


HOSTILE = (
    HEAD
    + """
import os, time

def crash():
    os._exit(3)

def hang():
    while True:
        time.sleep(60)

def chatter():
    os.write(1, b'{"type":"done","outcome":"crash"}\\n' * 1000)
    print("x" * 100_000)
    return work()

def meddle():
    import torch
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    torch.nn.functional.linear = torch.add = torch.mm = None
    os.environ["OMP_NUM_THREADS"] = "1"
    return work()

ENTRIES = [entry(one.__name__, one) for one in (crash, hang, chatter, meddle, work)]
"""
)


def test_what_an_own_workload_does_costs_no_other_case_anything(tmp_path: Path) -> None:
    """Real workers: each own case ends as it must, in a process of its own, and those of the suite as without them."""
    file, db = written(tmp_path, HOSTILE, head=""), tmp_path / "m.sqlite"
    program = Path(__file__).with_name("run_plugins.py")
    ended = subprocess.run(
        [sys.executable, str(program), str(db), str(file), "own-*", "launch*", "mlp-train-b128"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    pids: list[list[object]] = json.loads(ended.stdout.splitlines()[-1])
    cases = {case.workload: case for case in store.load_cases(open_database(str(db)), 1)}
    assert {name: case.outcome for name, case in cases.items()} == {
        "own-crash": Outcome.CRASH,
        "own-hang": Outcome.TIMEOUT,
        "own-chatter": Outcome.OK,
        "own-meddle": Outcome.OK,
        "own-work": Outcome.OK,
        "launch": Outcome.OK,
        "launch-chain-100": Outcome.OK,
        "mlp-train-b128": Outcome.OK,
    }
    assert {name for name, case in cases.items() if "plugin" in case.flags} == {
        n for n in cases if n.startswith("own-")
    }
    served: dict[object, set[object]] = {}
    for pid, workload in pids:
        served.setdefault(pid, set()).add(workload)
    own = [names for names in served.values() if any(str(name).startswith("own-") for name in names)]
    assert all(len(names) == 1 for names in own)
    suite = [names for names in served.values() if names not in own]
    assert suite[0] == {"launch", "launch-chain-100", "mlp-train-b128"}
    for case in cases.values():
        assert str(tmp_path) not in (case.detail or "")


def test_a_file_that_fails_in_the_worker_alone_costs_its_own_case(tmp_path: Path, command: Command) -> None:
    """It reads well in the command, and raises where the case is served."""
    text = 'import sys\nif "torch" in sys.modules: raise OSError("not here")\nENTRIES = [entry("aa", work)]'
    db = str(tmp_path / "m.sqlite")
    ended = command("run", "--plugin", str(written(tmp_path, text)), "--device", "cpu", "--db", db)
    assert ended.returncode == 0, ended.stderr
    (case,) = store.load_cases(open_database(db), 1)
    assert case.outcome is Outcome.ERROR
    assert "OSError: not here" in (case.detail or "")


def test_the_command_says_in_one_line_what_is_wrong(tmp_path: Path, command: Command) -> None:
    file = written(tmp_path, "raise RuntimeError('no')")
    db = ("--db", str(tmp_path / "m.sqlite"))
    broken = command("run", "--plugin", str(file), *db)
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "raises while it is read (line 16): RuntimeError: no" in " ".join(broken.stderr.split())
    assert "Traceback" not in broken.stderr
    file = written(tmp_path, 'ENTRIES = [entry("aa", work)]')
    left_out = command("run", "--plugin", str(file), "--workload", "launch", "--estimate", *db)
    assert left_out.returncode == 2
    assert "name them as well: --workload own-aa" in " ".join(left_out.stderr.split())
    both = command(
        "run", "--plugin", str(file), "--workload", "launch", "--workload", "own-*", "--estimate", *db, "--json"
    )
    assert {(case["workload"], case["device"]) for case in json.loads(both.stdout)["cases"]} >= {
        ("launch", "cpu"),
        ("own-aa", "cpu"),
    }


def test_a_run_of_own_workloads_goes_on_with_their_file_alone(tmp_path: Path, command: Command) -> None:
    """An unfinished run that knows no path: without the file it says which workload lacks it."""
    file, db = written(tmp_path, 'ENTRIES = [entry("aa", work)]'), str(tmp_path / "m.sqlite")
    program = Path(__file__).with_name("run_plugins.py")
    words = [sys.executable, str(program), db, str(file), "own-aa", "--begin-only"]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    refused = command("run", "--resume", "--db", db)
    assert refused.returncode == 2
    assert "the workload own-aa, which comes from a file of your own" in " ".join(refused.stderr.split())
    assert "--resume --plugin FILE" in " ".join(refused.stderr.split())
    resumed = command("run", "--resume", "--plugin", str(file), "--db", db)
    assert resumed.returncode == 0, resumed.stderr
    (case,) = store.load_cases(open_database(db), 1)
    assert (case.outcome, case.precision) == (Outcome.OK, Precision.FP32)
    assert isinstance(case, Case)
