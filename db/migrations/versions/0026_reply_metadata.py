"""Replies say how they were made; accounts can disclose that an AI answers.

Law: as 0001. New columns are nullable or have a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0026"
down_revision: str | Sequence[str] | None = "0025"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

EMPTY_OBJECT = sa.text("'{}'::jsonb")
TEXTS = (
    "jsonb_typeof(disclosure_texts) = 'object' AND NOT jsonb_path_exists(disclosure_texts,"
    " '$.* ? (@.type() <> \"string\")')"
)


def upgrade() -> None:
    """Add three columns."""
    op.add_column(
        "outbox",
        sa.Column(
            "metadata",
            JSONB(),
            server_default=EMPTY_OBJECT,
            nullable=False,
            comment="model and assessment, as they are sent",
        ),
    )
    op.add_column(
        "outbox",
        sa.Column(
            "disclosure", sa.Text(), comment="sent before the text, if none was sent in the conversation"
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "disclosure_texts",
            JSONB(),
            server_default=EMPTY_OBJECT,
            nullable=False,
            comment="language -> text before the first reply of a conversation; empty: none",
        ),
    )
    op.create_check_constraint(op.f("ck_ai_rules_disclosure_texts_are_text"), "ai_rules", TEXTS)


def downgrade() -> None:
    """Drop them; replies that wait are sent without their metadata and disclosure."""
    op.drop_constraint(op.f("ck_ai_rules_disclosure_texts_are_text"), "ai_rules")
    op.drop_column("ai_rules", "disclosure_texts")
    op.drop_column("outbox", "disclosure")
    op.drop_column("outbox", "metadata")
