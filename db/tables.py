"""The tables of the engine and of documents; their comments are stored in the database."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB, TSVECTOR
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.types import UserDefinedType

NAMES: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata: Final = MetaData(naming_convention=NAMES)
RARE_STAGES: Final = (
    "jsonb_path_exists(snapshot_json, '$.stages[*] ? ("
    """@.outcome == "failed" || @.outcome == "skipped" || @.outcome == "flagged\""""
    """ && (@.stage starts with "moderation" || @.stage == "rules_reply"))'::jsonpath)"""
)
"""A stage failed or was skipped, or moderation or the reply's rules flagged."""


class HalfVector(UserDefinedType[str]):
    """pgvector's ``halfvec`` without a fixed length: 2 bytes a number."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """The name of the type."""
        return "halfvec"


ischema_names["halfvec"] = HalfVector  # for reflection
Timestamp: Final = DateTime(timezone=True)
EMPTY_OBJECT: Final = text("'{}'::jsonb")
EMPTY_LIST: Final = text("'{}'::text[]")

ai_rules: Final = Table(
    "ai_rules",
    metadata,
    Column("user_id", Text, primary_key=True, comment="the account"),
    Column(
        "version", Integer, primary_key=True, comment="one more with every change; the newest is in force"
    ),
    Column("ai_control_enabled", Boolean, nullable=False, server_default=text("false")),
    Column("ai_enabled_for_chats", Boolean, nullable=False, server_default=text("false")),
    Column("ai_enabled_for_comments", Boolean, nullable=False, server_default=text("false")),
    Column("flagged_keywords", ARRAY(Text), nullable=False, server_default=EMPTY_LIST, comment="whole words"),
    Column(
        "flagged_phrases", ARRAY(Text), nullable=False, server_default=EMPTY_LIST, comment="whole phrases"
    ),
    Column(
        "allowed", ARRAY(Text), nullable=False, server_default=EMPTY_LIST, comment="cancels hits inside them"
    ),
    Column("rules_on_reply", Boolean, nullable=False, server_default=text("true")),
    Column("rules_on_passages", Boolean, nullable=False, server_default=text("false")),
    Column("injection_check", Boolean, nullable=False, server_default=text("true")),
    Column(
        "moderation_thresholds",
        JSONB,
        nullable=False,
        server_default=EMPTY_OBJECT,
        comment="category -> 0..1; others follow the API's own flag",
    ),
    Column("moderation_failure", Text, nullable=False, server_default="hold", comment="hold, block or allow"),
    Column("hold_max_s", DOUBLE_PRECISION, nullable=False, server_default=text("3600")),
    Column("reply_max_age_s", DOUBLE_PRECISION, nullable=False, server_default=text("86400")),
    Column(
        "languages",
        ARRAY(Text),
        nullable=False,
        server_default=EMPTY_LIST,
        comment="of replies; empty: any",
    ),
    Column(
        "prompt",
        Text,
        nullable=False,
        server_default="",
        comment="added to the fixed instructions; empty: none",
    ),
    Column(
        "mask_personal_data",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="vendors get placeholders",
    ),
    Column(
        "phone_countries",
        ARRAY(Text),
        nullable=False,
        server_default=EMPTY_LIST,
        comment="ISO 3166, lower case; their national phone formats are masked",
    ),
    Column("assessment_policy", JSONB, nullable=False, server_default=EMPTY_OBJECT),
    Column("fallback_texts", JSONB, nullable=False, server_default=EMPTY_OBJECT, comment="language -> text"),
    Column("changed_by", Text, nullable=False, server_default=text("current_user")),
    Column("changed_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint("version > 0", name="version_positive"),
    CheckConstraint("moderation_failure IN ('hold', 'block', 'allow')", name="moderation_failure_known"),
    CheckConstraint("hold_max_s >= 0 AND reply_max_age_s >= 0", name="ages_not_negative"),
    CheckConstraint(
        "num_nulls(array_position(flagged_keywords, NULL), array_position(flagged_phrases, NULL),"
        " array_position(allowed, NULL), array_position(languages, NULL)) = 4",
        name="lists_without_null",
    ),
    CheckConstraint(
        "jsonb_typeof(moderation_thresholds) = 'object' AND NOT jsonb_path_exists(moderation_thresholds,"
        " '$.* ? (@.type() <> \"number\" || @ < 0 || @ > 1)')",
        name="thresholds_are_shares",
    ),
    CheckConstraint(
        "jsonb_typeof(fallback_texts) = 'object' AND NOT jsonb_path_exists(fallback_texts,"
        " '$.* ? (@.type() <> \"string\")')",
        name="fallback_texts_are_text",
    ),
    CheckConstraint("jsonb_typeof(assessment_policy) = 'object'", name="assessment_policy_is_object"),
    comment="one row per change of an account's settings",
)

ai_decisions: Final = Table(
    "ai_decisions",
    metadata,
    Column("created_at", Timestamp, primary_key=True, comment="the time inside id"),
    Column("id", Uuid, primary_key=True, comment="UUIDv7 made by the worker"),
    Column("user_id", Text, nullable=False, comment="the account"),
    Column("event_id", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("author_id", Text, nullable=False),
    Column("scope", Text, nullable=False, comment="chat or comment"),
    Column("decision", Text, nullable=False, comment="ignore, respond or escalate"),
    Column("confidence", DOUBLE_PRECISION, nullable=False, comment="0..1, see docs/architecture.md"),
    Column("reason_code", Text, nullable=False, comment="why, as a stable code"),
    Column("reason", Text, nullable=False, comment="one sentence for a reviewer"),
    Column("matched_rule", Text, comment="openai_moderation:<category>, flagged_keyword:<word>, ..."),
    Column("message_text", Text, nullable=False, comment="first 500 characters"),
    Column("snapshot_json", JSONB, nullable=False, comment="stages, spans, attempts, tokens, versions"),
    Column("degraded", Boolean, nullable=False, comment="a service that should have been consulted was not"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence_range"),
    CheckConstraint("decision IN ('ignore', 'respond', 'escalate')", name="decision_known"),
    CheckConstraint("scope IN ('chat', 'comment')", name="scope_known"),
    Index("ix_ai_decisions_account", "user_id", "created_at", "id"),
    Index("ix_ai_decisions_conversation", "user_id", "conversation_id", "created_at"),
    Index("ix_ai_decisions_reason", "reason_code", "created_at", "id"),
    Index("ix_ai_decisions_account_reason", "user_id", "reason_code", "created_at", "id"),
    Index(
        "ix_ai_decisions_rule",
        "matched_rule",
        "created_at",
        "id",
        postgresql_ops={"matched_rule": "text_pattern_ops"},
        postgresql_where=text("matched_rule IS NOT NULL"),
    ),
    Index("ix_ai_decisions_author", "author_id", "created_at", "id"),
    Index("ix_ai_decisions_degraded", "created_at", "id", postgresql_where=text("degraded")),
    Index(
        "ix_ai_decisions_text",
        "message_text",
        postgresql_using="gin",
        postgresql_ops={"message_text": "gin_trgm_ops"},
        postgresql_with={"gin_pending_list_limit": 256},
    ),
    Index(
        "ix_ai_decisions_marks",
        text("hushgate_marks(snapshot_json)"),
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    ),
    Index(
        "ix_ai_decisions_version",
        "user_id",
        text("((snapshot_json ->> 'rules_version')::integer)"),
        "created_at",
        "id",
    ),
    Index("ix_ai_decisions_rare", "created_at", "id", postgresql_where=text(RARE_STAGES)),
    comment="the audit: one row per accepted event, append-only",
    postgresql_partition_by="RANGE (created_at)",
)

event_keys: Final = Table(
    "event_keys",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("event_id", Text, primary_key=True),
    Column("entry_id", Text, nullable=False, comment="the stream entry that was decided or buried"),
    Column("decision_id", Uuid, comment="NULL: the entry is a dead letter"),
    Column("created_at", Timestamp, nullable=False),
    Index("ix_event_keys_created_at", "created_at"),
    comment="idempotency: events that have a decision or a dead letter",
)

duplicates: Final = Table(
    "duplicates",
    metadata,
    Column("entry_id", Text, primary_key=True, comment="a further stream entry of an event already decided"),
    Column("user_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    comment="entries that repeated an event id; they changed nothing",
)

dead_letters: Final = Table(
    "dead_letters",
    metadata,
    Column("entry_id", Text, primary_key=True),
    Column("created_at", Timestamp, nullable=False),
    Column(
        "reason_code", Text, nullable=False, comment="not_json, not_utf8, invalid, too_large, poison, ..."
    ),
    Column("field", Text, nullable=False),
    Column("expected", Text, nullable=False),
    Column("got", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False, comment="of the whole payload"),
    Column("raw", LargeBinary, nullable=False, comment="the payload's first bytes"),
    Index("ix_dead_letters_created_at", "created_at"),
    comment="payloads that cannot become an event",
)

messages: Final = Table(
    "messages",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("message_id", Text, nullable=False, comment="the author's message; a reply carries the same"),
    Column("decision_id", Uuid, nullable=False),
    Column("role", Text, nullable=False, comment="user or assistant"),
    Column("text", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    CheckConstraint("role IN ('user', 'assistant')", name="role_known"),
    Index("ix_messages_conversation", "user_id", "conversation_id", "created_at", "id"),
    comment="the stored history a prompt is built from",
)

quarantine: Final = Table(
    "quarantine",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("decision_id", Uuid, nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False, comment="swept after this"),
    Index("ix_quarantine_decision_id", "decision_id"),
    Index("ix_quarantine_expires_at", "expires_at"),
    comment="flagged exchanges, sealed: the worker may write here and never read",
)

outbox: Final = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("decision_id", Uuid, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("delivered_at", Timestamp, comment="when it was put on the reply stream"),
    Column("cancelled_at", Timestamp, comment="when a reviewer withdrew it, or it became too late"),
    Column("draft", Text, comment="as assessed, with its citation marks"),
    Column(
        "sources",
        JSONB,
        nullable=False,
        server_default=text("'[]'::jsonb"),
        comment="the passages that the draft cites",
    ),
    Column("send_before", Timestamp, comment="not sent after this"),
    UniqueConstraint("user_id", "event_id"),
    Index("ix_outbox_waiting", "id", postgresql_where=text("delivered_at IS NULL")),
    comment="the only door to a user: approved replies",
)

documents: Final = Table(
    "documents",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("user_id", Text, nullable=False, comment="the account"),
    Column("title", Text, nullable=False),
    Column(
        "source",
        Text,
        nullable=False,
        server_default="",
        comment="where it came from; at most one document each",
    ),
    Column("content_hash", Text, nullable=False, comment="SHA-256 of title, content and chunking, hex"),
    Column("metadata", JSONB, nullable=False, server_default=EMPTY_OBJECT, comment="labels, text to text"),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("format", Text, nullable=False, server_default="text", comment="markdown, html, text or pdf"),
    Column(
        "size_bytes", BigInteger, nullable=False, server_default=text("0"), comment="of the uploaded file"
    ),
    UniqueConstraint("user_id", "content_hash"),
    UniqueConstraint("id", "user_id"),
    Index(
        "ix_documents_source", "user_id", "source", unique=True, postgresql_where=text("source <> ''::text")
    ),
    comment="the sources of an account's replies",
)

chunks: Final = Table(
    "chunks",
    metadata,
    Column("document_id", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True, comment="from 1"),
    Column("user_id", Text, nullable=False, comment="repeated here so that every search names its account"),
    Column("text", Text, nullable=False),
    Column("title", Text, nullable=False, server_default="", comment="the document's title and headings"),
    Column("start_char", Integer, nullable=False, server_default=text("0"), comment="in the document's text"),
    Column("end_char", Integer, nullable=False, server_default=text("0"), comment="first after the chunk"),
    Column(
        "lexemes",
        TSVECTOR,
        nullable=False,
        server_default=text("''::tsvector"),
        comment="worker.documents.words of title and text, stemmed by hushgate_lexemes",
    ),
    Column(
        "flags",
        ARRAY(Text),
        nullable=False,
        server_default=EMPTY_LIST,
        comment="rules that matched at upload; not retrieved until released",
    ),
    Column("released_at", Timestamp, comment="since when it is retrieved in spite of its flags"),
    Column("released_by", Text, comment="login, or command line"),
    ForeignKeyConstraint(
        ["document_id", "user_id"], ["documents.id", "documents.user_id"], ondelete="CASCADE"
    ),
    Index("ix_chunks_lexemes", "user_id", "lexemes", postgresql_using="gin"),
    comment="parts of documents, as they are searched",
)

account_words: Final = Table(
    "account_words",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("lexeme", Text, primary_key=True, comment="empty: all chunks of the account"),
    Column("chunks", BigInteger, nullable=False, comment="chunks of the account that contain it"),
    comment="word frequencies; updated by triggers on chunks",
)

embedders: Final = Table(
    "embedders",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("model", Text, nullable=False, comment="its name in requests"),
    Column("dimensions", Integer, nullable=False, comment="numbers in a vector"),
    Column("asked_dimensions", Integer, nullable=False, comment="sent in requests; 0: not sent"),
    Column("state", Text, nullable=False, comment="building, active (at most one) or retired"),
    Column(
        "quantiles",
        ARRAY(DOUBLE_PRECISION),
        comment="background similarities at worker.calibration.SHARES; null until calibrated",
    ),
    Column("pairs", Integer, nullable=False, server_default=text("0"), comment="similarities measured"),
    Column(
        "calibrated_chunks",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        comment="stored chunks at calibration",
    ),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("activated_at", Timestamp),
    UniqueConstraint("model", "dimensions"),
    CheckConstraint("state IN ('building', 'active', 'retired')", name="state_known"),
    CheckConstraint("dimensions BETWEEN 1 AND 4000", name="dimensions_indexable"),
    Index("ix_embedders_active", "state", unique=True, postgresql_where=text("state = 'active'::text")),
    comment="models whose vectors are stored; searches use the active one",
)

chunk_embeddings: Final = Table(
    "chunk_embeddings",
    metadata,
    Column("embedder_id", ForeignKey("embedders.id"), primary_key=True),
    Column("document_id", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("user_id", Text, nullable=False, comment="repeated here so that every search names its account"),
    Column(
        "embedding",
        HalfVector,
        nullable=False,
        comment="length 1; as many numbers as its embedder's dimensions",
    ),
    ForeignKeyConstraint(
        ["document_id", "number"], ["chunks.document_id", "chunks.number"], ondelete="CASCADE"
    ),
    Index("ix_chunk_embeddings_account", "user_id", "embedder_id"),
    Index("ix_chunk_embeddings_chunk", "document_id", "number"),
    comment="one vector per chunk and embedder; HNSW indexes hnsw_<embedder> are built when needed",
)

purged: Final = Table(
    "purged",
    metadata,
    Column("table_name", Text, primary_key=True),
    Column("rows", BigInteger, nullable=False, comment="deleted by retention so far"),
    comment="rows that retention deleted; the conservation check needs them",
)

compiled_rules: Final = Table(
    "compiled_rules",
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("version", Integer, primary_key=True, comment="of ai_rules"),
    Column(
        "build", Text, primary_key=True, comment="the matcher that compiled it; each build compiles its own"
    ),
    Column("data", LargeBinary, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    comment="large rule sets, compiled once for the whole fleet",
)
