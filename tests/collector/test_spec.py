"""What decides the cost of a workload is pinned: it cannot change under the same version without being noticed."""

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from metalmark_collector.spec import our_code, spec_digest
from metalmark_collector.syntax import source
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Prepared
from metalmark_db.record import Workload
from metalmark_db.words import Mode, Precision, Task

PIN = Path(__file__).with_name("pin_workloads.py")
PACKAGE = "metalmark_collector.workloads"
Told = tuple[int, str]


def pins(*words: str) -> Told:
    """What the program that pins says, and whether it found anything."""
    found = subprocess.run([sys.executable, str(PIN), *words], capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr


def test_no_workload_has_changed_under_its_version() -> None:
    code, told = pins()
    assert code == 0, f"\n{told}"


@pytest.fixture
def changed_pin(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of pins in which that of one workload says something else."""

    def make(**pin: object) -> Path:
        path = tmp_path / "pins.json"
        assert pins("--pin", "--file", str(path)) == (0, "\n")
        known = json.loads(path.read_text())
        known["launch"] |= pin
        path.write_text(json.dumps(known))
        return path

    return make


@pytest.mark.parametrize(
    ("pin", "told", "helps"),
    [
        ({"digest": "0" * 16}, "launch: What decides their cost has changed under the same version.", "--same-work"),
        ({"version": 2}, "launch: Their version is lower than one that was pinned", None),
        ({"version": 0, "digest": "0" * 16}, "launch: They have a new version; pin it", "--pin"),
    ],
)
def test_what_has_changed_is_named_with_what_to_do(
    changed_pin: Callable[..., Path], pin: dict[str, object], told: str, helps: str | None
) -> None:
    file = ("--file", str(changed_pin(**pin)))
    code, said = pins(*file)
    assert (code, said.count(":") > 0) == (1, True)
    assert said.startswith(told)
    assert "launch-chain" not in said
    assert pins("--pin", *file)[0] == int(helps != "--pin")  # work that changed is not pinned by the way
    if helps == "--same-work":
        assert pins("--pin", "--same-work", *file) == (0, "\n")


def test_new_and_missing_workloads_are_named(tmp_path: Path) -> None:
    path = tmp_path / "pins.json"
    path.write_text(json.dumps({"gone": {"version": 1, "digest": "0" * 16}}))
    code, told = pins("--file", str(path))
    assert code == 1
    assert "lenet5-train-b128, " in told
    assert "gone: They are pinned and no longer in the suite" in told


def changed(module: str, old: str, new: str) -> set[str]:
    """The workloads whose digest changes when a module of the package reads otherwise."""
    path = f"metalmark_collector.{module}"
    assert old in source(path)

    def read(name: str) -> str:
        return source(name).replace(old, new) if name == path else source(name)

    code = our_code(read)
    return {name for name, entry in WORKLOADS.items() if spec_digest(entry, code) != spec_digest(entry)}


NETWORKS = {name for name, entry in WORKLOADS.items() if entry.network is not None}
SGD = {name for name, entry in WORKLOADS.items() if "SGD" in (entry.facts.optimizer or "")}
LLAMA = {name for name in WORKLOADS if name.startswith("llama-")}
BERT = {name for name in WORKLOADS if name.startswith("bert-")}
PREFILL, DECODE = sorted(LLAMA, reverse=True)


@pytest.mark.parametrize(
    ("module", "old", "new", "whose"),
    [
        ("workloads.llama", "PROMPT = 512", "PROMPT = 256", LLAMA),  # a constant
        ("workloads.llama", '"hidden_size": 2048', '"hidden_size": 1024', LLAMA),  # one of a table
        ("workloads.bert", "module.weight *= 3", "module.weight *= 2", BERT),  # a function that is called
        ("workloads.building.weights", "norm.momentum = None", "norm.momentum = 0.1", NETWORKS),  # by another module
        ("workloads.building.llama", "self.before = before", "self.before = before + 1", {DECODE}),  # a class
        ("workloads.building.operations", "result[0, 0].item()", "result[1, 1].item()", {"item"}),
        ("workloads.building.operations", "range(count - 1)", "range(count)", {"item", "launch", "launch-chain-100"}),
        ("workloads.family", '"momentum": 0.9', '"momentum": 0.8', SGD),  # a constant of another module
        ("workloads.building.steps", "self.optimizer.step()", "self.optimizer.step(None)", {"training"}),
        ("workloads.building.formats", "1024.0", "512.0", {"training"}),  # the scale of the loss
        ("settings", "cudnn.benchmark = False", "cudnn.benchmark = True", set(WORKLOADS)),
        ("settings", '"high" if tf32', '"medium" if tf32', set(WORKLOADS)),
    ],
)
def test_what_changes_the_work_changes_the_digests_of_those_that_do_it(
    module: str, old: str, new: str, whose: set[str]
) -> None:
    if whose == {"training"}:
        whose = {name for name, entry in WORKLOADS.items() if entry.facts.task is Task.TRAIN}
    assert changed(module, old, new) == whose


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("workloads.resnet", "One of the models of", "Not one of the models of"),  # a docstring
        ("workloads.building.llama", "# random numbers, of", "# numbers, of"),
        ("workloads.building.steps", "def step(self) -> torch.Tensor:", "def step(self):"),
        ("workloads.building.llama", "        self.kept: torch.Tensor\n", ""),
        ("workloads.building.weights", "import copy\n", "import copy\n\nimport abc\n"),  # one that nobody uses
        ("workloads.building.steps", "    output: torch.Tensor = self.forward", "    output = self.forward"),
        ("workloads.bert", '"hidden_size": 32,\n', '"hidden_size":\n 32,\n\n'),
        ("workloads.mlp", "tf32=Tolerance(9e-4", "tf32=Tolerance(8e-4"),  # what is judged, not what is done
        ("workloads.vit", "for batch in (1, 16, 32)", "for batch in (1, 16, 32, 64)"),  # another variant
    ],
)
def test_what_changes_nothing_changes_no_digest(module: str, old: str, new: str) -> None:
    assert changed(module, old, new) == set()


def test_the_order_of_a_table_says_nothing() -> None:
    old = '"hidden_size": 2048,\n    "intermediate_size": 5632,'
    assert changed("workloads.llama", old, '"intermediate_size": 5632, "hidden_size": 2048,') == set()
    entry = WORKLOADS["matmul-512"]
    turned = dict(reversed(list(entry.precisions.items())))
    assert spec_digest(replace(entry, precisions=turned)) == spec_digest(entry)


def test_what_a_builder_and_inputs_are_given_counts() -> None:
    entry = WORKLOADS["matmul-512"]
    assert isinstance(entry.builder, functools.partial)
    larger = functools.partial(entry.builder.func, side=513)
    assert spec_digest(replace(entry, builder=larger)) != spec_digest(entry)
    bert, long = WORKLOADS["bert-base-infer-t128-b4"], WORKLOADS["bert-base-infer-t512-b8"]
    assert spec_digest(replace(bert, network=long.network)) != spec_digest(bert)


OTHER: dict[str, object] = {
    "id": "other",
    "version": 2,
    "task": Task.OPERATION,
    "batch": 5,
    "input_shape": "5",
    "items_per_iteration": 5.0,
    "flops_per_iteration": 5.0,
    "bytes_per_iteration": 5.0,
    "parameters": 5,
    "model": "other",
    "loss": "other",
    "optimizer": "other",
}
WORDS = {"family", "variant", "title", "source", "item", "description"}


@pytest.mark.parametrize("name", Workload.__struct_fields__)
def test_facts_of_cost_count_and_words_do_not(name: str) -> None:
    entry = WORKLOADS["lenet5-train-b128"]
    facts = msgspec.structs.replace(entry.facts, **{name: OTHER.get(name, "other")})
    assert (spec_digest(replace(entry, facts=facts)) == spec_digest(entry)) == (name in WORDS)


def test_precisions_and_modes_count() -> None:
    entry = WORKLOADS["lenet5-train-b128"]
    for other in (
        replace(entry, modes=(Mode.EAGER,)),
        replace(entry, precisions=dict(entry.precisions) | {"cpu": (Precision.FP32,)}),
    ):
        assert spec_digest(other) != spec_digest(entry)


def _with_builder(builder: Callable[[Job], Prepared]) -> Entry:
    return replace(WORKLOADS["launch"], builder=builder)


def pinned_at(job: Job, path: Path) -> Prepared:
    """A builder that is given what no spec can tell."""
    del path
    return WORKLOADS["launch"].builder(job)


def test_what_cannot_be_told_is_refused() -> None:
    def inner(job: Job) -> Prepared:
        return WORKLOADS["launch"].builder(job)

    with pytest.raises(TypeError, match="define the function at the top of its module"):
        spec_digest(_with_builder(inner))
    with pytest.raises(TypeError, match="what a PosixPath is"):
        spec_digest(_with_builder(functools.partial(pinned_at, path=Path())))


def test_no_library_has_a_say() -> None:
    """Neither torch nor a model library is imported, so their versions cannot matter."""
    program = (
        "import sys; from metalmark_collector.spec import spec_digest;"
        "from metalmark_collector.workloads import WORKLOADS;"
        "[spec_digest(one) for one in WORKLOADS.values()]; print({'torch', 'timm', 'transformers'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"
