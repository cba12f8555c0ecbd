"""The share of recent attempts of a webhook endpoint that failed: one failure slows nothing down.

Law: as 0001. The column has a constant default; the previous release slows an endpoint down after one failure.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0099"
down_revision: str | Sequence[str] | None = "0098"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

RIGHT = "UPDATE (failing_share) ON webhook_endpoints"


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "webhook_endpoints",
        sa.Column(
            "failing_share",
            sa.Float(),
            server_default=sa.text("0"),
            nullable=False,
            comment="of recent attempts, newer ones count more",
        ),
    )
    op.execute(f"GRANT {RIGHT} TO hushgate_worker")


def downgrade() -> None:
    """Drop it."""
    op.execute(f"REVOKE {RIGHT} FROM hushgate_worker")
    op.drop_column("webhook_endpoints", "failing_share")
