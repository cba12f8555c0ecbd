"""One message under several event ids, changes in any order, automatic repliers, strict rules.

Law: as 0001. New columns are nullable or have a constant default, so the previous release continues to write
rows; its keys have no message, so that only messages decided from now on are recognised again.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0086"
down_revision: str | Sequence[str] | None = "0085"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

KEYS = (
    ("conversation_id", sa.Text(), "NULL: of an earlier release, or a dead letter"),
    ("message_id", sa.Text(), "the platform's id: one message is answered once"),
    ("type", sa.Text(), "message, agent_message, message_edited or message_deleted"),
    ("written_at", sa.TIMESTAMP(timezone=True), "the event's own time: newer edits win, in any order"),
)


def upgrade() -> None:
    """Add columns and the index of messages."""
    for name, kind, comment in KEYS:
        op.add_column("event_keys", sa.Column(name, kind, nullable=True, comment=comment))
    op.add_column(
        "messages",
        sa.Column(
            "sign",
            sa.Text(),
            comment="human, machine or loop: what its writer seemed to be; early_edit: not shown yet",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "rule_level", sa.Text(), server_default="default", nullable=False, comment="default or strict"
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "loop_replies",
            sa.Integer(),
            server_default=sa.text("6"),
            nullable=False,
            comment="replies in an hour without a sign of a person, then none; 0: no limit",
        ),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_rule_level_known"), "ai_rules", "rule_level IN ('default', 'strict')"
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_loop_replies_bounded"), "ai_rules", "loop_replies BETWEEN 0 AND 10"
    )
    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_event_keys_message")  # left by an interrupted run
        op.create_index(
            "ix_event_keys_message",
            "event_keys",
            ["user_id", "conversation_id", "message_id"],
            unique=False,
            postgresql_where=sa.text("message_id IS NOT NULL"),
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    """Drop them."""
    op.drop_column("ai_rules", "loop_replies")
    op.drop_column("ai_rules", "rule_level")
    op.drop_column("messages", "sign")
    op.drop_index("ix_event_keys_message", table_name="event_keys")
    for name, _, _ in reversed(KEYS):
        op.drop_column("event_keys", name)
