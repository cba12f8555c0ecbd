"""A reply keeps its draft with citation marks, the passages it cites and the moment after which it is too late.

Law: as 0001. New columns are nullable or have a constant default, so that the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0015"
down_revision: str | Sequence[str] | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add three columns; workers may cancel a late reply."""
    op.add_column("outbox", sa.Column("draft", sa.Text(), comment="as assessed, with its citation marks"))
    op.add_column(
        "outbox",
        sa.Column(
            "sources",
            JSONB(),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="the passages that the draft cites",
        ),
    )
    op.add_column(
        "outbox", sa.Column("send_before", sa.DateTime(timezone=True), comment="held back after this")
    )
    op.execute("COMMENT ON COLUMN outbox.cancelled_at IS 'when it was taken back, or held back as too late'")
    op.execute("GRANT UPDATE (cancelled_at) ON outbox TO hushgate_worker")


def downgrade() -> None:
    """Drop the columns."""
    op.execute("REVOKE UPDATE (cancelled_at) ON outbox FROM hushgate_worker")
    op.execute("COMMENT ON COLUMN outbox.cancelled_at IS 'a reviewer took it back before delivery'")
    for name in ("send_before", "sources", "draft"):
        op.drop_column("outbox", name)
