"""Answers are found by their conversation, for the list of what waits for an answer.

Law: as 0001. The previous release ignores the index.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0036"
down_revision: str | Sequence[str] | None = "0035"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    """Add the index."""
    op.create_index("ix_answers_conversation", "answers", ["user_id", "conversation_id", "created_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_index("ix_answers_conversation", "answers")
