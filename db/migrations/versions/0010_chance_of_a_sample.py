"""The chance with which a sample drew a decision; strata cannot be summed without it.

Law: as 0001. The new column is nullable: the previous release continues to work, and its draws count as before.
In queues that draw a share the chance is that share; in queues that draw a number per stratum it is unknown.
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
    """Add the column, and fill in the known chances."""
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
    """Drop the column."""
    op.drop_column("queue_items", "chance")
