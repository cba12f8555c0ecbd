"""The tables of webhooks."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

from db.columns import (
    FALSE,
    NOW,
    VACUUMED_BY_COUNT,
    ZERO,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)

webhook_endpoints: Final = table(
    "webhook_endpoints",
    "addresses of accounts that events are sent to",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account; *: every account"),
    required("url", sa.Text),
    required("description", sa.Text, server_default=""),
    required("types", sa.ARRAY(sa.Text), comment="types of events that are sent, such as reply.created"),
    *choice("state", "enabled disabled", server_default="enabled"),
    required("disabled_reason", sa.Text, server_default="", comment="person, gone or failing"),
    required("secret", sa.Text, comment="signs events; only workers may read it"),
    required("secret_hint", sa.Text, comment="first characters of the secret, for display"),
    sa.Column("old_secret", sa.Text, comment="signs too, until old_secret_until"),
    sa.Column("old_secret_until", Timestamp),
    required("failures", sa.Integer, server_default=ZERO, comment="attempts since the last success"),
    required(
        "failing_share", sa.Float, server_default=ZERO, comment="of recent attempts, newer ones count more"
    ),
    sa.Column("failing_since", Timestamp, comment="first failure since the last success"),
    sa.Column("failed_at", Timestamp, comment="the last failure"),
    sa.Column("paused_until", Timestamp, comment="the receiver asked for a pause: Retry-After"),
    required("created_by", sa.Text),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("disabled_reason IN ('', 'person', 'gone', 'failing')", name="disabled_reason_known"),
    sa.CheckConstraint("(state = 'disabled') = (disabled_reason <> '')", name="disabled_for_a_reason"),
    sa.CheckConstraint("num_nulls(old_secret, old_secret_until) IN (0, 2)", name="old_secret_ends"),
    index("ix_webhook_endpoints_account", "user_id", "id"),
)

webhook_deliveries: Final = table(
    "webhook_deliveries",
    "one row per event and endpoint",
    key("id", sa.BigInteger, sa.Identity()),
    required("endpoint_id", sa.ForeignKey("webhook_endpoints.id", ondelete="CASCADE")),
    required("event_row", sa.ForeignKey("outgoing_events.id", ondelete="CASCADE")),
    *required_texts("user_id", "conversation_id"),
    *choice("state", "waiting succeeded failed cancelled", server_default="waiting"),
    required("attempts", sa.Integer, server_default=ZERO, comment="of the present run of the schedule"),
    sa.Column(
        "next_attempt_at",
        Timestamp,
        comment="while waiting; null: after an earlier event of the conversation",
    ),
    sa.Column("lease_until", Timestamp, comment="an attempt runs, at most until then"),
    required(
        "may_have_arrived",
        sa.Boolean,
        server_default=FALSE,
        comment="an attempt had no answer, so the receiver may have the event",
    ),
    *choice(
        "cancel_reason",
        "taken_over too_late message_deleted retracted reply_not_sent message_flagged",
        "why it is not sent",
        nullable=True,
    ),
    sa.Column("error", sa.Text, comment="of the last attempt"),
    sa.Column("status", sa.Integer, comment="HTTP status of the last attempt"),
    required("answer", sa.Text, server_default="", comment="start of the last answer's body"),
    sa.Column("duration_ms", DOUBLE_PRECISION, comment="of the last attempt"),
    sa.Column("attempted_at", Timestamp, comment="begin of the last attempt"),
    sa.Column("ended_at", Timestamp),
    required("created_at", Timestamp),
    sa.UniqueConstraint("endpoint_id", "event_row"),
    sa.CheckConstraint("(state = 'cancelled') = (cancel_reason IS NOT NULL)", name="cancelled_for_a_reason"),
    sa.CheckConstraint("(state = 'waiting') = (ended_at IS NULL)", name="ended_once"),
    index(
        "ix_webhook_deliveries_due",
        "endpoint_id",
        "next_attempt_at",
        where="state = 'waiting' AND next_attempt_at IS NOT NULL",
    ),
    index("ix_webhook_deliveries_leased", "endpoint_id", where="lease_until IS NOT NULL"),
    index(
        "ix_webhook_deliveries_conversation",
        "endpoint_id",
        "user_id",
        "conversation_id",
        "event_row",
        where="state = 'waiting'",
    ),
    index("ix_webhook_deliveries_list", "endpoint_id", "id"),
    index("ix_webhook_deliveries_event", "event_row"),
    postgresql_with=VACUUMED_BY_COUNT,
)
