"""Alembic's entry: runs migrations over the connection that ``db.migrate`` hands in."""

from alembic import context

from db import review_tables, tables  # noqa: F401  # they add their tables to metadata
from db.answers import tables as answer_tables  # noqa: F401  # likewise
from db.candidates import golden_tables, rollout_tables, shadow_tables  # noqa: F401  # likewise
from db.candidates import tables as candidate_tables  # noqa: F401  # likewise
from db.collaboration import tables as collaboration_tables  # noqa: F401  # likewise
from db.columns import metadata
from db.costs import tables as cost_tables  # noqa: F401  # likewise
from db.documents import tables as document_tables  # noqa: F401  # likewise
from db.escalations import tables as escalation_tables  # noqa: F401  # likewise
from db.figures import tables as figure_tables  # noqa: F401  # likewise
from db.outgoing import tables as outgoing_tables  # noqa: F401  # likewise
from db.people import tables as people_tables  # noqa: F401  # likewise
from db.retention import tables as retention_tables  # noqa: F401  # likewise
from db.suggestions import tables as suggestion_tables  # noqa: F401  # likewise
from db.webhooks import tables as webhook_tables  # noqa: F401  # likewise
from features.feature import parts

parts("tables")  # optional features add theirs

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
