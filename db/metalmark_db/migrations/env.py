"""Alembic's entry: runs the migrations on the connection that ``metalmark_db.migrate`` hands over."""

from alembic import context

from metalmark_db.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite alters a table by copying it
)
context.run_migrations()
