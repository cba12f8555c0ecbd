"""The table of escalations."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import VACUUMED_BY_COUNT, Timestamp, choice, index, key, required, required_texts, table

escalations: Final = table(
    "escalations",
    "decisions that people must answer; at most one of a conversation is open",
    key("decision_id", sa.Uuid, comment="UUIDv7"),
    *required_texts("user_id", "event_id", "conversation_id", "message_id", "author_id", "scope"),
    required("reason_code", sa.Text, comment="of the decision"),
    required("queue", sa.Text, comment="of the account's escalation_queues; empty: none named"),
    required("opened_at", Timestamp),
    sa.Column("closed_at", Timestamp, comment="null: it is open"),
    sa.Column("closed_by", sa.Text, comment="agent, login or empty"),
    *choice(
        "cause",
        "released answered idle reviewed replaced message_deleted",
        "why it was closed",
        nullable=True,
    ),
    sa.CheckConstraint("num_nulls(closed_at, closed_by, cause) IN (0, 3)", name="closed_completely"),
    index("ix_escalations_open", "decision_id", where="closed_at IS NULL"),
    index("ix_escalations_waiting", "opened_at", "decision_id", where="closed_at IS NULL"),
    index("ix_escalations_conversation", "user_id", "conversation_id", "opened_at"),
    index("ix_escalations_opened_at", "opened_at"),
    index("ix_escalations_left", "opened_at", "decision_id", where="cause IN ('idle', 'reviewed')"),
    postgresql_with=VACUUMED_BY_COUNT,
)
