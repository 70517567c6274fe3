"""Fixtures for the collector's tests: real worker processes, some of which misbehave."""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metalmark_collector.process import Worker

HOSTILE = Path(__file__).with_name("hostile_worker.py")
StartWorker = Callable[..., Worker]


@pytest.fixture
def hostile() -> Callable[..., StartWorker]:
    """Makes a way to start real workers whose workloads play tricks: ``hostile(matmul_2048="abort")``."""

    def make(**tricks: str) -> StartWorker:
        named = json.dumps({name.replace("_", "-"): trick for name, trick in tricks.items()})
        return functools.partial(Worker, program=(str(HOSTILE), named))

    return make
