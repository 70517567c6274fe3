"""What the tests of the site share: databases with runs in them, made through the real store."""

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import store
from metalmark_db.record import Case, Conditions, Machine, Round, RunHead, Software, Workload
from metalmark_db.words import Effort, Mode, Outcome, Precision, Reason, Task
from metalmark_site.builder import BuildReport, build_site
from metalmark_site.facts import Facts, read_facts

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "| # *a* `b` {% raw %} <script>alert(1)</script>",
)


def workload(
    name: str,
    title: str,
    task: Task,
    batch: int,
    item: str,
    flops: float,
    description: str = "",
    family: str | None = None,
    variant: str | None = None,
    model: str | None = None,
) -> Workload:
    """A workload with the facts that pages show."""
    return Workload(
        id=name,
        version=1,
        family=family,
        variant=variant,
        model=model,
        title=title,
        source="metalmark",
        task=task,
        batch=batch,
        input_shape="3x224x224",
        item=item,
        items_per_iteration=batch,
        flops_per_iteration=flops,
        parameters=25_557_032,
        description=description,
    )


def images(task: Task, batch: int) -> Workload:
    """A variant of the training or the inference of ResNet-50."""
    short, long, flops = ("train", "training", 24.5e9) if task is Task.TRAIN else ("infer", "inference", 8.18e9)
    family, words = f"resnet50-{short}", f"batch {batch}"
    title = f"ResNet-50 {long}, {words}"
    return workload(
        f"{family}-b{batch}",
        title,
        task,
        batch,
        "image",
        batch * flops,
        "Known.",
        family,
        words,
        "torchvision resnet50",
    )


WORKLOADS = (
    images(Task.INFERENCE, 8),
    images(Task.INFERENCE, 128),
    images(Task.TRAIN, 8),
    workload("bert-base-infer-t128-b4", "BERT base inference, 128 tokens", Task.INFERENCE, 4, "sequence", 89e9),
    workload("matmul-2048", "Square matrix product, 2048", Task.OPERATION, 1, "call", 17.2e9),
)
UNTRIED = (images(Task.INFERENCE, 32),)


def rounds(seconds: float, seed: int, count: int = 3) -> tuple[Round, ...]:
    """Rounds of ten blocks round about ``seconds``, with a spread of half a percent."""
    chance = random.Random(seed)
    return tuple(
        Round(number=i, iterations=1, block_ns=tuple(int(1e9 * seconds * chance.gauss(1, 0.005)) for _ in range(10)))
        for i in range(count)
    )


def add_run(
    engine: sa.Engine,
    machine: Machine,
    speeds: dict[str, float],
    *,
    failures: tuple[Case, ...] = (),
    torch: str = "2.11.0",
    round_count: int = 3,
    suite: tuple[Workload, ...] = WORKLOADS,
    untried: tuple[Workload, ...] = UNTRIED,
) -> int:
    """The number of a stored run: each device computes at so many FLOP/s."""
    head = RunHead(
        started_at="2026-11-28T10:00:00Z",
        effort=Effort.QUICK,
        seed=1,
        machine=machine,
        software=Software(os_name="macOS", os_version="26.1", python_version="3.13.5", torch_version=torch),
        conditions_before=Conditions(),
    )
    run_id = store.begin_run(engine, head, (*suite, *untried))
    for number, (device, speed) in enumerate(speeds.items()):
        for place, entry in enumerate(suite):
            seconds = (entry.flops_per_iteration or 1e9) / speed * (1 + 0.3 * math.sin(place + number))
            chip = machine.gpu_name if device == "cuda" else machine.chip
            case = Case(
                workload=entry.id,
                version=1,
                device=device,
                precision=Precision.FP32,
                mode=Mode.EAGER,
                outcome=Outcome.OK,
                device_chip=chip,
                rounds=rounds(seconds, seed=place + 10 * number, count=round_count),
            )
            store.save_case(engine, run_id, case)
    for case in failures:
        store.save_case(engine, run_id, case)
    store.finish_run(engine, run_id, Conditions(), finished=True)
    return run_id


def failure(name: str, device: str, outcome: Outcome, reason: Reason | None, chip: str, detail: str = "") -> Case:
    """A case without a time."""
    return Case(
        workload=name,
        version=1,
        device=device,
        precision=Precision.FP16,
        mode=Mode.EAGER,
        outcome=outcome,
        reason=reason,
        detail=detail or None,
        device_chip=chip,
    )


def mac(chip: str, cpu: int, gpu: int, memory: int) -> Machine:
    """An Apple machine."""
    return Machine(vendor="Apple", chip=chip, cpu_cores=cpu, gpu_name=chip, gpu_cores=gpu, memory_bytes=memory * 2**30)


def fill(engine: sa.Engine) -> None:
    """Store runs of Macs, a PC with a GPU, a virtual machine, failures and hostile names."""
    failed = (
        failure("resnet50-train-b8", "mps", Outcome.WRONG_RESULT, None, "Apple M1"),
        failure("matmul-2048", "mps", Outcome.NOT_RUN, Reason.BUDGET, "Apple M1"),
    )
    add_run(engine, mac("Apple M1", 8, 8, 16), {"cpu": 0.45e12, "mps": 1.7e12}, failures=failed, round_count=1)
    add_run(engine, mac("Apple M2 Pro", 12, 19, 32), {"cpu": 0.9e12, "mps": 4.6e12})
    add_run(engine, mac("Apple M4", 10, 10, 24), {"cpu": 1.1e12, "mps": 3.2e12}, torch="2.14.1")
    add_run(engine, mac("Apple M4 Max", 16, 40, 64), {"cpu": 1.9e12, "mps": 12.5e12})
    pc = Machine(
        chip="Intel(R) Core(TM) i9-10940X CPU @ 3.30GHz", cpu_cores=14, gpu_name="NVIDIA RTX 4090", gpu_count=1
    )
    add_run(engine, pc, {"cpu": 0.8e12, "cuda": 45e12})
    guest = Machine(chip="AMD EPYC 7B13", cpu_cores=4, memory_bytes=16 * 2**30, virtual=True)
    add_run(engine, guest, {"cpu": 0.2e12})
    for name in HOSTILE:
        suite, untried = (
            (workload(id_, name, Task.INFERENCE, 1, name, 1e9, f"{name}\n\n# {name}", "hostile", name, model),)
            for id_, model in (("hostile-work", "m"), ("hostile-untried", name))
        )
        broken = failure("hostile-work", "mps", Outcome.ERROR, None, name, detail=name)
        machine = Machine(chip=name, gpu_name=name)
        add_run(engine, machine, {"cpu": 0.5e12}, failures=(broken,), torch=name[:60], suite=suite, untried=untried)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sa.Engine]:
    """A database with runs of many kinds of machines, hostile ones among them; read it, do not write."""
    engine = store.open_database(f"sqlite:///{tmp_path_factory.mktemp('filled') / 'filled.sqlite'}")
    fill(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def facts(filled: sa.Engine) -> Facts:
    """The facts of the filled database."""
    return read_facts(filled)


@pytest.fixture
def hostile() -> tuple[str, ...]:
    """Names that would be markup, if anything let them."""
    return HOSTILE


@pytest.fixture(scope="session")
def built(facts: Facts, tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    """The site of the filled database, built once; read it, do not write."""
    return build_site(facts, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def html(built: BuildReport) -> Path:
    """The folder of the finished pages."""
    return built.out / "html"
