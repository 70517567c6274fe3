"""The CPU's result: computed once, kept in a file, computed again where the file is no good."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from metalmark_collector import devices
from metalmark_collector.truth.reference import file_name, reference
from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Entry, Job, Prepared
from metalmark_db.words import Mode, Precision

KEPT = "metalmark_collector.truth.reference.KEPT_BYTES"


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other: more threads than cores wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Counted:
    """A workload that counts how often it is built."""

    def __init__(self, name: str) -> None:
        self.builds = 0
        self.entry: Entry = replace(WORKLOADS[name], builder=self._build)
        self._builder = WORKLOADS[name].builder

    def _build(self, job: Job) -> Prepared:
        self.builds += 1
        return self._builder(job)


@pytest.fixture
def counted() -> Counted:
    """LeNet-5's training, counted."""
    return Counted("lenet5-train-b128")


def _job(entry: Entry, seed: int = 1) -> Job:
    return entry.job(devices.make("fake"), Precision.AMP_BF16, seed, "tiny")


def test_it_is_computed_once_for_all_devices_precisions_and_modes(counted: Counted, tmp_path: Path) -> None:
    job = _job(counted.entry)
    first = reference(counted.entry, job, tmp_path)
    for other in (job, replace(job, precision=Precision.TF32), replace(job, mode=Mode.COMPILE)):
        again = reference(counted.entry, other, tmp_path)
        assert torch.equal(again.output, first.output)
        assert (again.loss, again.gradient_norm, again.name) == (first.loss, first.gradient_norm, "cpu fp32")
    assert counted.builds == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lenet5-train-b128-v1-1-tiny-2-fp32.pt"]


def test_whatever_decides_the_numbers_is_in_the_name(counted: Counted) -> None:
    job = _job(counted.entry)
    changed = (replace(job, seed=2), replace(job, size="real"), replace(job, batch=8), replace(job, samples=1))
    names = {file_name(counted.entry, each, double=False) for each in (job, *changed)}
    assert len(names | {file_name(counted.entry, job, double=True)}) == 6


def test_double_precision_is_another_result(counted: Counted, tmp_path: Path) -> None:
    single, double = (reference(counted.entry, _job(counted.entry), tmp_path, double=one) for one in (False, True))
    assert double.output.dtype is torch.float64
    assert double.name == "cpu fp64"
    assert double.loss == pytest.approx(single.loss, rel=1e-6)
    assert double.gradient_norm == pytest.approx(single.gradient_norm, rel=1e-6)
    assert double.loss != single.loss


@pytest.mark.parametrize("content", [b"", b"no tensor", "half"])
def test_a_file_that_cannot_be_read_is_computed_again(counted: Counted, tmp_path: Path, content: bytes | str) -> None:
    job = _job(counted.entry)
    first = reference(counted.entry, job, tmp_path)
    path = tmp_path / file_name(counted.entry, job, double=False)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if isinstance(content, str) else content)
    assert torch.equal(reference(counted.entry, job, tmp_path).output, first.output)
    assert counted.builds == 2
    reference(counted.entry, job, tmp_path)
    assert counted.builds == 2


def test_a_file_with_something_else_in_it_is_computed_again(counted: Counted, tmp_path: Path) -> None:
    job = _job(counted.entry)
    torch.save({"output": "text"}, tmp_path / file_name(counted.entry, job, double=False))
    assert reference(counted.entry, job, tmp_path).loss is not None


def test_without_a_folder_to_write_to_it_is_computed_each_time(counted: Counted, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    for _ in range(2):
        reference(counted.entry, _job(counted.entry), blocked)
    assert counted.builds == 2


def test_what_is_quicker_drawn_than_read_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy's result is half a gigabyte of random numbers."""
    monkeypatch.setattr(KEPT, 1000)
    entry = WORKLOADS["copy-bandwidth"]
    reference(entry, entry.job(devices.make("cpu"), Precision.FP32, 1, "tiny"), tmp_path)
    assert not list(tmp_path.iterdir())
