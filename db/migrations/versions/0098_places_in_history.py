"""History in the order of the ids, which the database gives out; sealed lines keep theirs.

Law: as 0001. The previous release orders by the time and needs the old index only for speed; what it seals has
no place, and comes to the end of the history when it is restored.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0098"
down_revision: str | Sequence[str] | None = "0090"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

INDEX = "ix_messages_conversation"
PLACES = "USAGE ON SEQUENCE messages_id_seq"
ROLES = "hushgate_worker, hushgate_reviewer"
COMMENT = "the order of a conversation; kept by edits and restores"


def upgrade() -> None:
    """Add the place, and order the index by it, while workers write."""
    op.add_column(
        "quarantine",
        sa.Column(
            "place",
            sa.BigInteger(),
            nullable=True,
            comment="its id in messages, before and after; null: of an earlier release",
        ),
    )
    op.alter_column("messages", "id", comment=COMMENT)
    op.execute(f"GRANT {PLACES} TO {ROLES}")
    _replace_index(["user_id", "conversation_id", "id"])


def downgrade() -> None:
    """Order by the time again."""
    _replace_index(["user_id", "conversation_id", "created_at", "id"])
    op.execute(f"REVOKE {PLACES} FROM {ROLES}")
    op.alter_column("messages", "id", comment=None, existing_comment=COMMENT)
    op.drop_column("quarantine", "place")


def _replace_index(columns: list[str]) -> None:
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_messages_replaced")  # left by an interrupted run
        op.create_index("ix_messages_replaced", "messages", columns, postgresql_concurrently=True)
        op.drop_index(INDEX, "messages", postgresql_concurrently=True)
    op.execute(f"ALTER INDEX ix_messages_replaced RENAME TO {INDEX}")
