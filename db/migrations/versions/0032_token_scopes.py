"""API tokens have scopes; the stored ones may read, as before.

Law: as 0001. The previous release inserts tokens that may read, and reads every token as one.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0032"
down_revision: str | Sequence[str] | None = "0031"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ABOUT = ("tokens of the JSON API; read-only", "credentials of programs that use the JSON API")


def upgrade() -> None:
    """Add the scopes."""
    op.add_column(
        "api_tokens",
        sa.Column(
            "scopes",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{read}'::text[]"),
            nullable=False,
            comment="what it may do of what its person may; db.people.api_tokens.TokenScope",
        ),
    )
    op.create_check_constraint(
        op.f("ck_api_tokens_scopes_known"),
        "api_tokens",
        "scopes <> '{}' AND scopes <@ ARRAY['read', 'publish', 'review', 'manage']",
    )
    op.create_table_comment("api_tokens", ABOUT[1], existing_comment=ABOUT[0])


def downgrade() -> None:
    """Delete the tokens that may not read, and the scopes."""
    op.create_table_comment("api_tokens", ABOUT[0], existing_comment=ABOUT[1])
    op.execute("DELETE FROM api_tokens WHERE NOT scopes @> ARRAY['read']")
    op.drop_column("api_tokens", "scopes")
