"""Documents into a database: whole or not at all, once, on both engines; and out again byte for byte."""

import gzip
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings

from metalmark_db import document as document_format
from metalmark_db import handed, queries, store, summary
from metalmark_db.cli import main
from metalmark_db.document import Document, decode, document_of, encode
from metalmark_db.errors import DataProblem
from metalmark_db.ingest import Fate, Handled, ingest
from metalmark_db.load import load_run
from metalmark_db.record import Case, Conditions, Moment, Round, Run, RunHead, Truth, Workload
from metalmark_db.words import Outcome, Reason
from tests.db.test_load import storable
from tests.records import records

RUNS = sorted((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))
MakeCase = Callable[..., Case]


@pytest.fixture
def document(head: RunHead, workload: Workload, make_case: MakeCase) -> Document:
    """A document of two cases."""
    cases = (make_case("cpu", (40_000_000,) * 6), make_case("mps", (10_000_000,) * 6))
    return document_of(
        Run(head=head, cases=cases, conditions_after=Conditions(load_1m=2.0), finished=True), (workload,)
    )


WRONG = Truth(reference="cpu fp32", samples=1, error_norm=0.9, error_max=1.0, error_max_rms=1.0, tolerance=1e-3)


def taken(engine: sa.Engine, *documents: Document | bytes) -> list[Handled]:
    """What became of these documents."""
    heard: list[Handled] = []
    named = (("x", one if isinstance(one, bytes) else encode(one)) for one in documents)
    counts = ingest(engine, named, heard.append)
    assert sum(counts.values()) == len(heard)
    return heard


def changed(document: Document, **changes: object) -> Document:
    """The document of another run."""
    return document_of(msgspec.structs.replace(document.run, **changes), document.workloads)


def with_case(document: Document, **changes: object) -> Document:
    """The document with another first case."""
    first, *rest = document.run.cases
    return changed(document, cases=(msgspec.structs.replace(first, **changes), *rest))


def test_recorded_runs_go_in_once_and_come_out_byte_for_byte(any_engine: sa.Engine) -> None:
    texts = [path.read_bytes() for path in RUNS]
    assert [one.fate for one in taken(any_engine, *texts)] == [Fate.ADDED] * len(texts)
    assert [one.fate for one in taken(any_engine, *texts)] == [Fate.KNOWN] * len(texts)
    numbers = sorted(queries.run_ids(any_engine))
    assert [encode(document_of(*load_run(any_engine, number))) for number in numbers] == texts


def credible(case: Case) -> Case:
    """The case without what its evidence would deny."""
    rounds = tuple(
        msgspec.structs.replace(one, residual_ns=None, iterations=one.iterations % 999 + 1) for one in case.rounds
    )
    ok = case.outcome is Outcome.OK
    return msgspec.structs.replace(
        case,
        rounds=rounds,
        fallback=case.fallback or bool(case.fallback_ops),
        reason=None if ok else case.reason,
        truth=None if ok else case.truth,
    )


@given(case=records(Case).map(storable).map(credible))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_case_comes_out_as_it_went_in(engine: sa.Engine, head: RunHead, workload: Workload, case: Case) -> None:
    document = document_of(Run(head=head, cases=(case,)), (workload,))
    (handled,) = taken(engine, document)
    if handled.fate is Fate.ADDED:
        assert document_of(*load_run(engine, max(queries.run_ids(engine)))).run == document.run
    else:  # the same case again, or numbers that no column holds
        assert handled.fate is Fate.KNOWN or "interval" in str(handled.reason), handled


def test_the_same_figures_as_a_run_that_was_measured_here(
    any_engine: sa.Engine, document: Document, head: RunHead, workload: Workload
) -> None:
    run_id = store.begin_run(any_engine, head, [workload])
    for case in document.run.cases:
        store.save_case(any_engine, run_id, case)
    taken(any_engine, document)
    one, other = (queries.results(any_engine, number) for number in sorted(queries.run_ids(any_engine)))
    assert [msgspec.structs.replace(row, run_id=0) for row in one] == [
        msgspec.structs.replace(row, run_id=0) for row in other
    ]


