"""Charts: complete, valid, true to their rows."""

import json
import re
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import altair as alt
import msgspec
import pytest

import metalmark_site.charts as package
from metalmark_site.charts import CHARTS, base, chip, gpu_or_cpu, published, speed, workload
from metalmark_site.charts.base import Axis, Row, Size, Unit
from metalmark_site.content import tables
from metalmark_site.facts import Facts

SHARED = {"base", "strip"}  # forms and frames, not kinds


def rows_of(facts: Facts, name: str) -> tuple[list[Row], Axis]:
    """Rows and axis of a kind of chart, from the filled database."""
    pairs = [pair for pair in facts.speed_pairs if pair.source_id == "mlx_benchmark"]
    one_workload = workload.rows(row for row in facts.results if row.workload == "resnet50-infer-b8")
    group = next(group for group in published.groups(facts.published) if len(group) > 5)
    rows: dict[str, tuple[list[Row], Axis]] = {
        "speed": (speed.rows(facts.results), speed.AXIS),
        "chip": (chip.rows(facts.measured["Apple M1"]), chip.AXIS),
        "workload": (one_workload, workload.axis(one_workload, "image")),
        "published": (published.rows(group), published.axis(group)),
        "gpu_or_cpu": (gpu_or_cpu.rows(pairs, sorted({gpu_or_cpu.mac(p) for p in pairs})), gpu_or_cpu.AXIS),
    }
    return rows[name]


@pytest.fixture(scope="module")
def validator() -> Any:
    """A validator of the Vega-Lite schema that Altair brings along."""
    text = (resources.files("altair") / "vegalite/v6/schema/vega-lite-schema.json").read_text(encoding="utf-8")
    return import_module("jsonschema").Draft7Validator(json.loads(text))


def test_every_module_of_a_kind_is_in_the_table() -> None:
    """A forgotten line in the table fails here."""
    modules = {path.stem for path in Path(package.__file__).parent.glob("[a-z]*.py")} - SHARED
    assert set(CHARTS) == modules
    assert all(CHARTS[name].name == name for name in CHARTS)


@pytest.mark.parametrize("size", list(Size))
@pytest.mark.parametrize("name", sorted(CHARTS))
def test_every_chart_is_valid_vega_lite(facts: Facts, validator: Any, name: str, size: Size) -> None:
    """With real rows in it, wide and narrow, by the schema and by Altair."""
    rows, axis = rows_of(facts, name)
    rows = rows[:60]  # the schema looks at every value, and sixty are as telling as a thousand
    spec = CHARTS[name].spec(rows, size, axis)
    assert not list(validator.iter_errors(spec))
    alt.LayerChart.from_dict(spec)
    assert len(spec["data"]["values"]) == len(rows)


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_rows_and_titles_never_stick_to_a_shape(facts: Facts, name: str) -> None:
    """A shape is shared by all charts of its kind, so filling it must leave it as it was."""
    rows, axis = rows_of(facts, name)
    chart = CHARTS[name]
    first = json.dumps(chart.spec(rows, Size.WIDE, axis))
    chart.spec(rows[:1], Size.WIDE, Axis(title="another", unit=axis.unit, log=axis.log))
    assert json.dumps(chart.spec(rows, Size.WIDE, axis)) == first


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_charts_name_only_colours_of_the_theme(facts: Facts, name: str) -> None:
    """A fixed colour would be wrong in one of the two palettes; each variable is defined in both."""
    rows, axis = rows_of(facts, name)
    used = set(re.findall(r"var\((--[a-z0-9_-]+)\)", json.dumps(CHARTS[name].spec(rows, Size.WIDE, axis))))
    styles = (Path(__file__).parents[2] / "site/assets/src/css/colours.css").read_text(encoding="utf-8")
    light, dark = styles.split('[data-md-color-scheme="slate"]')
    assert used
    assert all(f"{variable}:" in part for variable in used for part in (light, dark))


def test_a_failure_is_never_drawn(facts: Facts) -> None:
    """Rows whose outcome is not ok have no mark in any chart."""
    failed = [row for row in facts.results if row.outcome != "ok"]
    assert failed
    assert speed.rows(failed) == chip.rows(failed) == workload.rows(failed) == []


