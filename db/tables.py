"""The tables of the engine; their comments are stored in the database."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB, JSONPATH

from db.columns import (
    EMPTY_LIST,
    EMPTY_OBJECT,
    FALSE,
    NOW,
    TRUE,
    VACUUMED_BY_COUNT,
    Timestamp,
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

HANDOFF_SETTINGS: Final = {
    "handoff_texts": "language -> text to the author at a handoff; empty: none",
    "handoff_texts_closed": "language -> text outside business hours; empty: as handoff_texts",
    "escalation_actions": "reason code or matched rule -> escalate or silence",
    "escalation_queues": "matched rule, label:<name>=<value>, reason code or * -> queue",
    "business_hours": "weekday -> ranges such as 09:00-17:00; empty: always open",
}
"""Columns of ``ai_rules`` whose values are objects of texts."""

ai_rules: Final = table(
    "ai_rules",
    "one row per change of an account's settings",
    key("user_id", sa.Text, comment="the account"),
    key("version", sa.Integer, comment="one more with every change; the newest is in force"),
    required("ai_control_enabled", sa.Boolean, server_default=FALSE),
    required("ai_enabled_for_chats", sa.Boolean, server_default=FALSE),
    required("ai_enabled_for_comments", sa.Boolean, server_default=FALSE),
    required("flagged_keywords", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="whole words"),
    required("flagged_phrases", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="whole phrases"),
    required("allowed", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="cancels hits inside them"),
    required("rule_level", sa.Text, server_default="default", comment="default or strict"),
    required("rules_on_reply", sa.Boolean, server_default=TRUE),
    required("rules_on_passages", sa.Boolean, server_default=FALSE),
    required("injection_check", sa.Boolean, server_default=TRUE),
    required(
        "reply_links",
        sa.ARRAY(sa.Text),
        server_default=sa.text("'{passages}'"),
        comment="passages and domains to which replies may link; empty: none",
    ),
    required(
        "moderation_thresholds",
        JSONB,
        server_default=EMPTY_OBJECT,
        comment="category -> 0..1; others follow the API's own flag",
    ),
    required("moderation_failure", sa.Text, server_default="hold", comment="hold, block or allow"),
    required("hold_max_s", DOUBLE_PRECISION, server_default=sa.text("3600")),
    required(
        "moderators",
        JSONB,
        server_default=sa.text("'[]'::jsonb"),
        comment="in order; empty: the moderation API alone",
    ),
    required("moderation_combination", sa.Text, server_default="any", comment="any, all or first"),
    required("reply_max_age_s", DOUBLE_PRECISION, server_default=sa.text("86400")),
    required(
        "shedding",
        sa.Text,
        server_default="oldest_first",
        comment="which messages are answered first under overload",
    ),
    required("languages", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="of replies; empty: any"),
    required("prompt", sa.Text, server_default="", comment="added to the fixed instructions; empty: none"),
    required("assessment_policy", JSONB, server_default=EMPTY_OBJECT),
    required("fallback_texts", JSONB, server_default=EMPTY_OBJECT, comment="language -> text"),
    required(
        "disclosure_texts",
        JSONB,
        server_default=EMPTY_OBJECT,
        comment="language -> text before the first reply of a conversation; empty: none",
    ),
    required(
        "people_idle_s",
        DOUBLE_PRECISION,
        server_default=sa.text("3600"),
        comment="a conversation returns to the AI after so long without people; 0: never",
    ),
    required("mask_personal_data", sa.Boolean, server_default=FALSE, comment="vendors get placeholders"),
    required(
        "phone_countries",
        sa.ARRAY(sa.Text),
        server_default=EMPTY_LIST,
        comment="ISO 3166, lower case; their national phone formats are masked",
    ),
    required("stale_reply", sa.Text, server_default="discard", comment="discard or send"),
    required(
        "loop_replies",
        sa.Integer,
        server_default=sa.text("6"),
        comment="replies in an hour without a sign of a person, then none; 0: no limit",
    ),
    required(
        "burst_window_s",
        DOUBLE_PRECISION,
        server_default=sa.text("1.5"),
        comment="how long a message waits for the author's next one; 0: not at all",
    ),
    required("retract_deleted", sa.Boolean, server_default=FALSE),
    required("retract_flagged", sa.Boolean, server_default=FALSE),
    required("reply_mode", sa.Text, server_default="auto", comment="auto or suggest"),
    required(
        "auto_reasons",
        sa.ARRAY(sa.Text),
        server_default=EMPTY_LIST,
        comment="with suggest, reasons whose replies are sent at once",
    ),
    sa.Column(
        "auto_from_confidence",
        DOUBLE_PRECISION,
        comment="with suggest, the confidence from which replies are sent at once; null: none",
    ),
    required(
        "keep_drafts_days",
        DOUBLE_PRECISION,
        server_default=sa.text("30"),
        comment="how long drafts that were not sent are kept",
    ),
    required(
        "keep_quarantine_days",
        DOUBLE_PRECISION,
        server_default=sa.text("30"),
        comment="how long flagged exchanges are kept sealed",
    ),
    sa.CheckConstraint("keep_quarantine_days BETWEEN 30 AND 366", name="keep_quarantine_days_bounded"),
    *(
        sa.Column(name, DOUBLE_PRECISION, comment="US dollars for models; null: no budget")
        for name in ("budget_day_usd", "budget_month_usd")
    ),
    *(
        sa.Column(name, sa.Integer, comment="over the whole fleet; null: no limit")
        for name in ("requests_per_min", "tokens_per_min", "concurrent_events")
    ),
    sa.CheckConstraint(
        "requests_per_min > 0 AND tokens_per_min > 0 AND concurrent_events > 0", name="limits_positive"
    ),
    required(
        "budget_action",
        sa.Text,
        server_default="alert",
        comment="alert, suggest or silence, when a budget is spent",
    ),
    sa.CheckConstraint("budget_day_usd > 0 AND budget_month_usd > 0", name="budgets_positive"),
    sa.CheckConstraint("budget_action IN ('alert', 'suggest', 'silence')", name="budget_action_known"),
    sa.CheckConstraint("reply_mode IN ('auto', 'suggest')", name="reply_mode_known"),
    sa.CheckConstraint("auto_from_confidence BETWEEN 0 AND 1", name="auto_from_confidence_is_share"),
    sa.CheckConstraint("keep_drafts_days BETWEEN 1 AND 365", name="keep_drafts_days_bounded"),
    *(
        required(name, JSONB, server_default=EMPTY_OBJECT, comment=comment)
        for name, comment in HANDOFF_SETTINGS.items()
    ),
    required("time_zone", sa.Text, server_default="UTC", comment="IANA, of business_hours"),
    required("holidays", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="dates such as 2026-12-25"),
    *(
        sa.CheckConstraint(
            f"jsonb_typeof({name}) = 'object' AND NOT jsonb_path_exists({name},"
            " '$.* ? (@.type() <> \"string\")')",
            name=f"{name}_are_text",
        )
        for name in HANDOFF_SETTINGS
    ),
    required("appeals_enabled", sa.Boolean, server_default=FALSE),
    required(
        "appeal_within_days",
        DOUBLE_PRECISION,
        server_default=sa.text("184"),
        comment="how long after a decision an appeal is taken",
    ),
    required(
        "appeal_due_days",
        DOUBLE_PRECISION,
        server_default=sa.text("14"),
        comment="how long people have to decide an appeal",
    ),
    sa.CheckConstraint("appeal_within_days > 0 AND appeal_due_days > 0", name="appeal_days_positive"),
    required("statements_enabled", sa.Boolean, server_default=FALSE),
    required(
        "statement_grounds",
        JSONB,
        server_default=EMPTY_OBJECT,
        comment="reason code -> what a statement of reasons says, see worker/statement_grounds.py",
    ),
    sa.CheckConstraint(
        "jsonb_typeof(statement_grounds) = 'object' AND NOT jsonb_path_exists(statement_grounds,"
        " '$.* ? (@.type() <> \"string\")')",
        name="statement_grounds_are_text",
    ),
    required("statement_countries", sa.ARRAY(sa.Text), server_default=EMPTY_LIST, comment="lower case"),
    required("record_answers", sa.Boolean, server_default=TRUE, comment="decisions can be replayed"),
    required("changed_by", sa.Text, server_default=sa.text("current_user")),
    required("changed_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("version > 0", name="version_positive"),
    sa.CheckConstraint("moderation_failure IN ('hold', 'block', 'allow')", name="moderation_failure_known"),
    sa.CheckConstraint(
        "jsonb_typeof(moderators) = 'array' AND NOT jsonb_path_exists(moderators,"
        ' \'$[*] ? (@.type() <> "object" || !exists(@.name ? (@.type() == "string"))'
        ' || !exists(@.endpoint ? (@.type() == "string")))\')',
        name="moderators_are_named",
    ),
    sa.CheckConstraint(
        "moderation_combination IN ('any', 'all', 'first')", name="moderation_combination_known"
    ),
    sa.CheckConstraint("stale_reply IN ('discard', 'send')", name="stale_reply_known"),
    sa.CheckConstraint("shedding IN ('oldest_first', 'newest_first', 'chats_first')", name="shedding_known"),
    sa.CheckConstraint("people_idle_s >= 0", name="people_idle_not_negative"),
    sa.CheckConstraint("rule_level IN ('default', 'strict')", name="rule_level_known"),
    sa.CheckConstraint("loop_replies BETWEEN 0 AND 10", name="loop_replies_bounded"),
    sa.CheckConstraint("burst_window_s BETWEEN 0 AND 30", name="burst_window_bounded"),
    sa.CheckConstraint("hold_max_s >= 0 AND reply_max_age_s >= 0", name="ages_not_negative"),
    sa.CheckConstraint(
        "num_nulls(array_position(flagged_keywords, NULL), array_position(flagged_phrases, NULL),"
        " array_position(allowed, NULL), array_position(languages, NULL)) = 4",
        name="lists_without_null",
    ),
    sa.CheckConstraint(
        "jsonb_typeof(moderation_thresholds) = 'object' AND NOT jsonb_path_exists(moderation_thresholds,"
        " '$.* ? (@.type() <> \"number\" || @ < 0 || @ > 1)')",
        name="thresholds_are_shares",
    ),
    sa.CheckConstraint(
        "jsonb_typeof(fallback_texts) = 'object' AND NOT jsonb_path_exists(fallback_texts,"
        " '$.* ? (@.type() <> \"string\")')",
        name="fallback_texts_are_text",
    ),
    sa.CheckConstraint(
        "jsonb_typeof(disclosure_texts) = 'object' AND NOT jsonb_path_exists(disclosure_texts,"
        " '$.* ? (@.type() <> \"string\")')",
        name="disclosure_texts_are_text",
    ),
    sa.CheckConstraint("jsonb_typeof(assessment_policy) = 'object'", name="assessment_policy_is_object"),
)

ai_decisions: Final = table(
    "ai_decisions",
    "the audit: one row per accepted event, append-only",
    key("created_at", Timestamp, comment="the time inside id"),
    key("id", sa.Uuid, comment="UUIDv7 made by the worker"),
    required("user_id", sa.Text, comment="the account"),
    *required_texts("event_id", "message_id", "conversation_id", "author_id"),
    required("scope", sa.Text, comment="chat or comment"),
    required("decision", sa.Text, comment="ignore, respond or escalate"),
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
    sa.CheckConstraint("decision IN ('ignore', 'respond', 'escalate')", name="decision_known"),
    sa.CheckConstraint("scope IN ('chat', 'comment')", name="scope_known"),
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
    required("role", sa.Text, comment="user, assistant or agent"),
    required("text", sa.Text),
    required("created_at", Timestamp),
    sa.Column(
        "sign",
        sa.Text,
        comment="human, machine or loop: what its writer seemed to be; early_edit: not shown yet",
    ),
    sa.CheckConstraint("role IN ('user', 'assistant', 'agent')", name="role_known"),
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
    required("cause", sa.Text, comment="escalation, agent_message, command or release"),
    required("changes", sa.Integer, comment="changes of the owner so far"),
    sa.Column("agent_entry", sa.ARRAY(sa.Numeric), comment="newest stream entry of an agent that took it"),
    sa.CheckConstraint("cause IN ('escalation', 'agent_message', 'command', 'release')", name="cause_known"),
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
    required(
        "origin",
        sa.Text,
        server_default="ai",
        comment="ai, handoff (the account's text at a handoff) or person",
    ),
    sa.CheckConstraint("origin IN ('ai', 'handoff', 'person')", name="origin_known"),
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
