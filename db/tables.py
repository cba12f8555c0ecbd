"""The tables of the engine; their comments are stored in the database."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB, JSONPATH

from db.columns import (
    EMPTY_OBJECT,
    FALSE,
    NOW,
    VACUUMED_BY_COUNT,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)

RARE_STAGES: Final = (
    "jsonb_path_exists(snapshot_json, '$.stages[*] ? ("
    """@.outcome == "failed" || @.outcome == "skipped" || @.outcome == "flagged\""""
    """ && (@.stage starts with "moderation" || @.stage == "rules_reply"))'::jsonpath)"""
)
"""A stage failed or was skipped, or moderation or the reply's rules flagged."""
IS_CHECK: Final = "(snapshot_json ->> 'type') = 'check'"
"""A program asked; no stream carried it."""
TOPICS_OF: Final = "(snapshot_json #> '{assessment,learning_suggestions}')"
"""The topics that documents lack."""
HAS_TOPICS: Final = f"jsonb_typeof({TOPICS_OF}) = 'array' AND {TOPICS_OF} <> '[]'"

ai_decisions: Final = table(
    "ai_decisions",
    "the audit: one row per accepted event, append-only",
    key("created_at", Timestamp, comment="the time inside id"),
    key("id", sa.Uuid, comment="UUIDv7 made by the worker"),
    required("user_id", sa.Text, comment="the account"),
    *required_texts("event_id", "message_id", "conversation_id", "author_id"),
    *choice("scope", "chat comment"),
    *choice("decision", "ignore respond escalate"),
    required("confidence", DOUBLE_PRECISION, comment="0..1, see docs/architecture.md"),
    required("reason_code", sa.Text, comment="why, as a stable code"),
    required("reason", sa.Text, comment="one sentence for a reviewer"),
    sa.Column("matched_rule", sa.Text, comment="openai_moderation:<category>, flagged_keyword:<word>, ..."),
    required("message_text", sa.Text, comment="first 500 characters"),
    required("snapshot_json", JSONB, comment="stages, spans, attempts, tokens, versions"),
    required("degraded", sa.Boolean, comment="a service that should have been consulted was not"),
    sa.Column("rejection_reason", sa.Text, comment="why the policy rejected the draft, also in test mode"),
    sa.Column("candidate_id", sa.Uuid, comment="whose settings decided; null: those in force"),
    sa.CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence_range"),
    index("ix_ai_decisions_account", "user_id", "created_at", "id"),
    index("ix_ai_decisions_conversation", "user_id", "conversation_id", "created_at", "id"),
    index("ix_ai_decisions_reason", "reason_code", "created_at", "id"),
    index("ix_ai_decisions_account_reason", "user_id", "reason_code", "created_at", "id"),
    index(
        "ix_ai_decisions_rule",
        "matched_rule",
        "created_at",
        "id",
        postgresql_ops={"matched_rule": "text_pattern_ops"},
        where="matched_rule IS NOT NULL",
    ),
    index("ix_ai_decisions_author", "author_id", "created_at", "id"),
    index(
        "ix_ai_decisions_strikes",
        "user_id",
        "author_id",
        "created_at",
        where="reason_code IN ('FLAGGED_RULE', 'MODERATION_FLAGGED')",
    ),
    index("ix_ai_decisions_candidate", "candidate_id", "created_at", "id", where="candidate_id IS NOT NULL"),
    index("ix_ai_decisions_degraded", "created_at", "id", where="degraded"),
    index(
        "ix_ai_decisions_text",
        "message_text",
        postgresql_using="gin",
        postgresql_ops={"message_text": "gin_trgm_ops"},
        postgresql_with={"gin_pending_list_limit": 16_384},  # kB; workers merge much earlier
    ),
    index(
        "ix_ai_decisions_marks",
        sa.text("hushgate_marks(snapshot_json)"),
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    ),
    index(
        "ix_ai_decisions_version",
        "user_id",
        sa.text("((snapshot_json ->> 'rules_version')::integer)"),
        "created_at",
        "id",
    ),
    index(
        "ix_ai_decisions_rejection",
        "created_at",
        "id",
        "user_id",
        "scope",
        "rejection_reason",
        where="rejection_reason IS NOT NULL",
    ),
    index("ix_ai_decisions_rare", "created_at", "id", where=RARE_STAGES),
    index("ix_ai_decisions_checks", "created_at", "id", where=IS_CHECK),
    index("ix_ai_decisions_topics", "created_at", "id", "user_id", "reason_code", where=HAS_TOPICS),
    index("ix_ai_decisions_account_topics", "user_id", "created_at", "id", "reason_code", where=HAS_TOPICS),
    postgresql_partition_by="RANGE (created_at)",
)

