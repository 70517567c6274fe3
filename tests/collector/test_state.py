"""What a case leaves different is noticed, thing by thing."""

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from metalmark_collector.devices.fake import FakeDevice
from metalmark_collector.state import MEMORY_BYTES, changed, snapshot


class Counting(FakeDevice):
    """A fake that counts its memory."""

    allocated = 100 * MEMORY_BYTES

    def memory_allocated(self) -> int | None:
        """As the test says."""
        return self.allocated


@pytest.fixture
def device() -> Iterator[Counting]:
    """A device, and torch's switches as they were afterwards."""
    threads = torch.get_num_threads()
    yield Counting()
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(mode=False)
    torch.set_grad_enabled(mode=True)


def _fewer_threads(_: Counting) -> None:
    torch.set_num_threads(torch.get_num_threads() + 1)


def _other_dtype(_: Counting) -> None:
    torch.set_default_dtype(torch.float64)


def _no_grad(_: Counting) -> None:
    torch.set_grad_enabled(mode=False)


def _deterministic(_: Counting) -> None:
    torch.use_deterministic_algorithms(mode=True)


def _more_memory(device: Counting) -> None:
    device.allocated = 106 * MEMORY_BYTES


@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (_fewer_threads, "threads of torch"),
        (_other_dtype, "default dtype"),
        (_no_grad, "grad mode"),
        (_deterministic, "determinism"),
        (_more_memory, "device memory"),
    ],
)
def test_a_changed_setting_is_named(device: Counting, tamper: Callable[[Counting], None], name: str) -> None:
    before = snapshot(device)
    tamper(device)
    assert changed(before, snapshot(device)) == (name,)


def test_a_case_that_changes_nothing_leaves_the_worker_in_service(device: Counting) -> None:
    before = snapshot(device)
    (torch.randn(64, 64) @ torch.randn(64, 64)).sum().item()
    device.allocated += 3 * MEMORY_BYTES  # 3 %: a library keeps a workspace
    assert changed(before, snapshot(device)) == ()


def test_a_thread_that_lives_on_is_noticed_and_one_that_ended_is_not(device: Counting) -> None:
    before, over = snapshot(device), threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    during = snapshot(device)
    over.set()
    thread.join()
    assert changed(before, during) == ("live threads",)
    assert changed(during, snapshot(device)) == ()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are read from /proc, which Linux has")
def test_a_child_that_lives_on_is_noticed(device: Counting) -> None:
    before = snapshot(device)
    child = subprocess.Popen(["sleep", "60"])
    try:
        assert changed(before, snapshot(device)) == ("children",)
    finally:
        child.kill()
        child.wait()


def test_another_folder_is_noticed(device: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = snapshot(device)
    monkeypatch.chdir(tmp_path)
    assert changed(before, snapshot(device)) == ("current folder",)
    assert os.getcwd() == str(tmp_path)  # noqa: PTH109 - what the snapshot reads
