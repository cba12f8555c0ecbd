"""Who gave somebody's password: an account must not be reached with one that its administrators do not know of.

Law: as 0001. The new column is nullable: the release before this one runs on. Whoever added somebody counts as
who gave the password; people added at the command line stay without.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | Sequence[str] | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "people",
        sa.Column(
            "password_given_by",
            sa.Uuid(),
            sa.ForeignKey("people.id", name=op.f("fk_people_password_given_by")),
            comment="whoever gave the last first password, and may know what followed; null: the command line",
        ),
    )
    op.execute(
        "UPDATE people SET password_given_by = giver.id FROM people giver"
        " WHERE giver.login = people.created_by AND people.password_hash IS NOT NULL"
    )


def downgrade() -> None:
    """Forget it."""
    op.drop_column("people", "password_given_by")
