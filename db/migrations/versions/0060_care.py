"""What a person chose about covers of the organisation and about break reminders.

Law: as 0001; the previous release ignores the columns.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0060"
down_revision: str | Sequence[str] | None = "0056"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "people",
        sa.Column(
            "uncovered",
            sa.ARRAY(sa.Text),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="categories of the organisation that the person does not cover",
        ),
    )
    op.add_column(
        "people",
        sa.Column(
            "break_reminder",
            sa.Boolean,
            server_default=sa.text("true"),
            nullable=False,
            comment="the person is reminded of breaks",
        ),
    )


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("people", "break_reminder")
    op.drop_column("people", "uncovered")