def test_a_run_that_was_measured_here_is_known_when_its_document_comes_back(
    any_engine: sa.Engine, document: Document, head: RunHead, workload: Workload
) -> None:
    run_id = store.begin_run(any_engine, head, [workload])
    for case in document.run.cases:
        store.save_case(any_engine, run_id, case)
    store.finish_run(any_engine, run_id, Conditions(load_1m=2.0), finished=True)
    assert [one.fate for one in taken(any_engine, document)] == [Fate.KNOWN]


def test_a_refused_document_leaves_nothing_and_the_others_go_on(any_engine: sa.Engine, document: Document) -> None:
    ok_without_samples = with_case(document, rounds=())
    found = taken(any_engine, b"{}", ok_without_samples, document)
    assert [one.fate for one in found] == [Fate.REFUSED, Fate.REFUSED, Fate.ADDED]
    assert "run.cases[0] (toy-infer on cpu, fp32 eager) is ok and has no samples" in str(found[1].reason)
    with any_engine.connect() as connection:
        counts = [
            connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608
            for table in ("runs", "cases", "rounds", "touched", "summary", "cells")
        ]
    assert counts == [1, 2, 2, 0, 0, 2]  # the head of the tests sets a variable: nothing to rank


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cases": ()}, "nothing was measured"),
        ({"started_at": "yesterday"}, "no time in ISO 8601"),
        ({"started_at": "2026-11-30T12:00:00"}, "not in UTC"),
        ({"started_at": "20261130T120000Z"}, "not written as '2026-11-30T12:00:00+00:00'"),
        ({"started_at": "2026-11-30\x1b12:00:00+00:00"}, "not written as"),
        ({"started_at": "2026-11-30T12:00:00+02:00"}, "not in UTC"),
        ({"started_at": "9999-01-01T00:00:00+00:00"}, "yet to come"),
    ],
)
def test_a_run_that_cannot_be_is_refused(
    engine: sa.Engine, document: Document, changes: dict[str, object], words: str
) -> None:
    if "started_at" in changes:
        changes = {"head": msgspec.structs.replace(document.run.head, **changes)}
    (found,) = taken(engine, changed(document, **changes))
    assert found.fate is Fate.REFUSED
    assert words in str(found.reason)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"device": "mps"}, "is there twice"),
        ({"outcome": Outcome.OK, "rounds": (Round(number=0, iterations=1, block_ns=()),)}, "no samples"),
        (
            {"rounds": (Round(number=1, iterations=1, block_ns=(5,)), Round(number=0, iterations=1, block_ns=(5,)))},
            "order",
        ),
        ({"rounds": (Round(number=0, iterations=1, block_ns=(2**63,)),)}, "no clock shows"),
        ({"conditions": Moment()}, "say nothing"),
        ({"workload": "unheard-of"}, "neither does the database"),
        ({"device": "toaster"}, "none of cpu, mps, cuda, xpu"),
        ({"fallback_ops": ("aten::x",)}, "does not say that it fell back"),
        ({"reason": Reason.UNSYNCHRONIZED}, "is ok, with the reason unsynchronized"),
        ({"truth": WRONG}, "differs from the reference by more than its tolerance"),
        (
            {"rounds": (Round(number=0, iterations=1, block_ns=(10**6,) * 6, residual_ns=10**9),)},
            "clock stopped before",
        ),
        ({"rounds": (Round(number=0, iterations=2**60, block_ns=(5,) * 6),)}, "which no run has"),
        ({"needed_bytes": 2**63}, "does not take it"),
        ({"detail": "a\0b"}, ""),
    ],
)
def test_a_case_that_cannot_be_is_refused(
    any_engine: sa.Engine, document: Document, changes: dict[str, object], words: str
) -> None:
    (found,) = taken(any_engine, with_case(document, **changes))
    if changes == {"detail": "a\0b"} and any_engine.dialect.name == "sqlite":
        return  # SQLite takes a NUL in a text, PostgreSQL does not
    assert found.fate is Fate.REFUSED
    assert words in str(found.reason)
    assert queries.run_ids(any_engine) == []


