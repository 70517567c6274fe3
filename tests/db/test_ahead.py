"""The second process: the same answers in the same order, and a clear end whatever dies."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from fleet import runs as fleet_runs
from metalmark_db import queries
from metalmark_db.ahead import ahead
from metalmark_db.document import document_of, encode
from metalmark_db.errors import DataProblem
from metalmark_db.ingest import FEW, Fate, Handled, ingest
from metalmark_db.prepare import Source, made_ready

Named = list[tuple[str, bytes | DataProblem]]


@pytest.fixture(scope="module")
def documents() -> Named:
    """More documents than are read here, bad ones among them."""
    good = [(str(place), encode(document_of(*one))) for place, one in enumerate(fleet_runs(FEW + 30, 6))]
    good.insert(3, ("bad here", b"{}"))
    good.insert(FEW + 10, ("bad there", b"[1, 2"))
    mixed: Named = [*good]
    mixed.insert(FEW + 12, ("unread", DataProblem("it cannot be read")))
    return mixed


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_answers_are_those_of_this_process_in_the_same_order(documents: Named) -> None:
    there = list(ahead(documents))
    here = [(name, made_ready(data)) for name, data in documents]
    assert [name for name, _ in there] == [name for name, _ in here]
    for (_, one), (_, other) in zip(there, here, strict=True):
        assert str(one) == str(other) if isinstance(other, DataProblem) else one == other
    assert children() == []


def test_many_documents_come_in_as_few_do(any_engine: sa.Engine, documents: Named) -> None:
    heard: list[Handled] = []
    counts = ingest(any_engine, documents, heard.append)
    assert counts == {Fate.ADDED: FEW + 30, Fate.KNOWN: 0, Fate.REFUSED: 3}
    assert [one.name for one in heard] == [name for name, _ in documents]
    assert [one.reason for one in heard if one.name == "unread"] == ["it cannot be read"]
    assert len(queries.run_ids(any_engine)) == FEW + 30
    assert children() == []


def test_a_reader_that_fails_is_heard_of_and_leaves_no_process(engine: sa.Engine, documents: Named) -> None:
    def failing() -> Source:
        yield from documents[: FEW + 5]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        ingest(engine, failing())
    assert len(queries.run_ids(engine)) == FEW + 4  # what came before, without the bad one
    assert children() == []


def test_a_caller_that_stops_leaves_no_process(documents: Named) -> None:
    answers = ahead(documents)
    next(answers)
    assert len(children()) == 1
    answers.close()  # type: ignore[attr-defined]
    assert children() == []
    assert threading.active_count() == 1


def test_a_second_process_that_is_killed_ends_the_work_with_what_to_do(documents: Named) -> None:
    def endless() -> Iterator[tuple[str, bytes | DataProblem]]:
        while True:
            yield documents[0]

    answers = ahead(endless())
    next(answers)
    (child,) = children()
    child.kill()
    with pytest.raises(DataProblem, match="Run the command again"):
        for _ in answers:
            pass
    assert children() == []


def test_ctrl_c_ends_both_and_keeps_what_was_taken_in(tmp_path: Path, documents: Named) -> None:
    path = tmp_path / "many.jsonl"
    good = [data for _, data in documents if isinstance(data, bytes) and len(data) > 100]
    path.write_bytes(b"".join(good))
    program = "from metalmark_db.cli import main; main()"
    words = [sys.executable, "-c", program, "ingest", "--db", str(tmp_path / "x.sqlite"), "--json", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for _ in range(FEW + 3):
        process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    time.sleep(0.1)
    assert not [one for one in psutil.process_iter() if one.is_running() and str(path) in " ".join(cmdline(one))]


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
