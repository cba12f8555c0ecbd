"""Alembic's entry: runs migrations over the connection that ``db.migrate`` hands in."""

from alembic import context

from db import figure_tables, review_tables  # noqa: F401  # add their tables to metadata
from db.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
