"""The table of exchanges that passed without moderation; the texts are in the stored history."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import Timestamp, choice, index, key, required, required_texts, table

unmoderated_texts: Final = table(
    "unmoderated_texts",
    "exchanges that passed without moderation, and what moderation found later",
    key("decision_id", sa.Uuid),
    required("decided_at", Timestamp),
    *required_texts("user_id", "conversation_id", "message_id", "author_id", "event_id", "scope"),
    required("roles", sa.ARRAY(sa.Text), comment="whose text was not moderated: user, assistant"),
    sa.Column("claimed_until", Timestamp, comment="a worker checks the texts until then"),
    sa.Column("checked_at", Timestamp),
    *choice("result", "clear flagged refused gone", "gone: no longer stored", nullable=True),
    sa.Column("matched_rule", sa.Text, comment="of a flagged text"),
    sa.CheckConstraint("(result IS NULL) = (checked_at IS NULL)", name="result_with_time"),
    index("ix_unmoderated_texts_waiting", "decided_at", where="checked_at IS NULL"),
    index("ix_unmoderated_texts_flagged", "checked_at", where="result = 'flagged'"),
    index("ix_unmoderated_texts_decided_at", "decided_at"),
)