def test_facts_of_a_known_workload_cannot_be_changed_by_a_document(any_engine: sa.Engine, document: Document) -> None:
    taken(any_engine, document)
    (facts,) = document.workloads
    lie = msgspec.structs.replace(facts, flops_per_iteration=1.0, title="<b>Better</b>")
    other = document_of(msgspec.structs.replace(document.run, finished=False), (lie,))
    (found,) = taken(any_engine, other)
    assert "flops_per_iteration of toy-infer version 1 is 1.0; the database knows 2000000000.0" in str(found.reason)
    retitled = msgspec.structs.replace(facts, title="Another", model="torchvision toy", bytes_per_iteration=1.0)
    (found,) = taken(any_engine, document_of(msgspec.structs.replace(document.run, finished=False), (retitled,)))
    assert found.fate is Fate.ADDED
    (row,) = queries.workloads(any_engine)
    assert (row.title, row.model) == ("Toy", "torchvision toy")  # what nobody had told is filled in ...
    assert row.bytes_per_iteration is None  # ... but nothing that figures rest on


def test_summary_and_cells_are_up_to_date_afterwards(any_engine: sa.Engine) -> None:
    taken(any_engine, *(path.read_bytes() for path in RUNS))
    assert summary.refresh(any_engine) == 0
    with any_engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM summary")) == connection.scalar(
            sa.text("SELECT count(*) FROM summary_view")
        )


def test_documents_are_found_in_files_folders_archives_and_lines(tmp_path: Path) -> None:
    text = RUNS[0].read_bytes()
    folder = tmp_path / "folder" / "ab"
    folder.mkdir(parents=True)
    (folder / "one.json").write_bytes(text)
    (folder / "two.json.gz").write_bytes(gzip.compress(text))
    (folder / "notes.txt").write_bytes(b"no document")
    (tmp_path / "lines.jsonl").write_bytes(text + b"\n" + text)
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("../../etc/three.json", text)
        archive.writestr("four.json.gz", gzip.compress(text))
        archive.writestr("readme.md", "no document")
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive_of_tar:
        archive_of_tar.add(folder / "one.json", "five.json")
        archive_of_tar.add(folder, "folder")
    files = handed.listed([str(tmp_path)])
    found = [(name.removeprefix(f"{tmp_path}/"), data) for file in files for name, data in handed.documents(file)]
    assert [name for name, _ in found] == [
        "all.tar.gz: five.json",
        "all.tar.gz: folder/one.json",
        "all.tar.gz: folder/two.json.gz",
        "all.zip: ../../etc/three.json",
        "all.zip: four.json.gz",
        "folder/ab/one.json",
        "folder/ab/two.json.gz",
        "lines.jsonl, line 1",
        "lines.jsonl, line 3",
    ]
    assert all(data == text for _, data in found)


@pytest.mark.parametrize("name", ["cut.json.gz", "cut.zip", "cut.tar.gz", "missing.json", "folder.json"])
def test_what_cannot_be_read_is_named_with_the_cause(tmp_path: Path, name: str) -> None:
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(RUNS[0].read_bytes())[:-20])
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04")
    (tmp_path / "cut.tar.gz").write_bytes(gzip.compress(b"no archive" * 100))
    (tmp_path / "folder.json").mkdir()
    ((found, problem),) = handed.documents(str(tmp_path / name))
    assert found == str(tmp_path / name)
    assert isinstance(problem, DataProblem)
    assert "cannot be read" in str(problem)