def test_batches_stand_in_the_order_of_their_size(facts: Facts) -> None:
    """Not b128 before b8, as letters would have it."""
    for rows in (speed.rows(facts.results), chip.rows(facts.measured["Apple M1"])):
        names = list(dict.fromkeys(str(row["row"]) for row in rows))
        assert names.index("resnet50-infer-b8 1") < names.index("resnet50-infer-b128 1")


def test_a_chip_joins_the_cpu_and_the_gpu_of_one_run(facts: Facts) -> None:
    """The line's ends are the two times, and its words their ratio."""
    heads = [row for row in chip.rows(facts.measured["Apple M1"]) if row["head"]]
    times = {(r.workload, r.device): r.median_s for r in facts.measured["Apple M1"] if r.outcome == "ok"}
    for row in heads:
        name = str(row["row"]).split()[0]
        assert row["span_from"] == times[name, "mps"]
        assert row["span_to"] == pytest.approx(times[name, "cpu"])
        assert re.fullmatch(r"GPU \(MPS\) [\d.]+ × the CPU", str(row["note"]))


def test_a_chip_without_a_gpu_shows_its_time(facts: Facts) -> None:
    """No second dot, no span, no speed-up."""
    (row,) = chip.rows(row for row in facts.measured["[x](javascript:alert(1))"] if row.device == "cpu")
    assert re.fullmatch(r"[\d.]+ ms", str(row["note"]))
    assert "span_from" not in row


def test_a_gpu_without_its_cpu_has_no_speed_up(facts: Facts) -> None:
    """Where the CPU's case has no time, the line gives the GPU's time and no ratio."""
    rows = [msgspec.structs.replace(row, speedup=None) for row in facts.measured["Apple M4"] if row.device == "mps"]
    assert all(re.fullmatch(r"[\d.]+ m?s", str(row["note"])) for row in chip.rows(rows))


def test_a_second_run_of_a_chip_takes_the_place_of_the_first(facts: Facts) -> None:
    """The newest result of each kind is drawn, once."""
    rows = facts.measured["Apple M4"]
    assert chip.rows([*rows, *rows]) == chip.rows(rows)


def test_a_result_without_an_interval_has_none(facts: Facts) -> None:
    """Two rounds, or rounds far apart, give no interval; none is made up."""
    row = msgspec.structs.replace(facts.measured["Apple M4"][0], low_s=None, high_s=None, interval=None)
    assert speed.dot(row)["interval"] is None
    assert tables.interval(row) == "–"
    assert tables.interval(msgspec.structs.replace(row, flags=("bimodal",))) == "two speeds"


def test_a_ranking_is_sorted_and_its_interval_turned_round(facts: Facts) -> None:
    """Items in a second fall from row to row; the longest time is the lowest rate."""
    rows = workload.rows(row for row in facts.results if row.workload == "resnet50-infer-b8")
    values = [float(row["value"] or 0) for row in rows]
    assert values == sorted(values, reverse=True)
    assert all(float(row["low"] or 0) < float(row["value"] or 0) < float(row["high"] or 0) for row in rows)


def test_bars_start_at_zero_and_wide_ranges_become_dots() -> None:
    """A bar that does not start at zero lies; beyond a ratio of 60 short bars say nothing."""
    near = [Row(value=10.0), Row(value=100.0)]
    far = [Row(value=1.0), Row(value=100.0)]
    assert not workload.axis(near, "image").log
    assert workload.axis(far, "image").log
    assert base.extent(near, log=False, most=5)[0] == 0.0


def test_an_interval_of_one_process_is_marked_thin(facts: Facts) -> None:
    """The M1 of the fixture ran one round only."""
    thin = {row["machine"] for row in speed.rows(facts.results) if row["thin"]}
    assert {str(name).partition(",")[0] for name in thin} == {"Apple M1"}


