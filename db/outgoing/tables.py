"""The table of outgoing events."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.columns import VACUUMED_BY_COUNT, Timestamp, index, key, required, required_texts, table

outgoing_events: Final = table(
    "outgoing_events",
    "what changed, for streams and webhooks; stored in the transaction of the change",
    key("id", sa.BigInteger, sa.Identity()),
    *required_texts("user_id", "conversation_id"),
    required("type", sa.Text, comment="such as escalation.opened"),
    required("key", sa.Text, comment="unique within account and type, such as the decision's id"),
    required("body", JSONB, comment="the fields of the type's schema, see tasks/sending/entry_types.py"),
    required("created_at", Timestamp),
    sa.Column("streamed_at", Timestamp, comment="put on its stream; at once for a type without a stream"),
    sa.Column("fanned_out_at", Timestamp, comment="webhook deliveries were made from it"),
    sa.Column("withdrawn", sa.Text, comment="why webhooks must not send it any more"),
    sa.UniqueConstraint("user_id", "type", "key"),
    index("ix_outgoing_events_to_stream", "id", where="streamed_at IS NULL"),
    index("ix_outgoing_events_to_fan_out", "id", where="fanned_out_at IS NULL"),
    index("ix_outgoing_events_created_at", "created_at"),
    postgresql_with=VACUUMED_BY_COUNT,
)
