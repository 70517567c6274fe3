"""Numbers are dressed once, at the edge, and never invent digits."""

import pytest

from metalmark_site import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.00123, "1.23 ms"),
        (0.0123, "12.3 ms"),
        (0.123, "123 ms"),
        (0.99999, "1.00 s"),
        (12.34, "12.3 s"),
        (1234.5, "1,234 s"),
        (4.2e-6, "4.20 µs"),
        (9.9996e-4, "1.00 ms"),
        (5e-8, "50.0 ns"),
    ],
)
def test_times_have_three_digits_and_a_fitting_unit(value: float | None, text: str) -> None:
    """A time near the next unit is written in it."""
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.0, "0"), (0.0456, "0.0456"), (9.999, "10.0"), (123456.0, "123,456")]
)
def test_numbers_keep_their_digits_without_powers_of_ten(value: float | None, text: str) -> None:
    """Rounding up to the next power of ten does not add a digit."""
    assert units.digits(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "0.04"), (437.6034881500003, "437.603"), (10705.06, "10,705.1"), (149.0, "149"), (1234567.8, "1,234,568")],
)
def test_published_figures_keep_what_was_printed_up_to_six_digits(value: float, text: str) -> None:
    """No zeros are added behind the decimal point."""
    assert units.published(value) == text


def test_ratios_memory_counts_and_prefixes() -> None:
    """The small dresses."""
    assert units.times(8.26) == "8.3 ×"
    assert units.times(None) == "–"
    assert units.gibibytes(16 * 2**30) == "16 GB"
    assert units.gibibytes(None) == "–"
    assert units.large(8.178e9, "FLOP") == "8.18 GFLOP"
    assert units.large(12.0, "B") == "12.0 B"
    assert units.large(None, "B") == "–"
    assert (units.count(1, "run"), units.count(1200, "run"), units.count(2, "box", "boxes")) == (
        "1 run",
        "1,200 runs",
        "2 boxes",
    )
