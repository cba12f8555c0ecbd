"""Which messages an account answers first while it gets more than can be answered in time.

Law: as 0001. The previous release ignores the column and leaves no message out.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0068"
down_revision: str | Sequence[str] | None = "0067"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the setting."""
    op.add_column(
        "ai_rules",
        sa.Column(
            "shedding",
            sa.Text(),
            server_default="oldest_first",
            nullable=False,
            comment="which messages are answered first under overload",
        ),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_shedding_known"),
        "ai_rules",
        "shedding IN ('oldest_first', 'newest_first', 'chats_first')",
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_constraint(op.f("ck_ai_rules_shedding_known"), "ai_rules")
    op.drop_column("ai_rules", "shedding")
