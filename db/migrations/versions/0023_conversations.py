"""Conversations belong to the AI or to people.

Law: as 0001. New columns are nullable or have a constant default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0023"
down_revision: str | Sequence[str] | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

MESSAGE_ROLES = ("'user', 'assistant'", "'user', 'assistant', 'agent'")
ROLE_COMMENT = ("user or assistant", "user, assistant or agent")
REPLY_INDEX = "ix_outbox_message"


def upgrade() -> None:
    """Add the table and columns, and let workers follow edits and deletions."""
    op.create_table(
        "conversations",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column(
            "people_until", sa.DateTime(timezone=True), nullable=False, comment="people own it until then"
        ),
        sa.Column(
            "changed_at", sa.DateTime(timezone=True), nullable=False, comment="the last change of the owner"
        ),
        sa.Column("changed_by", sa.Text(), nullable=False, comment="agent or login; empty: an escalation"),
        sa.Column(
            "cause", sa.Text(), nullable=False, comment="escalation, agent_message, command or release"
        ),
        sa.Column("changes", sa.Integer(), nullable=False, comment="changes of the owner so far"),
        sa.Column(
            "agent_entry", sa.ARRAY(sa.Numeric()), comment="newest stream entry of an agent that took it"
        ),
        sa.CheckConstraint(
            "cause IN ('escalation', 'agent_message', 'command', 'release')",
            name=op.f("ck_conversations_cause_known"),
        ),
        sa.PrimaryKeyConstraint("user_id", "conversation_id", name=op.f("pk_conversations")),
        comment="conversations that people own or owned; the AI owns every other",
    )
    op.create_index("ix_conversations_people_until", "conversations", ["people_until"])
    op.add_column(
        "outbox",
        sa.Column(
            "cancel_reason", sa.Text(), comment="too_late, taken_over or message_deleted; null: a reviewer"
        ),
    )
    op.add_column(
        "outbox",
        sa.Column(
            "changes", sa.Integer(), comment="conversations.changes at the decision; null: an older release"
        ),
    )
    _add_settings()
    _set_roles(1)
    op.execute("GRANT SELECT, INSERT, UPDATE ON conversations TO hushgate_worker, hushgate_reviewer")
    op.execute("GRANT UPDATE (cancel_reason) ON outbox TO hushgate_worker, hushgate_reviewer")
    op.execute("GRANT INSERT ON retractions TO hushgate_worker")
    with op.get_context().autocommit_block():
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {REPLY_INDEX}")  # left by an interrupted run
        op.create_index(
            REPLY_INDEX,
            "outbox",
            ["user_id", "conversation_id", "message_id"],
            postgresql_concurrently=True,
        )


def downgrade() -> None:
    """Drop them; messages of agents are deleted, because the previous release does not know them."""
    op.drop_index(REPLY_INDEX, "outbox")
    op.execute("REVOKE INSERT ON retractions FROM hushgate_worker")
    op.execute("DELETE FROM messages WHERE role = 'agent'")
    _set_roles(0)
    for name in ("people_idle_s", "stale_reply", "retract_deleted"):
        op.drop_column("ai_rules", name)
    op.drop_column("outbox", "changes")
    op.drop_column("outbox", "cancel_reason")
    op.drop_table("conversations")


def _add_settings() -> None:
    op.add_column(
        "ai_rules",
        sa.Column(
            "people_idle_s",
            sa.DOUBLE_PRECISION(),
            server_default=sa.text("3600"),
            nullable=False,
            comment="a conversation returns to the AI after so long without people; 0: never",
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column(
            "stale_reply", sa.Text(), server_default="discard", nullable=False, comment="discard or send"
        ),
    )
    op.add_column(
        "ai_rules",
        sa.Column("retract_deleted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.create_check_constraint(
        op.f("ck_ai_rules_stale_reply_known"), "ai_rules", "stale_reply IN ('discard', 'send')"
    )
    op.create_check_constraint(op.f("ck_ai_rules_people_idle_not_negative"), "ai_rules", "people_idle_s >= 0")


def _set_roles(which: int) -> None:
    """Replace the check without a long lock: validated afterwards, while others write."""
    op.execute("ALTER TABLE messages DROP CONSTRAINT ck_messages_role_known")
    op.execute(
        "ALTER TABLE messages ADD CONSTRAINT ck_messages_role_known"
        f" CHECK (role IN ({MESSAGE_ROLES[which]})) NOT VALID"
    )
    op.execute("ALTER TABLE messages VALIDATE CONSTRAINT ck_messages_role_known")
    op.alter_column("messages", "role", comment=ROLE_COMMENT[which], existing_comment=ROLE_COMMENT[1 - which])
