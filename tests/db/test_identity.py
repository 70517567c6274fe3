"""The id of a machine: equal for equal configurations, absent where something is unknown."""

import msgspec
import pytest

from metalmark_db.identity import machine_id, unknown_parts
from metalmark_db.record import Machine

M4_PRO = Machine(
    chip="Apple M4 Pro",
    tier_counts=(10, 4),
    gpu_name="Apple M4 Pro",
    gpu_cores=20,
    gpu_count=1,
    memory_bytes=48 * 2**30,
    virtual=False,
)
PARTS: dict[str, object] = {
    "chip": "Apple M4 Max",
    "tier_counts": (8, 4),
    "gpu_name": "Apple M4 Max",
    "gpu_cores": 16,
    "gpu_count": 2,
    "memory_bytes": 24 * 2**30,
}


def changed(field: str, value: object) -> Machine:
    return msgspec.structs.replace(M4_PRO, **{field: value})


def test_an_id_is_a_sha256_that_stays_the_same() -> None:
    assert machine_id(M4_PRO) == "e534713493322a240e5e1ef8947d3ba08732a6ec845735e01cf3ed9d6ed6aab9"


@pytest.mark.parametrize("field", sorted(PARTS))
def test_every_part_of_a_configuration_makes_a_difference(field: str) -> None:
    assert machine_id(changed(field, PARTS[field])) not in (None, machine_id(M4_PRO))


@pytest.mark.parametrize("field", [*sorted(PARTS), "virtual"])
def test_an_unknown_part_gives_no_id(field: str) -> None:
    assert machine_id(changed(field, None)) is None


def test_a_virtual_machine_has_no_id() -> None:
    assert machine_id(changed("virtual", value=True)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_tiers", (("Performance", 10), ("Efficiency", 4))),
        ("model_identifier", "Mac16,7"),
        ("vendor", "apple"),
        ("memory_total_bytes", 47 * 2**30),
        ("memory_bytes", 48 * 2**30 - 4096),
    ],
)
def test_names_models_and_fractions_of_a_gibibyte_make_no_difference(field: str, value: object) -> None:
    assert machine_id(changed(field, value)) == machine_id(M4_PRO)


def test_a_machine_that_is_known_to_have_no_gpu_has_an_id() -> None:
    server = msgspec.structs.replace(M4_PRO, chip="AMD EPYC 9654", gpu_name=None, gpu_cores=None, gpu_count=0)
    assert machine_id(server) not in (None, machine_id(M4_PRO))
    assert unknown_parts(server) == ()
    unsure = msgspec.structs.replace(server, gpu_count=None)
    assert machine_id(unsure) is None
    assert unknown_parts(unsure) == ("gpu_name", "gpu_cores", "gpu_count")
