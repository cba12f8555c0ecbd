"""The chance that a sample had of drawing a decision: without it strata cannot be added up.

Law: as 0001. The new column is nullable: the release before this one runs on, and what it draws counts as before.
Of queues that draw a share the chance is that share; of those that draw so many a stratum it was not kept.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0010"
down_revision: str | Sequence[str] | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the column, and fill in what is known."""
    op.add_column(
        "queue_items",
        sa.Column(
            "chance",
            postgresql.DOUBLE_PRECISION(),
            comment="0..1, of being drawn by its sample; null: none, or not known",
        ),
    )
    op.execute(
        "UPDATE queue_items SET chance = (queues.definition ->> 'share')::float8 FROM queues"
        " WHERE queues.id = queue_items.queue_id AND queues.kind = 'sample' AND NOT queue_items.golden"
        " AND (queues.definition ->> 'share')::float8 > 0"
    )


def downgrade() -> None:
    """Forget it."""
    op.drop_column("queue_items", "chance")
