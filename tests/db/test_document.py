"""Documents: the same bytes for the same run, and nothing else taken for one."""

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings

from metalmark_db.document import (
    FORMAT_VERSION,
    MOST_BYTES,
    Document,
    canonical,
    decode,
    digest_of,
    document_of,
    encode,
)
from metalmark_db.errors import DataProblem
from metalmark_db.record import Case, Run, RunHead, Truth, Workload
from metalmark_db.words import Mode, Outcome, Precision
from tests.records import records

RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))
CASE = Case(
    workload="toy-infer", version=1, device="cpu", precision=Precision.FP32, mode=Mode.EAGER, outcome=Outcome.TIMEOUT
)


@pytest.fixture
def run(head: RunHead) -> Run:
    return Run(head=head, cases=(CASE,))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_recorded_document_is_written_down_again_byte_for_byte(path: Path) -> None:
    assert encode(decode(path.read_bytes())) == path.read_bytes()


@given(run=records(Run))
@settings(max_examples=40)
def test_every_run_comes_back_from_its_document(run: Run) -> None:
    document = document_of(run, ())
    assert decode(encode(document)) == document
    assert document.digest == digest_of(document.run)


def test_the_digest_is_over_the_run_alone(run: Run, workload: Workload) -> None:
    plain = document_of(run, ())
    assert document_of(run, (workload,), handle="somebody").digest == plain.digest
    other = msgspec.structs.replace(run, finished=True)
    assert document_of(other, ()).digest != plain.digest


def test_what_is_unknown_leaves_no_trace_in_the_bytes(run: Run) -> None:
    """A field that a later Metalmark knows must not change the digest of an older run."""
    assert b"null" not in canonical(run)
    assert b"torchvision_version" not in canonical(run)


def test_only_the_workloads_that_the_run_names_are_told(run: Run, workload: Workload) -> None:
    other = msgspec.structs.replace(workload, id="other")
    assert document_of(run, (other, workload)).workloads == (workload,)


def test_a_whole_number_in_a_field_of_fractions_changes_no_digest(run: Run) -> None:
    loaded = msgspec.structs.replace(run.head.conditions_before, load_1m=2)
    whole = msgspec.structs.replace(run, head=msgspec.structs.replace(run.head, conditions_before=loaded))
    assert decode(encode(document_of(whole, ()))).run.head.conditions_before.load_1m == 2.0


def test_numbers_that_are_none_are_unknown_in_a_document(run: Run) -> None:
    truth = Truth(
        reference="cpu fp32", samples=1, error_norm=math.nan, error_max=1.0, error_max_rms=1.0, tolerance=1e-4
    )
    wrong = msgspec.structs.replace(CASE, outcome=Outcome.WRONG_RESULT, truth=truth)
    document = document_of(msgspec.structs.replace(run, cases=(wrong,)), ())
    assert decode(encode(document)).run.cases[0].truth is None


def test_spaces_and_another_order_of_keys_are_the_same_document(run: Run) -> None:
    document = document_of(run, ())
    spread = msgspec.json.format(msgspec.json.encode(document), indent=2)
    assert decode(spread) == document


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no document"),
        (b"[]", "no document"),
        (b"\xff\xfe", "no document"),
        (b"[" * 100_000, "no document"),
        (b'{"format_version": 0}', "no document"),
        (b'{"format_version": 1}', "missing required field"),
        (b'{"format_version": 2, "more": 1}', "newer than this Metalmark"),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(DataProblem, match=words):
        decode(data)


def test_an_unknown_field_and_a_document_without_end_are_refused(run: Run) -> None:
    text = encode(document_of(run, ()))
    with pytest.raises(DataProblem, match="unknown field"):
        decode(text.replace(b'"seed":', b'"hostname":"mine","seed":'))
    with pytest.raises(DataProblem, match="at most"):
        decode(text + b" " * MOST_BYTES)


def test_a_changed_time_is_noticed(run: Run) -> None:
    text = encode(document_of(run, ()))
    with pytest.raises(DataProblem, match="digest"):
        decode(text.replace(b'"seed":7', b'"seed":8'))


@pytest.mark.parametrize("handle", ["", "-a", "a b", "a\n", "x" * 40, "<b>"])
def test_a_handle_is_a_name_and_no_text(run: Run, handle: str) -> None:
    text = msgspec.json.encode(msgspec.structs.replace(document_of(run, ()), handle=handle))
    with pytest.raises(DataProblem, match="no document"):
        decode(text)


def test_the_format_is_stated(run: Run) -> None:
    assert msgspec.json.decode(encode(document_of(run, ())))["format_version"] == FORMAT_VERSION
    assert set(Document.__struct_fields__) == {"format_version", "digest", "handle", "workloads", "run"}
