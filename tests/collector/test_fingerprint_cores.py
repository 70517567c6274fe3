"""Cores and performance levels in every form in which systems tell them."""

import pytest

from metalmark_collector.fingerprint.cores import Cores, from_ioreg, from_number_processors, from_sysctl, from_words

Roles = tuple[int | None, int | None, int | None]


def roles(cores: Cores) -> Roles:
    return (cores.super_cores, cores.performance_cores, cores.efficiency_cores)


@pytest.mark.parametrize(
    ("value", "macos", "generation", "counts", "named"),
    [
        ("proc 10:8:2", 15, 1, (8, 2), (0, 8, 2)),
        ("proc 10:4:6:0", 26, 4, (4, 6), (0, 4, 6)),
        ("proc 10:4:6:0", None, 4, (4, 6), (0, 4, 6)),
        ("proc 10:4:6:0", 26, 5, (4, 6), (None, None, 6)),  # Super or Performance: this field cannot tell
        ("proc 10:4:6:0", None, None, (4, 6), (None, None, None)),
        ("proc 18:6:0:12", 26, 5, (6, 12), (6, 12, 0)),
        ("proc 18:6:0:12", None, 5, (6, 12), (None, None, None)),  # on macOS 27 this would be 12 efficiency cores
        ("proc 8:0:4:4", None, 1, (4, 4), (0, 4, 4)),
        ("proc 12:0:8:4", 27, 2, (8, 4), (0, 8, 4)),
        ("proc 10:4:0:6", 27, 5, (4, 6), (4, 0, 6)),
        ("proc 12:2:4:6", 27, 6, (2, 4, 6), (2, 4, 6)),
        ("proc 24:4:8:6:6", 28, 9, (4, 8, 6, 6), (None, None, None)),
    ],
)
def test_number_processors_gives_levels_in_order_and_names_where_they_are_certain(
    value: str, macos: int | None, generation: int | None, counts: tuple[int, ...], named: Roles
) -> None:
    cores = from_number_processors(value, macos=macos, generation=generation)
    assert (cores.counts, roles(cores)) == (counts, named)
    assert cores.total == sum(counts)


@pytest.mark.parametrize("value", [8, "8"])
def test_an_integer_tells_the_total_alone(value: object) -> None:
    assert from_number_processors(value, macos=None, generation=None) == Cores(total=8)


@pytest.mark.parametrize("value", [None, 0, -4, True, "", "proc", "proc x:y", [8], "proc 0:0:0"])
def test_what_is_no_count_tells_nothing(value: object) -> None:
    assert from_number_processors(value, macos=None, generation=None) == Cores()


def test_levels_that_do_not_add_up_are_not_believed() -> None:
    assert from_number_processors("proc 10:4:4", macos=15, generation=1) == Cores(total=10)
    assert from_words("10 (4 Performance and 4 Efficiency)") == Cores(total=10)


@pytest.mark.parametrize(
    ("text", "counts", "named"),
    [
        ("8 (4 performance and 4 efficiency)", (4, 4), (0, 4, 4)),
        ("16 (12 Performance and 4 Efficiency)", (12, 4), (0, 12, 4)),
        ("18 (6 Super and 12 Performance)", (6, 12), (6, 12, 0)),
        ("12 (2 Super, 4 Performance, and 6 Efficiency)", (2, 4, 6), (2, 4, 6)),
        ("10 (6 efficiency and 4 performance)", (4, 6), (0, 4, 6)),
        ("8 (4 Leistung und 4 Effizienz)", (4, 4), (None, None, None)),
    ],
)
def test_words_give_levels_fastest_first(text: str, counts: tuple[int, ...], named: Roles) -> None:
    cores = from_words(text)
    assert (cores.counts, roles(cores)) == (counts, named)


def sysctl(*levels: tuple[str | None, int], **others: str) -> dict[str, str]:
    found = {f"hw.{key}": value for key, value in others.items()}
    for n, (name, count) in enumerate(levels):
        found[f"hw.perflevel{n}.physicalcpu"] = str(count)
        if name:
            found[f"hw.perflevel{n}.name"] = name
    return found


@pytest.mark.parametrize(
    ("levels", "named"),
    [
        ([("Performance", 8), ("Efficiency", 4)], (0, 8, 4)),
        ([("Super", 4), ("Efficiency", 6)], (4, 0, 6)),
        ([("Super", 6), ("Performance", 12)], (6, 12, 0)),
        ([("Super", 2), ("Performance", 4), ("Efficiency", 6)], (2, 4, 6)),
        ([("Standard", 4)], (None, None, None)),
        ([("Ultra", 4), ("Performance", 8), ("Efficiency", 4), ("Eco", 2)], (None, 8, 4)),
    ],
)
def test_sysctl_names_any_number_of_levels(levels: list[tuple[str | None, int]], named: Roles) -> None:
    cores = from_sysctl(sysctl(*levels, nperflevels=str(len(levels))), None)
    assert cores.names == tuple(name for name, _ in levels)
    assert (cores.counts, roles(cores)) == (tuple(count for _, count in levels), named)


def test_levels_without_names_are_performance_and_efficiency_of_an_early_chip() -> None:
    found = sysctl((None, 4), (None, 4), nperflevels="2")
    assert roles(from_sysctl(found, 1)) == (None, 4, 4)
    assert roles(from_sysctl(found, 5)) == (None, None, None)
    assert from_sysctl(found, 5).counts == (4, 4)


def test_a_single_level_without_a_name_is_not_called_performance() -> None:
    cores = from_sysctl(sysctl((None, 4), nperflevels="1"), None)
    assert (cores.counts, roles(cores)) == ((4,), (None, None, None))


def test_a_list_of_levels_that_breaks_off_gives_no_levels() -> None:
    cores = from_sysctl(sysctl(("Super", 2), ("Performance", 4), nperflevels="3", physicalcpu="12"), 6)
    assert (cores.total, cores.counts) == (12, None)


def test_ioreg_counts_are_little_endian() -> None:
    text = '"p-core-count" = <06000000>\n"m-core-count" = <0c000000>\n"e-core-count" = <00000000>'
    cores = from_ioreg(text, 5)
    assert (cores.total, cores.counts, roles(cores)) == (18, (6, 12), (6, 12, 0))


def test_ioreg_does_not_say_whether_the_only_fast_level_is_super() -> None:
    text = '"p-core-count" = <04000000>\n"e-core-count" = <06000000>'
    assert roles(from_ioreg(text, 5)) == (None, None, 6)
    assert roles(from_ioreg(text, 4)) == (None, 4, 6)
