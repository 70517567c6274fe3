"""Fixtures for the collector's tests: real worker processes, some of which misbehave, and recorded machines."""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metalmark_collector.fingerprint import fingerprint, replay_probe
from metalmark_collector.process import Worker

HOSTILE = Path(__file__).with_name("hostile_worker.py")
StartWorker = Callable[..., Worker]
Recorded = Callable[..., dict[str, object]]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """The fingerprint of a machine whose files are given by name: text, or anything else as JSON."""

    def read(**files: object) -> dict[str, object]:
        for name, content in files.items():
            path = tmp_path / f"{name}{'.txt' if isinstance(content, str) else '.json'}"
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return fingerprint(replay_probe(tmp_path))

    return read


@pytest.fixture
def hostile() -> Callable[..., StartWorker]:
    """Makes a way to start real workers whose workloads play tricks: ``hostile(matmul_2048="abort")``."""

    def make(**tricks: str) -> StartWorker:
        named = json.dumps({name.replace("_", "-"): trick for name, trick in tricks.items()})
        return functools.partial(Worker, program=(str(HOSTILE), named))

    return make
