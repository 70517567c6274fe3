"""Spellings of chips and the mapping of published workloads: complete, and held against the suite."""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from metalmark_db.data import data
from metalmark_db.errors import DataProblem
from metalmark_db.families import family
from metalmark_db.names import OPEN, counterparts, read_aliases, read_mapping
from metalmark_db.published import read_chips, read_results
from metalmark_db.words import Precision

FOLDER = data("published")
SUITE = json.loads((Path(__file__).parents[1] / "data" / "workloads.json").read_bytes())
CHIPS = read_chips(FOLDER)
ALIASES = {row["spelling"]: row for row in read_aliases(FOLDER, CHIPS)}
MAPPING = read_mapping(FOLDER)
FIGURES = counterparts(read_results(FOLDER), MAPPING)


def test_every_published_chip_has_a_name_to_be_charted_under() -> None:
    assert {row["chip"] for row in FIGURES} - set(ALIASES) == set()


def test_a_name_that_rows_are_charted_under_is_a_spelling_of_itself_or_of_no_other_chip() -> None:
    for row in ALIASES.values():
        again = ALIASES.get(row["chip"])
        assert again is None or again["chip"] == row["chip"]


def test_a_chip_with_facts_of_its_own_lends_them_to_no_other_variant() -> None:
    """A V100 on PCIe is slower than the SXM3 one of chips.csv, and an A100 of 80 GB has another bandwidth."""
    for spelling in ("NVIDIA V100 PCIe 32GB", "NVIDIA V100 16GB", "NVIDIA A100 80GB PCIe", "NVIDIA A100 SXM4 80GB"):
        assert ALIASES[spelling]["chip"] not in {row["chip"] for row in CHIPS}
    assert ALIASES["NVIDIA H100 80GB HBM3"]["bin"] == "SXM5 80 GB"
    assert ALIASES["NVIDIA H100 PCIe"]["bin"] == "PCIe 80 GB"


@pytest.mark.parametrize(
    ("chip", "words"),
    [
        ("Apple M1", "Apple M1"),
        ("Apple M1 Ultra", "Apple M1"),
        ("Apple M10 Max", "Apple M10"),
        ("Apple A18 Pro", "Apple"),
        ("NVIDIA RTX 3090", "NVIDIA"),
        ("4x NVIDIA GTX 1080 Ti", "NVIDIA"),
        ("Intel Core i9-10940X", "Intel"),
        ("Intel(R) Xeon(R) Processor", "Intel"),
        ("AMD EPYC 7B13", "AMD"),
        ("Snapdragon X", "Other"),
        ("", "Other"),
    ],
)
def test_chips_belong_to_families(chip: str, words: str) -> None:
    assert family(chip) == words


def test_every_published_workload_is_mapped_or_said_to_have_no_counterpart() -> None:
    assert Counter(row["grade"] for row in FIGURES) == {"same": 36, "near": 312, "other": 4413}


def test_no_two_lines_claim_a_figure_and_no_line_is_for_nothing() -> None:
    used: set[int] = set()
    for row in FIGURES:
        named = (row["source_id"], row["workload"], row["task"])
        fitting = [
            one
            for one in MAPPING
            if (one["source_id"], one["published"], one["task"]) == named
            and all(one[name] in (None, row[name]) for name in OPEN)
        ]
        kept = Counter(sum(one[name] is not None for name in OPEN) for one in fitting)
        assert kept[max(kept)] == 1, named
        used.add(max(fitting, key=lambda one: sum(one[name] is not None for name in OPEN))["id"])
    assert used == {one["id"] for one in MAPPING}


def test_what_it_is_held_beside_is_in_the_suite_in_that_version() -> None:
    for one in MAPPING:
        if one["workload"] is not None:
            assert SUITE[one["workload"]]["version"] == one["version"], one


def shape_and_batch(workload: str) -> tuple[str, int]:
    """The image size and the batch that a workload's name tells."""
    parts = workload.split("-")
    size = next((part[1:] for part in parts if part[0] == "s" and part[1:].isdecimal()), "224")
    return f"3x{size}x{size}", int(parts[-1].removeprefix("b"))


