"""Alembic's entry: runs migrations over the connection that ``db.migrate`` hands in."""

from alembic import context

from db import review_tables  # noqa: F401  # adds its tables to metadata
from db.figures import tables as figure_tables  # noqa: F401  # likewise
from db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