event_keys: Final = table(
    "event_keys",
    "idempotency: events that have a decision or a dead letter",
    key("user_id", sa.Text),
    key("event_id", sa.Text),
    required("entry_id", sa.Text, comment="the stream entry that was decided or buried"),
    sa.Column("decision_id", sa.Uuid, comment="NULL: the entry is a dead letter"),
    required("created_at", Timestamp),
    sa.Column("conversation_id", sa.Text, comment="NULL: a dead letter, or erased"),
    sa.Column("message_id", sa.Text, comment="the platform's id: one message is answered once"),
    sa.Column("type", sa.Text, comment="message, agent_message, message_edited, message_deleted or feedback"),
    sa.Column("written_at", Timestamp, comment="the event's own time: newer edits win, in any order"),
    index("ix_event_keys_created_at", "created_at"),
    index(
        "ix_event_keys_message", "user_id", "conversation_id", "message_id", where="message_id IS NOT NULL"
    ),
)

duplicates: Final = table(
    "duplicates",
    "entries that repeated an event id; they changed nothing",
    key("entry_id", sa.Text, comment="a further stream entry of an event already decided"),
    *required_texts("user_id", "event_id"),
    required("created_at", Timestamp),
    index("ix_duplicates_created_at", "created_at"),
)

dead_letters: Final = table(
    "dead_letters",
    "payloads that cannot become an event",
    key("entry_id", sa.Text),
    required("created_at", Timestamp),
    required("reason_code", sa.Text, comment="not_json, not_utf8, invalid, too_large, poison, ..."),
    *required_texts("field", "expected", "got"),
    required("size_bytes", sa.BigInteger, comment="of the whole payload"),
    required("raw", sa.LargeBinary, comment="the payload's first bytes"),
    sa.Column("retried_at", Timestamp, comment="when it was published again"),
    sa.Column("retried_as", sa.Text, comment="the entry made then"),
    index("ix_dead_letters_created_at", "created_at"),
)

messages: Final = table(
    "messages",
    "the stored history a prompt is built from",
    key(
        "id", sa.BigInteger, sa.Identity(), comment="the order of a conversation; kept by edits and restores"
    ),
    *required_texts("user_id", "conversation_id"),
    required("message_id", sa.Text, comment="the author's message; a reply carries the same"),
    required("decision_id", sa.Uuid),
    *choice("role", "user assistant agent"),
    required("text", sa.Text),
    required("created_at", Timestamp),
    sa.Column(
        "sign",
        sa.Text,
        comment="human, machine or loop: what its writer seemed to be; early_edit: not shown yet",
    ),
    index("ix_messages_conversation", "user_id", "conversation_id", "id"),
)

conversations: Final = table(
    "conversations",
    "conversations that people own or owned; the AI owns every other",
    key("user_id", sa.Text),
    key("conversation_id", sa.Text),
    required("people_until", Timestamp, comment="people own it until then"),
    required("changed_at", Timestamp, comment="the last change of the owner"),
    required("changed_by", sa.Text, comment="agent or login; empty: an escalation"),
    *choice("cause", "escalation agent_message command release"),
    required("changes", sa.Integer, comment="changes of the owner so far"),
    sa.Column("agent_entry", sa.ARRAY(sa.Numeric), comment="newest stream entry of an agent that took it"),
    index("ix_conversations_people_until", "people_until"),
    postgresql_with=VACUUMED_BY_COUNT,
)

quarantine: Final = table(
    "quarantine",
    "flagged exchanges, sealed: the worker may write here and never read",
    key("id", sa.BigInteger, sa.Identity()),
    *required_texts("user_id", "conversation_id", "message_id"),
    required("decision_id", sa.Uuid),
    *required_texts("role", "text"),
    required("created_at", Timestamp),
    required("expires_at", Timestamp, comment="swept after this"),
    required("place", sa.BigInteger, comment="its id in messages, before and after"),
    index("ix_quarantine_decision_id", "decision_id"),
    index("ix_quarantine_expires_at", "expires_at"),
)

