"""What every device keeps to: each real one that is present, and the fake alike."""

import subprocess
import sys

import pytest
import torch

from metalmark_collector import devices
from metalmark_collector.devices import CHOICES, DEVICES
from metalmark_collector.devices.base import Device
from metalmark_collector.workloads import WORKLOADS
from metalmark_db.errors import MissingPart, UsageProblem
from metalmark_db.record import Machine

FACTS = WORKLOADS["matmul-2048"].facts
PRESENT = [kind for kind in DEVICES if devices.make(kind).unusable() is None]
ABSENT = [kind for kind in DEVICES if kind not in PRESENT]


@pytest.fixture(params=PRESENT)
def device(request: pytest.FixtureRequest) -> Device:
    """Every device that computes on this machine."""
    return devices.make(request.param)


def test_the_cpu_and_the_fake_are_present_everywhere() -> None:
    assert {"cpu", "fake"} <= set(PRESENT)


def test_a_device_is_called_by_its_word_in_the_table() -> None:
    assert [devices.make(kind).kind for kind in DEVICES] == list(DEVICES)


def test_an_absent_device_says_why_in_a_sentence() -> None:
    for kind in ABSENT:
        why = devices.make(kind).unusable()
        assert why is not None
        assert len(why) > 20
        assert "\n" not in why


def test_an_absent_device_has_no_chip_name() -> None:
    assert [devices.make(kind).chip_name() for kind in ABSENT] == [None] * len(ABSENT)


def test_work_gives_its_tensor_on_the_device(device: Device) -> None:
    ones = torch.ones(64, 64, device=device.torch_device())
    work = device.wrap(lambda: ones @ ones, FACTS)
    result = work()
    device.synchronize()
    assert result.device.type == device.torch_device().type
    assert torch.equal(result.cpu(), torch.full((64, 64), 64.0))


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 4), (2, 3, 4)])
def test_the_last_element_is_read_whatever_the_shape(device: Device, shape: tuple[int, ...]) -> None:
    count = torch.Size(shape).numel()
    tensor = torch.arange(1.0, count + 1).reshape(shape).to(device.torch_device())
    assert device.read_element(tensor) == count


def test_the_last_element_is_read_from_a_transposed_and_a_trained_tensor(device: Device) -> None:
    tensor = torch.arange(6.0).reshape(2, 3).to(device.torch_device()).requires_grad_()
    assert device.read_element(tensor.t()) == 5


def test_memory_is_counted_or_unknown_but_never_zero_while_in_use(device: Device) -> None:
    device.reset_peak()
    held = torch.ones(2**20, device=device.torch_device())
    device.synchronize()
    for size in (device.memory_allocated(), device.peak_memory()):
        assert size is None or size >= held.numel() * 4
    device.empty_cache()


def test_recommended_memory_is_none_or_room_for_work(device: Device) -> None:
    limit = device.recommended_memory()
    assert limit is None or limit > 2**20


def test_energy_is_counted_upwards_or_unknown(device: Device) -> None:
    """Where nobody counts (here: every real device without a driver that does) it is unknown, never 0."""
    before, after = device.energy(), device.energy()
    assert (before is None) == (after is None)
    assert before is None or after is None or 0 < before[0] <= after[0]


def test_an_unknown_device_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageProblem, match=r"no device 'tpu'.*cpu, mps, cuda"):
        devices.make("tpu")


def test_the_fake_is_no_choice_for_people() -> None:
    assert set(CHOICES) == set(DEVICES) - {"fake"}


def test_without_torch_a_device_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "metalmark_collector.devices.cpu")
    monkeypatch.delitem(sys.modules, "metalmark_collector.devices.common")
    with pytest.raises(MissingPart, match=r"metalmark\[bench\]"):
        devices.make("cpu")


def test_another_missing_module_is_not_blamed_on_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "metalmark_collector.devices.cpu", None)
    with pytest.raises(ModuleNotFoundError):
        devices.make("cpu")


def test_the_table_is_read_without_importing_torch() -> None:
    code = "import sys, metalmark_collector.devices; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_apple_silicon_gets_mps_even_if_it_turns_out_unusable() -> None:
    for virtual in (False, True):
        machine = Machine(vendor="apple", chip="Apple M1", arch="arm64", virtual=virtual)
        assert devices.default_devices(machine) == ("cpu", "mps")


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", Machine(vendor="intel", gpu_name="NVIDIA H200"), ("cpu", "cuda")),
        ("linux", Machine(vendor="ampere", arch="arm64"), ("cpu",)),
        ("linux", Machine(), ("cpu",)),
        ("darwin", Machine(vendor="intel", arch="x86_64", gpu_name="AMD Radeon Pro 5500M"), ("cpu",)),
    ],
)
def test_any_other_machine_gets_cuda_when_its_fingerprint_names_a_gpu(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: Machine, expected: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert devices.default_devices(machine) == expected
