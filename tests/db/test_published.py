"""The published figures: read exactly, refused when malformed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import published, queries
from metalmark_db.data import data
from metalmark_db.errors import DataProblem
from metalmark_db.words import PUBLISHED_OUTCOMES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the figures that a test may damage."""
    return Path(shutil.copytree(data("published"), tmp_path / "published"))


def test_every_figure_has_a_source_and_every_source_a_figure(engine: sa.Engine) -> None:
    named = {row.source_id for row in queries.published(engine)}
    assert named == {source.id for source in queries.sources(engine) if source.figures}
    assert all(source.figures for source in queries.sources(engine))


def test_a_printed_zero_is_no_time(engine: sa.Engine) -> None:
    zeros = [row for row in queries.published(engine) if row.value == 0]
    assert len(zeros) == 130
    assert all(row.seconds is None for row in zeros)


@pytest.mark.parametrize(
    ("metric", "value", "batch", "seconds"),
    [
        ("ms_per_iter", "2.5", "", 0.0025),
        ("seconds_per_100_iters", "50", "", 0.5),
        ("ms_per_10000_iters", "10000", "", 0.001),
        ("iters_per_s", "4", "", 0.25),
        ("images_per_s", "64", "32", 0.5),
        ("images_per_s", "64", "", None),
        ("tokens_per_s", "10", "1", None),
        ("seconds_per_epoch", "60", "32", None),
        ("speedup_vs_cpu", "7", "128", None),
    ],
)
def test_seconds_follow_from_the_metric_where_it_tells_them(
    folder: Path, metric: str, value: str, batch: str, seconds: float | None
) -> None:
    _replace_rows(folder, f"s,op/x,X,inference,fp32,{batch},,mps,Apple M1,,,,,pytorch,,{metric},{value},ok,")
    (row,) = published.read_results(folder)
    assert row["seconds"] == (pytest.approx(seconds) if seconds is not None else None)


def test_pairs_of_cpu_and_gpu_are_those_of_the_same_machine_and_source(engine: sa.Engine) -> None:
    pairs = queries.speed_pairs(engine, "mlx_benchmark")
    assert len(pairs) == 974
    assert sum(pair.speedup < 1 for pair in pairs) == 165
    assert len({(p.chip, p.cpu_cores, p.gpu_cores, p.memory_gb) for p in pairs}) == 14
    assert all(pair.speedup == pytest.approx(pair.cpu_s / pair.mps_s) for pair in pairs)


def test_chips_know_their_bins(engine: sa.Engine) -> None:
    bins = [(chip.gpu_cores, chip.bandwidth_gb_s) for chip in queries.chips(engine) if chip.chip == "Apple M4 Max"]
    assert bins == [(32, 409.6), (40, 546)]


def test_every_peak_below_fp32_names_its_source(engine: sa.Engine) -> None:
    for chip in queries.chips(engine):
        peaks = (chip.tf32_tflops, chip.fp16_tflops, chip.bf16_tflops)
        assert any(peaks) is bool(chip.low_precision_source), chip.chip


def test_formats_that_a_chip_lacks_have_no_peak(engine: sa.Engine) -> None:
    found = {(row.chip, row.tf32_tflops, row.bf16_tflops) for row in queries.chips(engine)}
    assert {tf32 for chip, tf32, _ in found if chip.startswith("Apple")} == {None}
    assert {bf16 for chip, _, bf16 in found if chip.startswith("Apple")} == {None}
    assert found >= {("NVIDIA T4", None, None), ("NVIDIA V100", None, None)}


@pytest.mark.parametrize(
    ("chip", "tf32", "bf16"),
    [
        ("NVIDIA A100", {156}, {312}),
        ("NVIDIA RTX 3090", {35.6}, {71.2}),
        ("NVIDIA RTX 4090", {82.6}, {165.2}),
        ("NVIDIA H100", {378, 494.7}, {756.5, 989.4}),
        ("NVIDIA H200", {494.7}, {989.4}),
    ],
)
def test_tensor_cores_have_their_dense_peaks_with_sums_in_fp32(
    engine: sa.Engine, chip: str, tf32: set[float], bf16: set[float]
) -> None:
    """With sparsity all would be twice as high; with sums in fp16 fp16 would be above bf16 on a GeForce card."""
    rows = [row for row in queries.chips(engine) if row.chip == chip]
    assert {row.tf32_tflops for row in rows} == tf32
    assert {row.bf16_tflops for row in rows} == bf16
    assert all(row.fp16_tflops == row.bf16_tflops for row in rows)


def test_outcomes_are_in_our_words(engine: sa.Engine) -> None:
    assert {row.outcome for row in queries.published(engine)} <= set(PUBLISHED_OUTCOMES.values())


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: text.replace(",ok,", ",great,", 1), r"column outcome: 'great'"),
        (lambda text: text.replace("ms_per_iter", "parsecs", 1), r"column metric: 'parsecs'"),
        (lambda text: text.replace("outcome", "verdict", 1), "lacks the columns outcome"),
        (lambda text: text + 'x,"unclosed', "not a readable CSV"),
        (lambda text: text + "a,b\n", "line 4763"),
        (lambda text: text.replace(",7,ok", ",NaN,ok", 1), "column value: 'NaN'"),
        (lambda text: text.replace(",128,", ",many,", 1), "column batch_size: 'many'"),
    ],
)
def test_a_malformed_line_is_named_with_its_column(folder: Path, damage: Callable[[str], str], says: str) -> None:
    path = folder / "results.csv"
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(DataProblem, match=says):
        published.read_results(folder)


def test_bytes_that_are_no_text_are_refused(folder: Path) -> None:
    (folder / "chips.csv").write_bytes(b"chip,variant\n\xff\xfe")
    with pytest.raises(DataProblem, match="UTF-8"):
        published.read_chips(folder)


@pytest.mark.parametrize("text", ["[]", "{", '{"a": {"title": "no author"}}', '{"a": 3}'])
def test_sources_without_citation_are_refused(folder: Path, text: str) -> None:
    (folder / "sources.json").write_text(text)
    with pytest.raises(DataProblem, match=r"sources\.json"):
        published.read_sources(folder)


def test_a_missing_file_is_a_clear_error(folder: Path) -> None:
    (folder / "results.csv").unlink()
    with pytest.raises(DataProblem, match="cannot be read"):
        published.digest(folder)


def _replace_rows(folder: Path, row: str) -> None:
    path = folder / "results.csv"
    header = path.read_text(encoding="utf-8").splitlines()[0]
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
