"""The tables of held drafts and of people's answers."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import EMPTY_OBJECT, Timestamp, choice, index, key, required, required_texts, table

EMPTY_ARRAY: Final = sa.text("'[]'::jsonb")

held_drafts: Final = table(
    "held_drafts",
    "drafts and replies that were not sent, sealed: the worker may write here and never read",
    key("id", sa.BigInteger, sa.Identity()),
    *required_texts("user_id", "conversation_id", "message_id"),
    required("decision_id", sa.Uuid),
    required("reason_code", sa.Text, comment="of the decision"),
    *choice("kind", "reply draft recheck"),
    required("text", sa.Text, comment="as it would be sent"),
    sa.Column("draft", sa.Text, comment="with its citation marks; null: no model wrote the text"),
    required("sources", JSONB, server_default=EMPTY_ARRAY, comment="the passages that the draft cites"),
    required(
        "passages",
        JSONB,
        server_default=EMPTY_ARRAY,
        comment="the passages that the model was shown: id, title, text and its SHA-256",
    ),
    sa.Column("confidence", DOUBLE_PRECISION, comment="null: not measured"),
    sa.Column("tier", sa.Text, comment="null: not measured"),
    required("metadata", JSONB, server_default=EMPTY_OBJECT, comment="as in outbox"),
    sa.Column("send_before", Timestamp, comment="not approved unchanged after this"),
    required("created_at", Timestamp),
    required("expires_at", Timestamp, comment="swept after this"),
    index("ix_held_drafts_decision_id", "decision_id"),
    index("ix_held_drafts_expires_at", "expires_at"),
    index(
        "ix_held_drafts_for_approval",
        "send_before",
        where="reason_code IN ('HELD_FOR_APPROVAL', 'HELD_FOR_BUDGET', 'HELD_UNREAD') AND kind = 'reply'",
    ),
)

answers: Final = table(
    "answers",
    "decisions of people on messages that the AI did not answer: append-only",
    key("id", sa.Uuid, comment="of the form; also decision_id of its outbox row and of its line in messages"),
    required("decision_id", sa.Uuid, comment="the decision of the AI that it answers"),
    required("decision_at", Timestamp),
    *required_texts("user_id", "conversation_id", "message_id", "scope"),
    *choice("outcome", "unchanged edited replaced written dismissed"),
    sa.Column("text", sa.Text, comment="as sent; null: dismissed"),
    sa.Column("draft", sa.Text, comment="the text of the AI that the person was shown"),
    sa.Column("held_id", sa.BigInteger, comment="its row of held_drafts, swept earlier than this one"),
    sa.Column("person_id", sa.Uuid),
    required("person", sa.Text, comment="login at that time"),
    required("released", sa.Boolean, comment="the conversation was given back to the AI with it"),
    required("rules_version", sa.Integer, comment="of ai_rules, whose rules tested the text"),
    required("checks", JSONB, server_default=EMPTY_OBJECT, comment="moderation of the text"),
    required("created_at", Timestamp),
    sa.CheckConstraint("(outcome = 'dismissed') = (text IS NULL)", name="text_unless_dismissed"),
    index("ix_answers_decision_id", "decision_id", "created_at"),
    index("ix_answers_account", "user_id", "created_at"),
    index("ix_answers_account_decision_at", "user_id", "decision_at"),
    index("ix_answers_conversation", "user_id", "conversation_id", "created_at"),
    index("ix_answers_created_at", "created_at"),
    index("ix_answers_decision_at", "decision_at", "decision_id"),
)
