"""Published facts of chips: found by chip and GPU cores, unknown where bins differ."""

import msgspec
import pytest

from metalmark_db.chips import ChipFacts, facts
from metalmark_db.record import Machine

UNKNOWN = ChipFacts()


def found(chip: str, cores: int | None = None, gib: int | None = None) -> ChipFacts:
    return facts(Machine(chip=chip, gpu_cores=cores, memory_bytes=None if gib is None else gib * 2**30, virtual=False))


@pytest.mark.parametrize(
    ("chip", "cores", "bandwidth", "fp32"),
    [
        ("Apple M1", 7, 68.3, 2.3),
        ("Apple M3 Max", 30, 307.2, 10.598),
        ("Apple M3 Max", 40, 409.6, 14.131),
        ("Apple M4 Max", 32, 409.6, 13.64),
        ("Apple M4 Max", 40, 546, 17.04),
        ("Apple M5 Max", 40, 614, 20.53),
    ],
)
def test_bins_of_one_name_are_told_apart_by_their_gpu_cores(
    chip: str, cores: int, bandwidth: float, fp32: float
) -> None:
    assert (found(chip, cores).bandwidth_gb_s, found(chip, cores).fp32_tflops) == (bandwidth, fp32)


def test_bins_that_differ_in_their_cpu_alone_are_one_answer() -> None:
    assert found("Apple M1 Pro", 14).bandwidth_gb_s == 204.8
    assert found("Apple M5", 10) == ChipFacts(bandwidth_gb_s=153)


def test_without_gpu_cores_only_what_all_bins_share_is_known() -> None:
    assert found("Apple M2") == ChipFacts(bandwidth_gb_s=102.4)
    assert found("Apple M4 Max") == UNKNOWN


@pytest.mark.parametrize(("gib", "bandwidth"), [(16, 153), (24, 170.7), (32, 170.7), (None, None)])
def test_a_bandwidth_that_depends_on_the_memory_is_the_one_of_its_size(gib: int | None, bandwidth: float) -> None:
    assert found("Apple M6", 12, gib).bandwidth_gb_s == bandwidth


@pytest.mark.parametrize(
    ("chip", "cores"),
    [("Apple M7 Ultra", 80), ("Apple A20", 6), ("Apple M4 Max", 38), ("Intel(R) Core(TM) i7", None), ("", None)],
)
def test_a_chip_or_bin_that_is_not_in_the_table_is_unknown(chip: str, cores: int | None) -> None:
    assert found(chip, cores) == UNKNOWN


def test_a_gpu_in_another_computer_is_known_by_its_name() -> None:
    machine = Machine(chip="Intel(R) Xeon(R)", gpu_name="NVIDIA H200", gpu_cores=132, virtual=False)
    assert facts(machine) == ChipFacts(
        bandwidth_gb_s=4800, fp32_tflops=66.9, tf32_tflops=494.7, fp16_tflops=989.4, bf16_tflops=989.4
    )
    assert facts(msgspec.structs.replace(machine, gpu_name="NVIDIA H100")) == UNKNOWN  # two kinds of card
    assert facts(msgspec.structs.replace(machine, gpu_name="NVIDIA H200 MIG 1g.18gb")) == UNKNOWN


def test_a_guest_has_an_unknown_part_of_its_hosts_chip_and_the_whole_of_a_card() -> None:
    assert facts(Machine(chip="Apple M1", gpu_cores=8, virtual=True)) == UNKNOWN
    assert facts(Machine(chip="AMD EPYC", gpu_name="NVIDIA H200", virtual=True)).bandwidth_gb_s == 4800


@pytest.mark.parametrize(
    ("spelling", "peak"),
    [
        ("NVIDIA GeForce RTX 4090", 82.58),
        ("Tesla T4", 8.141),
        ("NVIDIA H100 80GB HBM3", 67.0),
        ("NVIDIA H100 PCIe", 51.0),
        ("Tesla V100-SXM2-16GB", None),  # another card than that of the table
    ],
)
def test_a_card_is_known_by_what_the_system_calls_it(spelling: str, peak: float | None) -> None:
    assert facts(Machine(chip="AMD EPYC", gpu_name=spelling)).fp32_tflops == peak
