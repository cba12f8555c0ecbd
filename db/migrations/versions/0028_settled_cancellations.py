"""A cancelled reply is settled by a relay, which knows whether another relay sent it and then died.

Law: as 0001. The previous release cancels without settling; the relays of this one settle that.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0028"
down_revision: str | Sequence[str] | None = "0027"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDEX = "ix_outbox_waiting"
COLUMNS = "cancel_settled, retraction_id, retract_from"
REASONS = (
    "too_late, taken_over or message_deleted; null: a reviewer",
    "too_late, taken_over, message_deleted or message_flagged; null: a reviewer",
)


def upgrade() -> None:
    """Add the columns; replies cancelled so far count as settled."""
    op.add_column(
        "outbox",
        sa.Column(
            "cancel_settled",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="a relay found that it was not sent before it was cancelled",
        ),
    )
    op.add_column(
        "outbox",
        sa.Column(
            "retraction_id",
            sa.Uuid(),
            nullable=True,
            comment="of the retraction to make if it was sent before",
        ),
    )
    op.add_column(
        "outbox",
        sa.Column(
            "retract_from",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when that retraction may be sent",
        ),
    )
    op.execute("UPDATE outbox SET cancel_settled = true WHERE cancelled_at IS NOT NULL")
    op.drop_index(INDEX, "outbox")
    op.create_index(
        INDEX, "outbox", ["id"], postgresql_where=sa.text("delivered_at IS NULL AND NOT cancel_settled")
    )
    op.alter_column("outbox", "cancel_reason", comment=REASONS[1])
    op.execute(f"GRANT UPDATE ({COLUMNS}) ON outbox TO hushgate_worker, hushgate_reviewer")


def downgrade() -> None:
    """Remove the columns."""
    op.alter_column("outbox", "cancel_reason", comment=REASONS[0])
    op.drop_index(INDEX, "outbox")
    for column in COLUMNS.split(", "):
        op.drop_column("outbox", column)
    op.create_index(INDEX, "outbox", ["id"], postgresql_where=sa.text("delivered_at IS NULL"))
