"""Several moderators per account.

Law: as 0001. Two columns with constant defaults: no row is rewritten, and the release before this one runs on.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0020"
down_revision: str | Sequence[str] | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NAMED = (
    "jsonb_typeof(moderators) = 'array' AND NOT jsonb_path_exists(moderators,"
    ' \'$[*] ? (@.type() <> "object" || !exists(@.name ? (@.type() == "string"))'
    ' || !exists(@.endpoint ? (@.type() == "string")))\')'
)


def upgrade() -> None:
    """Add the columns."""
    op.add_column(
        "ai_rules",
        sa.Column(
            "moderators",
            postgresql.JSONB(),
            server_default=sa.text("'[]'::jsonb"),
            nullable=False,
            comment="in order; empty: the moderation API alone",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "moderation_combination",
            sa.Text(),
            server_default="any",
            nullable=False,
            comment="any, all or first",
        ),
    )
    op.create_check_constraint(op.f("ck_ai_rules_moderators_are_named"), "ai_rules", NAMED)
    op.create_check_constraint(
        op.f("ck_ai_rules_moderation_combination_known"),
        "ai_rules",
        "moderation_combination IN ('any', 'all', 'first')",
    )


def downgrade() -> None:
    """Remove the columns, with the moderators of every account."""
    op.drop_column("ai_rules", "moderation_combination")
    op.drop_column("ai_rules", "moderators")
