"""What protects the people who read: covers of the organisation, reminders of a break.

Law: as 0001; pages of the previous release read and write people meanwhile and leave both columns alone.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0061"
down_revision: str | Sequence[str] | None = "0059"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "people",
        sa.Column(
            "own_covers",
            sa.Boolean,
            server_default=sa.text("false"),
            nullable=False,
            comment="covered was chosen, though it may be empty",
        ),
    )
    op.add_column(
        "people",
        sa.Column(
            "break_after_min",
            sa.Integer,
            comment="minutes of reading until a reminder, 0 never; null: the organisation's",
        ),
    )


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("people", "break_after_min")
    op.drop_column("people", "own_covers")
