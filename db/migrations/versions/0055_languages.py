"""The language and time zone that a person chose for the review pages.

Law: as 0001; pages of the previous release read and write people meanwhile and leave both columns null.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0055"
down_revision: str | Sequence[str] | None = "0054"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "people", sa.Column("language", sa.Text, comment="of the pages, such as vi; null: the browser's")
    )
    op.add_column(
        "people",
        sa.Column("time_zone", sa.Text, comment="IANA name for shown times; null: the browser's"),
    )


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("people", "time_zone")
    op.drop_column("people", "language")