def test_lines_inside_an_archive_are_read_and_a_broken_one_ends_nothing(tmp_path: Path) -> None:
    text = RUNS[0].read_bytes()
    with zipfile.ZipFile(tmp_path / "lines.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("all.jsonl", text + text)
        archive.writestr("all.jsonl.gz", gzip.compress(text))
    assert [data for _, data in handed.documents(str(tmp_path / "lines.zip"))] == [text] * 3
    spoiled = bytearray((tmp_path / "lines.zip").read_bytes())
    spoiled[60:90] = b"\xff" * 30
    (tmp_path / "spoiled.zip").write_bytes(spoiled)
    assert all(
        isinstance(data, DataProblem) or data == text for _, data in handed.documents(str(tmp_path / "spoiled.zip"))
    )


@pytest.mark.parametrize("before", [b"", b"\n \n", b"\xef\xbb\xbf", b'{"broken\n'])
def test_one_bad_line_of_standard_input_costs_that_line(before: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    text = RUNS[0].read_bytes()
    monkeypatch.setattr("sys.stdin", _Input(before + text + text))
    found = [data for _, data in handed.documents("-")]
    assert found[-2:] == [text, text]
    assert len(found) == 2 + (before == b'{"broken\n')


def test_a_file_that_unfolds_without_end_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (document_format.MOST_BYTES + 100)))
    ((_, problem),) = handed.documents(str(bomb))
    assert "more than" in str(problem)


def test_a_named_pipe_is_no_document(tmp_path: Path) -> None:
    import os  # noqa: PLC0415 - for this alone

    os.mkfifo(tmp_path / "pipe.json")
    ((_, problem),) = handed.documents(str(tmp_path / "pipe.json"))
    assert "no plain file" in str(problem)


class _Input(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


def test_the_command_tells_what_became_of_each_and_its_code_says_whether_all_went_in(
    any_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text('{"format_version": 1}')
    arguments = ["ingest", str(RUNS[0]), "-", str(tmp_path), "--db", any_address]
    monkeypatch.setattr("sys.stdin", _Input(json.dumps(json.loads(RUNS[1].read_bytes()), indent=1).encode()))
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    captured = capsys.readouterr()
    assert ended.value.code == DataProblem.exit_code
    assert captured.out == "2 runs added, 1 refused.\n"
    assert f"Refused {tmp_path}/bad.json: it is no document of a run: Object missing required field" in captured.err
    monkeypatch.setattr("sys.stdin", _Input(b"".join(path.read_bytes() for path in RUNS)))
    with pytest.raises(SystemExit) as ended:
        main(["ingest", "-", "--json", "--db", any_address])
    assert ended.value.code == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["fate"] for one in told] == ["known", "known", "added", "added", "added"]


def test_a_folder_without_documents_is_said_to_hold_none(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit) as ended:
        main(["ingest", str(tmp_path / "empty"), "--db", str(database)])
    assert ended.value.code == DataProblem.exit_code
    assert "There is no document in" in capsys.readouterr().err


def test_two_that_take_in_the_same_documents_at_once_have_each_of_them_once(any_engine: sa.Engine) -> None:
    texts = [(path.stem, path.read_bytes()) for path in RUNS]
    fates: list[Fate] = []
    threads = [
        threading.Thread(target=ingest, args=(any_engine, order, lambda one: fates.append(one.fate)))
        for order in (texts, texts[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(fates) == [Fate.ADDED] * len(texts) + [Fate.KNOWN] * len(texts)
    assert len(queries.run_ids(any_engine)) == len(texts)


def test_the_handle_is_kept_beside_the_run(any_engine: sa.Engine, document: Document) -> None:
    taken(any_engine, encode(document_of(document.run, document.workloads, handle="ada-l")))
    with any_engine.connect() as connection:
        assert connection.execute(sa.text("SELECT handle, digest FROM runs")).all() == [("ada-l", document.digest)]
    assert decode(encode(document)).handle is None
