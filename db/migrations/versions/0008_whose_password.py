"""Who set a person's password: administrators of an account must be able to know every such person.

Law: as 0001. The new column is nullable: the previous release continues to work. The person who
added another counts as the one who set the password; for people added on the command line it stays null.
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
    """Drop the column."""
    op.drop_column("people", "password_given_by")
