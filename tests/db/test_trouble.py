"""Databases that cannot be used: each says why and what to do, shows no traceback, and stays as it was."""

import contextlib
import ctypes
import hashlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db import engine as opening
from metalmark_db import queries, store
from metalmark_db.cli import main
from metalmark_db.engine import database_url, open_database, opened
from metalmark_db.errors import DatabaseProblem
from metalmark_db.record import Case, RunHead, Workload

RUN = next((Path(__file__).parents[1] / "data" / "runs").glob("*.json"))
PROGRAM = "import sys; from metalmark_db.cli import main; main(sys.argv[1:])"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # of Linux
SECRET, WRONG = "s3cret", "wr0ng"


def call(*words: str, **settings: object) -> subprocess.CompletedProcess[str]:
    """The program as a person calls it."""
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **settings)  # type: ignore[call-overload, no-any-return]


def content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


Refused = Callable[..., None]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """Every command refuses a database with these words, which say what to do, and leaves it as it was."""

    def check(path: Path, *words: str) -> None:
        before = content(path)
        for command in (["show"], ["ingest", str(RUN)], ["query", "SELECT 1"]):
            with pytest.raises(SystemExit) as ended:
                main([*command, "--db", str(path)])
            said = capsys.readouterr().err
            assert ended.value.code == DatabaseProblem.exit_code, said
            assert [word for word in words if word not in said] == []
        assert content(path) == before

    return check


def test_a_folder(tmp_path: Path) -> None:
    ended = call("show", "--db", str(tmp_path))
    assert ended.returncode == DatabaseProblem.exit_code
    assert f"{tmp_path} is a folder" in ended.stderr
    assert "metalmark.sqlite" in ended.stderr


def test_a_file_where_its_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatabaseProblem, match="Check that the path is right"):
        open_database(str(tmp_path / "file" / "m.sqlite"))