def test_what_is_the_same_has_our_shape_batch_and_precision_and_tells_the_time_of_one_iteration() -> None:
    same = [row for row in FIGURES if row["grade"] == "same"]
    for row in same:
        assert row["seconds"] > 0
        assert row["precision"] in set(Precision)
        if row["ours"].startswith("matmul-"):
            size = row["ours"].removeprefix("matmul-")
            assert row["input_shape"] == f"{size}x{size} {size}x{size}"
            assert row["seconds"] == pytest.approx(2 * int(size) ** 3 / row["value"] / 1e12)
        else:
            shape, batch = shape_and_batch(row["ours"])
            assert (row["input_shape"], row["batch_size"]) == (shape, batch)


def test_what_is_the_same_ran_in_pytorch_is_of_our_task_and_was_waited_for() -> None:
    """On a CPU a call ends when its work is done; elsewhere the source must have synchronized, and its line says so."""
    for row in FIGURES:
        if row["grade"] == "same":
            assert (row["framework"], row["outcome"]) == ("pytorch", "ok")
            assert row["task"] == ("train" if "-train-" in row["ours"] else "inference")
    for one in MAPPING:
        if one["grade"] == "same":
            assert one["device"] == "cpu" or "synchron" in one["why"], one


def test_a_model_of_another_library_that_runs_other_operations_is_not_the_same() -> None:
    """The VGG16 of timm ends in convolutions, and is half as fast on a CPU as that of torchvision, which ours is."""
    grades = {row["grade"] for row in FIGURES if row["workload"] == "timm/vgg16" and row["ours"] is not None}
    assert grades == {"near"}


def test_a_time_that_was_printed_as_zero_is_under_half_of_the_last_digit() -> None:
    zero = [row for row in FIGURES if row["value"] == 0]
    assert {(row["source_id"], row["under_s"], row["seconds"]) for row in zero} == {("mlx_benchmark", 5e-6, None)}
    assert len(zero) == 130
    assert all(row["under_s"] is None for row in FIGURES if row["value"] != 0)


def test_the_database_holds_them_on_both_engines(any_engine: sa.Engine) -> None:
    with any_engine.connect() as connection:
        counts = [connection.scalar(sa.text(f"SELECT count(*) FROM {name}")) for name in ("aliases", "mapping")]  # noqa: S608
        same = connection.execute(sa.text("SELECT DISTINCT chip FROM everything WHERE grade = 'same' AND NOT ranked"))
        chips = {row.chip for row in same}
        gathered = connection.scalar(sa.text("SELECT count(*) FROM everything WHERE chip = 'NVIDIA V100 PCIe 32 GB'"))
    assert counts == [len(ALIASES), len(MAPPING)]
    assert chips == {"Apple M1", "Apple M1 Pro", "Intel Core i9-10940X", "Intel Core i7-12700H"}
    assert gathered == 85


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the published figures that a test may spoil."""
    return Path(shutil.copytree(FOLDER, tmp_path / "published"))


def spoil(path: Path, line: int, **changes: Any) -> None:
    """Change fields of a line (the first below the names is 2)."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rows[line - 2] |= changes
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    ("line", "changes", "words"),
    [
        (3, {"spelling": "Apple M1"}, "line 3, column spelling: 'Apple M1' is there already"),
        (4, {"bin": "9-core GPU"}, "line 4, column bin: chips.csv has no"),
        (5, {"why": ""}, "line 5, column why: '' is not allowed"),
    ],
)
def test_a_spoiled_line_of_aliases_is_named(copied: Path, line: int, changes: dict[str, str], words: str) -> None:
    spoil(copied / "aliases.csv", line, **changes)
    with pytest.raises(DataProblem, match=words):
        read_aliases(copied, CHIPS)


@pytest.mark.parametrize(
    ("line", "changes", "words"),
    [
        (2, {"grade": "alike"}, "line 2, column grade: 'alike' is not allowed"),
        (3, {"grade": "same", "workload": ""}, "line 3, column grade: 'same' needs a workload"),
        (3, {"grade": "other", "workload": "x", "version": "1", "mode": "eager"}, "names no workload of ours"),
        (4, {"batch_size": "many"}, "line 4, column batch_size"),
        (5, {"device": "tpu"}, "line 5, column device: 'tpu' is not allowed"),
        (6, {"source_id": "hearsay"}, "line 6, column source_id: sources.json has no 'hearsay'"),
        (3, {"task": "inference"}, "line 3, column published: line 2 is for the same"),
    ],
)
def test_a_spoiled_line_of_the_mapping_is_named(copied: Path, line: int, changes: dict[str, str], words: str) -> None:
    spoil(copied / "mapping.csv", line, **changes)
    with pytest.raises(DataProblem, match=words):
        read_mapping(copied)
