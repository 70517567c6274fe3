"""Opening the database: where it lies, created and migrated, with the published figures in it."""

import contextlib
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs
import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from . import migrate, names, published
from .data import data
from .errors import DatabaseProblem
from .locks import Work, alone
from .models import AliasRecord, ChipRecord, LoadedRecord, MappingRecord, PublishedRecord, SourceRecord
from .trouble import is_trouble, unusable

_AGAIN_S = 0.02
_BUSY_MS = 30_000  # another process may be migrating or storing a case
_CONNECT_S = 10  # to a server; the driver's own patience is minutes


def database_url(given: str | None = None) -> URL:
    """The database to use: ``given``, else METALMARK_DB, else a file in the user's data folder.

    A text without ``://`` is the path of an SQLite file.

    Raises:
        DatabaseProblem: the text is no SQLAlchemy URL, or names a kind of database that is not supported.
    """
    if given == "":
        raise DatabaseProblem("--db names no database: it is empty. Leave it out to use METALMARK_DB or the default.")
    text = given or os.environ.get("METALMARK_DB")
    if not text:
        return URL.create("sqlite", database=str(platformdirs.user_data_path("metalmark") / "metalmark.sqlite"))
    if "://" not in text and not text.startswith("file:"):
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise _no_address(text) from error
    if url.get_backend_name() == "sqlite" and (url.query or url.host):
        raise _no_address(text)  # options would be ignored, or become a part of the file's name
    if url.get_backend_name() == "postgresql" and url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise DatabaseProblem(f"Metalmark keeps its data in SQLite or PostgreSQL, not in '{url.drivername}'.")
    return url


def _no_address(text: str) -> DatabaseProblem:
    shown = re.sub(r"(://[^:/@]*:)[^@]*@", r"\1***@", text)  # passwords end in no log
    return DatabaseProblem(
        f"'{shown}' is not a database address that Metalmark takes. Give a path, or an SQLAlchemy URL such as "
        "sqlite:////home/me/metalmark.sqlite or postgresql+psycopg://user@host/name (--db or METALMARK_DB)."
    )


def open_database(given: str | None = None, *, create: bool = True) -> sa.Engine:
    """An engine on the database, created where missing, migrated, and holding the published figures.

    ``create=False`` is for those who only ask: a file that they have named and that is not there is an error.

    Raises:
        DatabaseProblem: it cannot be opened, is damaged, or was written by a newer Metalmark.
    """
    url = database_url(given)
    name = url.render_as_string(hide_password=True)
    try:
        if given and not create:
            _must_exist(url)
        _make_folder(url)
        engine = _engine(url)
        with _closed_on_error(engine):
            migrate.to_newest(engine, name)
            _keep_journal(engine)
            load_published(engine)
    except (sa.exc.DBAPIError, sqlite3.Error, OSError, RuntimeError, ValueError) as error:
        raise unusable(name, error) from error
    except sa.exc.NoSuchModuleError as error:
        raise DatabaseProblem(f"{name} needs a driver that is not installed: {error}.") from error
    except ModuleNotFoundError as error:
        raise DatabaseProblem(
            f"{name} needs the package '{error.name}'. Install it with: pip install 'metalmark[postgres]'"
        ) from error
    return engine


@contextlib.contextmanager
def _closed_on_error(engine: sa.Engine) -> Iterator[None]:
    """Leave no connection behind where an error ends the work."""
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


@contextlib.contextmanager
def opened(given: str | None = None, *, create: bool = True) -> Iterator[sa.Engine]:
    """As ``open_database``, for as long as a command works; its connections are closed at the end."""
    with using(open_database(given, create=create)) as engine:
        yield engine


@contextlib.contextmanager
def using(engine: sa.Engine) -> Iterator[sa.Engine]:
    """An open database for as long as a command works.

    Raises:
        DatabaseProblem: it failed in the middle of the work: locked, full, or lost.
    """
    try:
        yield engine
    except sa.exc.DBAPIError as error:
        if not is_trouble(error):
            raise
        raise unusable(engine.url.render_as_string(hide_password=True), error, opened=True) from error
    finally:
        engine.dispose()


def load_published(engine: sa.Engine, folder: Path | None = None) -> bool:
    """Put the published figures into the database, unless this edition is there; True if it wrote.

    Raises:
        DataProblem: a file of figures is malformed; the database keeps what it had.
    """
    folder = folder or data("published")
    edition = published.digest(folder)
    loaded = sa.select(LoadedRecord.digest).where(LoadedRecord.name == "published")
    with engine.connect() as connection:
        if connection.scalar(loaded) == edition:
            return False
    chips, mapping = published.read_chips(folder), names.read_mapping(folder)
    tables: tuple[tuple[type[Any], list[dict[str, Any]]], ...] = (
        (SourceRecord, published.read_sources(folder)),
        (ChipRecord, chips),
        (AliasRecord, names.read_aliases(folder, chips)),
        (MappingRecord, mapping),
        (PublishedRecord, names.counterparts(published.read_results(folder), mapping)),
    )
    with engine.execution_options(metalmark_write=True).begin() as connection:
        alone(connection, Work.PUBLISHED)
        if connection.scalar(loaded) == edition:  # another program has done it meanwhile
            return False
        for table, _ in reversed(tables):
            connection.execute(sa.delete(table))
        for table, rows in tables:
            connection.execute(sa.insert(table), rows)
        connection.execute(sa.delete(LoadedRecord).where(LoadedRecord.name == "published"))
        connection.execute(sa.insert(LoadedRecord), {"name": "published", "digest": edition})
    return True


def _must_exist(url: URL) -> None:
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).expanduser().exists():
        raise DatabaseProblem(f"There is no database {url.database}. Check the path given with --db.")


def _keep_journal(engine: sa.Engine) -> None:
    """A write-ahead log, so that readers never wait; only now that the database is known to be ours.

    The switch needs the file alone and does not wait for it by itself, so that two processes which
    make a database at once are told to try again.
    """
    if engine.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + _BUSY_MS / 1000
    connection = engine.raw_connection()
    driver: Any = connection.driver_connection
    try:
        while driver.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                driver.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if _read_only(driver):
                    return
                if time.monotonic() > deadline:
                    raise
                time.sleep(_AGAIN_S)
            else:
                return  # done, or a place (memory, some network drives) that keeps its own way
    finally:
        connection.close()


def _make_folder(url: URL) -> None:
    if url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:"):
        path = Path(str(url.database)).expanduser()
        if path.is_dir():
            raise DatabaseProblem(f"{path} is a folder. Name a file in it, such as {path / 'metalmark.sqlite'}.")
        path.parent.mkdir(parents=True, exist_ok=True)


def _engine(url: URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        told = "connect_timeout" in url.query or "PGCONNECT_TIMEOUT" in os.environ
        return sa.create_engine(url, connect_args={} if told else {"connect_timeout": _CONNECT_S})
    if url.database and url.database.startswith("~"):
        url = url.set(database=str(Path(url.database).expanduser()))
    engine = sa.create_engine(url)
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own BEGIN comes late and skips DDL; with it off, _begin_sqlite makes every
    # transaction, migrations included, all or nothing.
    connection.isolation_level = None
    for pragma in (f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _read_only(connection: sqlite3.Connection) -> bool:
    """Whether the file may only be read, as a downloaded database may be."""
    path = connection.execute("PRAGMA database_list").fetchone()[2]
    return bool(path) and not os.access(path, os.W_OK)


def _begin_sqlite(connection: sa.Connection) -> None:
    write = connection.get_execution_options().get("metalmark_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