def test_a_text(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping list\n" * 500)
    refused(path, "not a database", "--db")


def test_a_file_that_begins_as_a_database_and_is_none(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "m.sqlite"
    path.write_bytes(b"SQLite format 3\0" + bytes(5000))
    refused(path, "not a database", "--db")


@pytest.mark.parametrize("damage", ["pages", "end"])
def test_a_damaged_file(database: Path, damage: str, refused: Refused) -> None:
    whole = bytearray(database.read_bytes())
    if damage == "pages":
        whole[4096 : 4096 * 40] = b"\xa5" * (4096 * 39)
    database.write_bytes(whole if damage == "pages" else whole[: len(whole) // 2])
    refused(database, "malformed", ".recover")


def test_somebody_elses_tables(tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "photos.sqlite"
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE photos (id INTEGER)")
    plain.close()
    refused(path, "photos", "not Metalmark's")


def test_somebody_elses_tables_in_postgresql(empty_postgres: str) -> None:
    theirs = sa.create_engine(empty_postgres)
    with theirs.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE photos (id INTEGER)")
    with pytest.raises(DatabaseProblem, match=r"tables that are not Metalmark's \(photos\)"):
        open_database(empty_postgres)
    assert sa.inspect(theirs).get_table_names() == ["photos"]
    theirs.dispose()


@pytest.fixture
def holder(database: Path) -> Iterator[Callable[[str], None]]:
    """Another process that begins a transaction on the database, and holds it until the end of the test."""
    code = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for statement in sys.argv[2].split(';'):\n    c.execute(statement)\n"
        "print('holds', flush=True)\nsys.stdin.read()"
    )
    begun: list[subprocess.Popen[str]] = []

    def hold(statements: str) -> None:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(database), statements],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"

    yield hold
    for process in begun:
        process.communicate(timeout=30)


def test_a_database_that_another_program_holds(
    database: Path, holder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_BUSY_MS", 200)
    holder("PRAGMA locking_mode=EXCLUSIVE;BEGIN EXCLUSIVE;DELETE FROM loaded WHERE name = 'x'")
    with pytest.raises(DatabaseProblem, match=r"is locked\. Another program.*Try again"):
        open_database(str(database))


def test_a_database_that_another_program_writes_can_be_read_and_not_written(
    database: Path, holder: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, head: RunHead
) -> None:
    monkeypatch.setattr(opening, "_BUSY_MS", 200)
    open_database(str(database)).dispose()
    holder("BEGIN IMMEDIATE")

    def read_and_write() -> None:
        with opened(str(database)) as engine:
            assert len(queries.published(engine)) == 4761
            store.begin_run(engine, head, [])

    with pytest.raises(DatabaseProblem, match=r"is locked.*Try again.*stored before is kept"):
        read_and_write()


def test_a_full_disk_costs_what_no_longer_fitted_and_nothing_else(
    database: Path, head: RunHead, workload: Workload, make_case: Callable[..., Case]
) -> None:
    saved = 0

    def fill() -> None:
        nonlocal saved
        with opened(str(database)) as engine:
            with engine.connect() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
                connection.exec_driver_sql(f"PRAGMA max_page_count={(pages or 0) + 40}")
            for _ in range(1000):
                number = store.begin_run(engine, head, [workload])
                store.save_case(engine, number, make_case(blocks=(20_000_000,) * 20))
                saved = number

    with pytest.raises(DatabaseProblem, match=r"is full.*Make room.*stored before is kept"):
        fill()
    assert 0 < saved < 1000
    engine = open_database(str(database))
    assert [row.run_id for row in queries.results(engine)][::-1] == list(range(1, saved + 1))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").all() == [("ok",)]
    assert store.begin_run(engine, head, [workload]) > saved
    engine.dispose()


def test_a_disk_that_is_full_from_the_start(tmp_path: Path) -> None:
    """A process that may write no file beyond 100 kB has no room for the tables."""
    path = tmp_path / "m.sqlite"
    ended = call(
        *("ingest", str(RUN), "--db", str(path)),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert ended.returncode == DatabaseProblem.exit_code, ended.stderr
    assert "Make room on its disk" in ended.stderr
    assert "Traceback" not in ended.stderr
    engine = open_database(str(path))  # with room, the same file is taken
    assert len(queries.published(engine)) == 4761
    engine.dispose()


@pytest.fixture
def public(template: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of a database, as it can be downloaded, in a folder of its own."""
    folder = tmp_path / "public"
    folder.mkdir()
    path = Path(shutil.copy(template, folder / "m.sqlite"))
    plain = sqlite3.connect(path)
    plain.execute("PRAGMA journal_mode=DELETE")
    plain.close()
    yield path
    folder.chmod(0o755)


def read_only(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The program called by somebody who may read a database and neither write it nor its folder."""
    path.chmod(0o444)
    path.parent.chmod(0o555)
    return call(*words, "--db", str(path), preexec_fn=bound_by_permissions)


def bound_by_permissions() -> None:
    """Let the program that is started next obey the permissions of files; otherwise root's would not."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_database_that_may_only_be_read_can_be_asked(public: Path) -> None:
    before = content(public)
    ended = read_only(public, "query", "SELECT count(*) FROM published")
    assert ended.returncode == 0, ended.stderr
    assert "4761" in ended.stdout
    assert content(public) == before
    assert [one.name for one in public.parent.iterdir()] == ["m.sqlite"]


def test_a_database_that_may_only_be_read_takes_nothing_and_says_so(public: Path) -> None:
    before = content(public)
    ended = read_only(public, "ingest", str(RUN))
    assert ended.returncode == DatabaseProblem.exit_code, ended.stderr
    assert "Ask for the right to" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert content(public) == before


def test_an_older_database_that_may_only_be_read_cannot_be_brought_up_to_date(public: Path) -> None:
    plain = sqlite3.connect(public)
    plain.execute("DELETE FROM loaded")
    plain.commit()
    plain.close()
    before = content(public)
    ended = read_only(public, "query", "SELECT 1")
    assert ended.returncode == DatabaseProblem.exit_code, ended.stderr
    assert "Ask for the right to" in ended.stderr
    assert content(public) == before


def test_a_server_that_is_not_there() -> None:
    for address in ("postgresql://me:secret@127.0.0.1:1/db", "postgresql://me:secret@no.such.host.invalid/db"):
        ended = call("show", "--db", address)
        assert ended.returncode == DatabaseProblem.exit_code
        assert "Check that the server runs" in ended.stderr
        assert "secret" not in ended.stderr
        assert "Traceback" not in ended.stderr


def test_a_server_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something listens and says nothing."""
    import socket  # noqa: PLC0415 - only this test is a server

    monkeypatch.setattr(opening, "_CONNECT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        with pytest.raises(DatabaseProblem, match=r"Check that the server runs"):
            open_database(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/db")
    assert time.monotonic() - began < 60


def test_a_database_that_the_server_does_not_have(server: sa.URL) -> None:
    address = server.set(database="nowhere").render_as_string(hide_password=False)
    with pytest.raises(DatabaseProblem, match=r'database "nowhere" does not exist.*createdb'):
        open_database(address)


def test_a_role_that_the_server_does_not_have(server: sa.URL) -> None:
    address = server.set(database="loaded", username="stranger").render_as_string(hide_password=False)
    with pytest.raises(DatabaseProblem, match=r'role "stranger" does not exist.*Check the role and the password'):
        open_database(address)


@pytest.fixture
def locked_role(server: sa.URL) -> Iterator[sa.URL]:
    """Address for a role that has to say the password s3cret."""
    owner = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        rules = Path(str(connection.exec_driver_sql("SHOW hba_file").scalar()))
        before = rules.read_text()
        connection.exec_driver_sql("CREATE ROLE metalmark_locked LOGIN IN ROLE pg_read_all_data")
        connection.exec_driver_sql(f"ALTER ROLE metalmark_locked PASSWORD '{SECRET}'")
        rules.write_text("local all metalmark_locked scram-sha-256\n" + before)
        connection.exec_driver_sql("SELECT pg_reload_conf()")
        address = server.set(username="metalmark_locked", database="loaded")
        trying = sa.create_engine(address, poolclass=sa.pool.NullPool)
        with contextlib.suppress(sa.exc.OperationalError):
            while True:  # until the server has taken up its new rule
                trying.connect().close()
        yield address
        rules.write_text(before)
        connection.exec_driver_sql("SELECT pg_reload_conf()")
        connection.exec_driver_sql("DROP ROLE metalmark_locked")
    owner.dispose()


def test_a_wrong_password(locked_role: sa.URL) -> None:
    wrong = locked_role.set(password=WRONG).render_as_string(hide_password=False)
    with pytest.raises(
        DatabaseProblem, match=r"password authentication failed.*Check the role and the pass"
    ) as problem:
        open_database(wrong)
    assert WRONG not in str(problem.value)
    with pytest.raises(DatabaseProblem, match=r"no password supplied.*PGPASSWORD"):
        open_database(locked_role.render_as_string(hide_password=False))
    right = open_database(locked_role.set(password=SECRET).render_as_string(hide_password=False))
    assert len(queries.published(right)) == 4761
    right.dispose()


def test_a_role_that_may_not_write(locked_role: sa.URL, head: RunHead) -> None:
    address = locked_role.set(password=SECRET).render_as_string(hide_password=False)
    with pytest.raises(DatabaseProblem, match=r"permission denied.*Ask for the right to"), opened(address) as engine:
        store.begin_run(engine, head, [])


def test_a_server_that_goes_away_in_the_middle(postgres: str, head: RunHead) -> None:
    owner = sa.create_engine(postgres, isolation_level="AUTOCOMMIT")

    def lose() -> None:
        with opened(postgres) as engine:
            store.begin_run(engine, head, [])
            with owner.connect() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            store.begin_run(engine, head, [])

    with pytest.raises(DatabaseProblem, match=r"Check that the server runs.*stored before is kept"):
        lose()
    owner.dispose()
    engine = open_database(postgres)
    assert queries.run_ids(engine) == [1]
    engine.dispose()


def test_a_password_stands_in_no_error() -> None:
    for address in ("postgresql://me:s3cret@host:port/db", "nonsense://me:s3cret@host/db"):
        with pytest.raises(DatabaseProblem) as problem:
            database_url(address)
        assert "s3cret" not in str(problem.value)
