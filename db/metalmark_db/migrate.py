"""Migrations of a database, by Alembic; a contributor's database is user data and never thrown away."""

from pathlib import Path

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
    if _known_revision(engine, name) == newest() and revision == "head" and _views_are_current(engine):
        return
    settings = config()
    with engine.execution_options(metalmark_write=True).begin() as connection:
        alone(connection, Work.SCHEMA)
        views.drop(connection)
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)
        if revision == "head":
            views.create(connection)
            connection.execute(sa.delete(LoadedRecord).where(LoadedRecord.name == "views"))
            connection.execute(sa.insert(LoadedRecord), {"name": "views", "digest": views.edition()})


def _views_are_current(engine: sa.Engine) -> bool:
    with engine.connect() as connection:
        loaded = connection.scalar(sa.select(LoadedRecord.digest).where(LoadedRecord.name == "views"))
    return loaded == views.edition()


def _known_revision(engine: sa.Engine, name: str) -> str | None:
    """The revision of a database that is ours, or empty."""
    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    with engine.connect() as connection:  # both questions in one transaction: another process may be migrating
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
