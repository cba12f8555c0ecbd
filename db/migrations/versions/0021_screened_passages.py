"""Passages are screened at upload, and settings for screening and for masking personal data.

Law: as 0001. Constant defaults rewrite no row; workers of the release before read flagged chunks too.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0021"
down_revision: str | Sequence[str] | None = "0020"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

EMPTY_LIST = sa.text("'{}'::text[]")


def upgrade() -> None:
    """Add four settings and three columns of chunks; the review pages may release chunks."""
    op.add_column(
        "ai_rules",
        sa.Column("rules_on_passages", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column(
        "ai_rules",
        sa.Column("injection_check", sa.Boolean(), server_default=sa.text("true"), nullable=False),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "mask_personal_data",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="vendors get placeholders",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "phone_countries",
            postgresql.ARRAY(sa.Text()),
            server_default=EMPTY_LIST,
            nullable=False,
            comment="ISO 3166, lower case; their national phone formats are masked",
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "flags",
            postgresql.ARRAY(sa.Text()),
            server_default=EMPTY_LIST,
            nullable=False,
            comment="rules that matched at upload; not retrieved until released",
        ),
    )
    op.add_column(
        "chunks",
        sa.Column(
            "released_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="since when it is retrieved in spite of its flags",
        ),
    )
    op.add_column(
        "chunks", sa.Column("released_by", sa.Text(), nullable=True, comment="login, or command line")
    )
    op.execute("GRANT UPDATE (flags, released_at, released_by) ON chunks TO hushgate_reviewer")


def downgrade() -> None:
    """Remove them; flagged chunks are retrieved again."""
    op.execute("REVOKE UPDATE (flags, released_at, released_by) ON chunks FROM hushgate_reviewer")
    for name in ("released_by", "released_at", "flags"):
        op.drop_column("chunks", name)
    for name in ("phone_countries", "mask_personal_data", "injection_check", "rules_on_passages"):
        op.drop_column("ai_rules", name)