outbox: Final = table(
    "outbox",
    "the only door to a user: approved replies",
    key("id", sa.BigInteger, sa.Identity()),
    *required_texts("user_id", "event_id"),
    required("decision_id", sa.Uuid),
    *required_texts("conversation_id", "message_id", "scope", "text"),
    required("created_at", Timestamp),
    sa.Column("delivered_at", Timestamp, comment="when it was put on the reply stream"),
    sa.Column("cancelled_at", Timestamp, comment="when a reviewer withdrew it, or it became too late"),
    sa.Column(
        "cancel_reason",
        sa.Text,
        comment="too_late, taken_over, message_deleted or message_flagged; null: a reviewer",
    ),
    required(
        "cancel_settled",
        sa.Boolean,
        server_default=sa.false(),
        comment="a relay found that it was not sent before it was cancelled",
    ),
    sa.Column("retraction_id", sa.Uuid, comment="of the retraction to make if it was sent before"),
    sa.Column("retract_from", Timestamp, comment="when that retraction may be sent"),
    sa.Column(
        "sent_as",
        sa.Uuid,
        comment="the decision whose reply to this event was sent instead; Postgres lost that decision",
    ),
    sa.Column("changes", sa.Integer, comment="conversations.changes at the decision; null: a person"),
    sa.Column("draft", sa.Text, comment="as assessed, with its citation marks"),
    required(
        "sources", JSONB, server_default=sa.text("'[]'::jsonb"), comment="the passages that the draft cites"
    ),
    sa.Column("send_before", Timestamp, comment="not sent after this"),
    required(
        "metadata", JSONB, server_default=EMPTY_OBJECT, comment="model and assessment, as they are sent"
    ),
    sa.Column("disclosure", sa.Text, comment="sent before the text, if none was sent in the conversation"),
    *choice("origin", "ai handoff person", "handoff: the account's text at a handoff", server_default="ai"),
    sa.UniqueConstraint("user_id", "event_id"),
    index("ix_outbox_message", "user_id", "conversation_id", "message_id"),
    index("ix_outbox_created_at", "created_at", postgresql_using="brin"),  # small: rows are in this order
    index("ix_outbox_cancelled", "user_id", "event_id", where="cancelled_at IS NOT NULL"),
    index(
        "ix_outbox_cancelled_answers",
        "decision_id",
        where="cancelled_at IS NOT NULL AND origin = 'person'",
    ),
    index("ix_outbox_waiting", "id", where="delivered_at IS NULL AND NOT cancel_settled"),
    postgresql_with=VACUUMED_BY_COUNT,
)


checks: Final = table(
    "checks",
    "checks of programs with their verdicts: a repeated request gets the same one",
    key("user_id", sa.Text),
    key("event_id", sa.Text, comment="the program's id of the check; also in ai_decisions"),
    required("decision_id", sa.Uuid),
    required("created_at", Timestamp),
    *required_texts("conversation_id", "author_id"),
    required("request_hash", sa.Text, comment="SHA-256: the same id with other content is refused"),
    sa.Column("verdict", JSONB, comment="as it was answered; NULL: erased"),
    index("ix_checks_created_at", "created_at"),
    index("ix_checks_decision_id", "decision_id"),
)

purged: Final = table(
    "purged",
    "rows that retention deleted; the conservation check needs them",
    key("table_name", sa.Text),
    required("rows", sa.BigInteger, comment="deleted by retention so far"),
)

compiled_rules: Final = table(
    "compiled_rules",
    "large rule sets, compiled once for the whole fleet",
    key("user_id", sa.Text),
    key("version", sa.Integer, comment="of ai_rules"),
    key("build", sa.Text, comment="the matcher that compiled it; each build compiles its own"),
    required("data", sa.LargeBinary),
    required("created_at", Timestamp, server_default=NOW),
)

NOT_ERASED: Final = "NOT snapshot_json ? 'erased'"
"""True of a decision that is no tombstone."""
HIGH_SCORE_PATH: Final = "$.stages[*].detail.highest.keyvalue() ? (@.value.score >= 0.5).key"
LATE_CATEGORIES: Final = """(
    SELECT coalesce(jsonb_agg(u.matched_rule), '[]') FROM unmoderated_texts u
    WHERE u.decision_id = ai_decisions.id AND u.result = 'flagged')
"""
"""The rule by which moderation flagged the texts after the decision."""
HIGH_SCORE_CATEGORIES: Final[sa.Label[Any]] = (
    sa.func.jsonb_path_query_array(
        ai_decisions.c.snapshot_json, sa.cast(HIGH_SCORE_PATH, JSONPATH), type_=JSONB
    )
    .op("||")(sa.literal_column(LATE_CATEGORIES, JSONB))
    .label("high_score_categories")
)
"""The moderation categories with a high score, for ``review.content_covers``: 0.5 is its ``SCORE_FROM``."""

recordings: Final = table(
    "recordings",
    "what the ports answered for a decision, sealed: the worker may write here and never read",
    key("decision_id", sa.Uuid),
    *required_texts("user_id", "conversation_id", "author_id"),
    required("created_at", Timestamp, comment="of the decision"),
    required(
        "overtaken",
        sa.Boolean,
        server_default=FALSE,
        comment="people took the conversation before the commit, which discarded the reply",
    ),
    required("data", sa.LargeBinary, comment="see worker/recordings/stored.py"),
)