@pytest.mark.parametrize(
    ("lowest", "highest", "expected"),
    [
        (0.0012, 0.0095, [0.002, 0.005, 0.01]),
        (0.001, 1.0, [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]),
        (1e-6, 1e6, [1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e6]),
    ],
)
def test_ticks_of_ratios_are_round_and_few(lowest: float, highest: float, expected: list[float]) -> None:
    """1-2-5, then 1-3, then powers of ten, then every other one."""
    low, high, ticks = base.log_extent(lowest, highest, 9)
    assert ticks == expected
    assert low < lowest
    assert high > highest


def test_ticks_from_zero_are_round_and_few() -> None:
    """Steps of 1, 2 or 5; the highest value lies inside."""
    _, high, ticks = base.linear_extent(437.6, 5)
    assert ticks == [0.0, 200.0, 400.0]
    assert 437.6 < high < 450


def test_the_heat_map_has_all_pairs_and_its_own_colours_where_the_cpu_wins(facts: Facts) -> None:
    """974 pairs on 14 configurations, 165 of them slower on the GPU; every cell is a pair of its own."""
    rows, _ = rows_of(facts, "gpu_or_cpu")
    assert len(rows) == 974
    assert len({row["mac_short"] for row in rows}) == 14
    assert sum(str(row["step"]).startswith("cpu") for row in rows) == 165
    assert len({(row["mac_short"], row["operation"]) for row in rows}) == 974
    assert all(("CPU" in str(row["answer"])) == str(row["step"]).startswith("cpu") for row in rows)
    assert all((float(str(row["ratio"])) < 1) == str(row["step"]).startswith("cpu") for row in rows)


@pytest.mark.parametrize(
    ("ratio", "step", "text"),
    [
        (0.01, "cpu2", "0.01"),
        (0.5, "cpu1", "0.50"),
        (0.9999, "cpu1", "0.99"),
        (1.0, "gpu1", "1.0"),
        (2.0, "gpu2", "2.0"),
        (9.97, "gpu3", "10"),
        (10.0, "gpu4", "10"),
    ],
)
def test_steps_of_the_heat_map_begin_where_they_say(ratio: float, step: str, text: str) -> None:
    """The border belongs to the faster step, and no slower GPU is written as 1."""
    assert gpu_or_cpu.step_of(ratio) == step
    assert gpu_or_cpu.cell_text(ratio) == text


def test_published_figures_of_a_group_share_source_work_and_measure(facts: Facts) -> None:
    """Nothing else can stand on one axis; zeros and failures stay out."""
    for group in published.groups(facts.published):
        assert len({tuple(getattr(row, name) for name in published.GROUP) for row in group}) == 1
        assert all(row.value and row.outcome == "ok" for row in group)


def test_an_unknown_device_gets_the_neutral_colour(facts: Facts) -> None:
    """A device that the palette does not know must not vanish."""
    row = next(row for row in facts.results if row.outcome == "ok")
    assert speed.dot(msgspec.structs.replace(row, device="fake"))["device"] == ""


def test_an_axis_without_numbers_needs_no_ends() -> None:
    """The heat map's columns are names."""
    spec = CHARTS["gpu_or_cpu"].spec([], Size.WIDE, gpu_or_cpu.AXIS)
    assert gpu_or_cpu.AXIS.unit is Unit.NONE
    assert all(param["name"] == "pointed" for param in spec["params"])


def test_the_axis_holds_the_ends_of_every_span() -> None:
    """A line that was cut at the frame would not be as long as the speed-up that it stands for."""
    low, high, _ = base.extent([{"value": 0.005, "span_from": 0.005, "span_to": 0.64}], log=True, most=9)
    assert low < 0.005
    assert high > 0.64


def test_short_labels_tell_the_bins_of_a_chip_apart(facts: Facts) -> None:
    """A phone has room for few letters, and two bins of a chip must not read the same."""
    row = next(row for row in facts.measured["Apple M4 Max"] if row.device == "mps")
    rows = (
        row,
        *(msgspec.structs.replace(row, **c) for c in ({"gpu_cores": 32}, {"gpu_cores": None}, {"device": "cpu"})),
    )
    assert sorted(str(line["label_short"]) for line in workload.rows(rows)) == [
        "M4 Max · MPS fp32",
        "M4 Max, 16 CPU · fp32",
        "M4 Max, 32 GPU · fp32",
        "M4 Max, 40 GPU · fp32",
    ]
