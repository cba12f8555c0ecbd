"""Messages that an author writes in a row are answered once.

Law: as 0001. The column has a constant default, so the previous release continues to write rows.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0024"
down_revision: str | Sequence[str] | None = "0023"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the setting."""
    op.add_column(
        "ai_rules",
        sa.Column(
            "burst_window_s",
            sa.DOUBLE_PRECISION(),
            server_default=sa.text("1.5"),
            nullable=False,
            comment="how long a message waits for the author's next one; 0: not at all",
        ),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_burst_window_bounded"), "ai_rules", "burst_window_s BETWEEN 0 AND 30"
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_column("ai_rules", "burst_window_s")
