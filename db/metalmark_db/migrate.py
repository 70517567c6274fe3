"""Migrations of a database, by Alembic; a contributor's database is user data and never thrown away."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from . import views
from .errors import DatabaseProblem
from .locks import Work, alone
from .models import LoadedRecord

_FOLDER = Path(__file__).resolve().parent / "migrations"


def config() -> Config:
    """Alembic's settings, made in code: no ini file has to be found."""
    settings = Config()
    settings.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    return settings


def newest() -> str:
    """The revision that this Metalmark writes."""
    return str(ScriptDirectory.from_config(config()).get_current_head())


def current(engine: sa.Engine) -> str | None:
    """The revision of a database; None if it has no Metalmark tables yet."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def to_newest(engine: sa.Engine, name: str, revision: str = "head") -> None:
    """Bring a database to ``revision`` in one transaction: all of it or nothing.

    Views are dropped before and created after every migration, from one list.

    Raises:
        DatabaseProblem: the database was written by a newer Metalmark, or holds something else.
    """
    with engine.connect() as connection:  # all questions in one transaction: another process may be migrating
        if _is_newest(connection, name) and revision == "head":
            return
    settings = config()
    with _tables_may_be_made_anew(engine) as connection:
        alone(connection, Work.SCHEMA)
        if _is_newest(connection, name) and revision == "head":  # another program has done it meanwhile
            return
        views.drop(connection)
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)
        if revision == "head":
            views.create(connection)
            connection.execute(sa.delete(LoadedRecord).where(LoadedRecord.name == "views"))
            connection.execute(sa.insert(LoadedRecord), {"name": "views", "digest": views.edition()})


@contextlib.contextmanager
def _tables_may_be_made_anew(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction without foreign keys on SQLite, which alters a table by copying it.

    With them, to drop the old one of cases would delete all rounds that point to it.
    """
    with engine.execution_options(metalmark_write=True).connect() as connection:
        driver: Any = connection.connection.driver_connection
        sqlite = connection.dialect.name == "sqlite"
        if sqlite:
            driver.execute("PRAGMA foreign_keys=OFF")  # inside a transaction it would do nothing
        try:
            with connection.begin():
                yield connection
        finally:
            if sqlite:
                driver.execute("PRAGMA foreign_keys=ON")


def _is_newest(connection: sa.Connection, name: str) -> bool:
    if _known_revision(connection, name) != newest():
        return False
    loaded = connection.scalar(sa.select(LoadedRecord.digest).where(LoadedRecord.name == "views"))
    return loaded == views.edition()


def _known_revision(connection: sa.Connection, name: str) -> str | None:
    """The revision of a database that is ours, or empty."""
    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    at = MigrationContext.configure(connection).get_current_revision()
    tables = sa.inspect(connection).get_table_names()
    if at is not None and at not in known:
        raise DatabaseProblem(
            f"The database {name} was written by a newer Metalmark (revision {at}). Update Metalmark with: "
            "pip install --upgrade metalmark. Nothing in the database was changed."
        )
    if at is None:
        foreign = sorted(set(tables) - {"alembic_version"})
        if foreign:
            raise DatabaseProblem(
                f"{name} holds tables that are not Metalmark's ({', '.join(foreign[:3])}). Name another file with "
                "--db or METALMARK_DB. Nothing in it was changed."
            )
    return at
