"""Alembic's entry: runs migrations over the connection that ``db.schema.migrate`` hands in."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
