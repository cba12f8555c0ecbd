"""The first tables, their guards and the worker's role.

Law: this migration runs while workers of the previous release still write. Add, backfill, and only drop in
a later release.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | Sequence[str] | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


TRIGGERS = (
    """
    CREATE FUNCTION hushgate_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('hushgate.erasing', true) = 'on' THEN
            IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
            RETURN NEW;
        END IF;
        RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
            USING HINT = 'corrections are rows of decision_reviews, changed rules are new versions; '
                         'to erase on request, SET LOCAL hushgate.erasing = on as the owner';
    END $$
    """,
    """
    CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ai_decisions
        FOR EACH ROW EXECUTE FUNCTION hushgate_append_only()
    """,
    """
    CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ai_rules
        FOR EACH ROW EXECUTE FUNCTION hushgate_append_only()
    """,
    """
    CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ai_decisions
        FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only()
    """,
    """
    CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON ai_rules
        FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only()
    """,
    """
    CREATE FUNCTION hushgate_next_version() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.version IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('ai_rules:' || NEW.user_id, 0));
            NEW.version := coalesce((SELECT max(version) FROM ai_rules WHERE user_id = NEW.user_id), 0) + 1;
        END IF;
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER next_version BEFORE INSERT ON ai_rules
        FOR EACH ROW EXECUTE FUNCTION hushgate_next_version()
    """,
)

FUNCTIONS = (
    """
    CREATE FUNCTION hushgate_ensure_partitions(today date, months integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        made integer := 0;
        first date;
        name text;
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('hushgate partitions', 0));
        FOR step IN 0..months LOOP
            first := (date_trunc('month', today::timestamp) + make_interval(months => step))::date;
            name := 'ai_decisions_' || to_char(first, 'YYYY_MM');
            IF to_regclass(quote_ident(name)) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE %I PARTITION OF ai_decisions FOR VALUES FROM (%L) TO (%L)',
                    name, first::text || ' 00:00+00', ((first + interval '1 month')::date)::text || ' 00:00+00');
                made := made + 1;
            END IF;
        END LOOP;
        RETURN made;
    END $$
    """,
    """
    CREATE FUNCTION hushgate_sweep_before(table_name text, moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        gone bigint;
    BEGIN
        IF table_name NOT IN ('event_keys', 'duplicates', 'dead_letters') THEN
            RAISE EXCEPTION 'retention does not know table %', table_name;
        END IF;
        IF moment > now() - interval '23 hours' THEN
            RAISE EXCEPTION 'retention deletes nothing younger than a day, asked for %', moment;
        END IF;
        EXECUTE format('DELETE FROM %I WHERE created_at < $1', table_name) USING moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        INSERT INTO purged AS p (table_name, rows) VALUES (hushgate_sweep_before.table_name, gone)
            ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
        RETURN gone;
    END $$
    """,
    """
    CREATE FUNCTION hushgate_sweep_quarantine(moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        gone bigint;
    BEGIN
        DELETE FROM quarantine WHERE expires_at < moment;
        GET DIAGNOSTICS gone = ROW_COUNT;
        RETURN gone;
    END $$
    """,
    """
    CREATE FUNCTION hushgate_drop_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
    DECLARE
        dropped integer := 0;
        child record;
        gone bigint;
    BEGIN
        IF before > current_date - 28 THEN
            RAISE EXCEPTION 'retention drops no month younger than 28 days, asked for %', before;
        END IF;
        FOR child IN
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'ai_decisions'::regclass
              AND to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= before
        LOOP
            EXECUTE format('SELECT count(*) FROM %I', child.relname) INTO gone;
            INSERT INTO purged AS p (table_name, rows) VALUES ('ai_decisions', gone)
                ON CONFLICT ON CONSTRAINT pk_purged DO UPDATE SET rows = p.rows + excluded.rows;
            EXECUTE format('DROP TABLE %I', child.relname);
            dropped := dropped + 1;
        END LOOP;
        RETURN dropped;
    END $$
    """,
)

GRANTS = (
    """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hushgate_worker') THEN
            CREATE ROLE hushgate_worker NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
    """,
    "GRANT hushgate_worker TO CURRENT_USER",
    """
    DO $$
    BEGIN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO hushgate_worker', current_schema());
    END $$
    """,
    "GRANT SELECT ON ai_rules, event_keys, messages, outbox, documents, chunks TO hushgate_worker",
    "GRANT INSERT ON ai_decisions, event_keys, duplicates, dead_letters, messages, quarantine, outbox"
    " TO hushgate_worker",
    "GRANT DELETE ON messages TO hushgate_worker",
    "GRANT UPDATE (delivered_at) ON outbox TO hushgate_worker",
    "REVOKE ALL ON FUNCTION hushgate_ensure_partitions, hushgate_sweep_before, hushgate_sweep_quarantine,"
    " hushgate_drop_partitions FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION hushgate_ensure_partitions, hushgate_sweep_before, hushgate_sweep_quarantine,"
    " hushgate_drop_partitions TO hushgate_worker",
)


def upgrade() -> None:
    """Create tables, triggers, functions and grants."""
    op.create_table(
        "ai_decisions",
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, comment="the time inside id"),
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7 made by the worker"),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("author_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False, comment="chat or comment"),
        sa.Column("decision", sa.Text(), nullable=False, comment="ignore, respond or escalate"),
        sa.Column(
            "confidence", sa.DOUBLE_PRECISION(), nullable=False, comment="0..1, see docs/architecture.md"
        ),
        sa.Column("reason_code", sa.Text(), nullable=False, comment="a member of worker.policy.Reason"),
        sa.Column("reason", sa.Text(), nullable=False, comment="one sentence for a reviewer"),
        sa.Column(
            "matched_rule",
            sa.Text(),
            nullable=True,
            comment="openai_moderation:<category>, flagged_keyword:<word>, ...",
        ),
        sa.Column("message_text", sa.Text(), nullable=False, comment="first 500 characters"),
        sa.Column(
            "snapshot_json",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=False,
            comment="stages, spans, attempts, tokens, versions",
        ),
        sa.Column(
            "degraded",
            sa.Boolean(),
            nullable=False,
            comment="something that should have been consulted was not",
        ),
        sa.CheckConstraint(
            "decision IN ('ignore', 'respond', 'escalate')", name=op.f("ck_ai_decisions_decision_known")
        ),
        sa.CheckConstraint("scope IN ('chat', 'comment')", name=op.f("ck_ai_decisions_scope_known")),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_ai_decisions_confidence_range")),
        sa.PrimaryKeyConstraint("created_at", "id", name=op.f("pk_ai_decisions")),
        comment="the audit: one row per accepted event, append-only",
        postgresql_partition_by="RANGE (created_at)",
    )
    op.create_index("ix_ai_decisions_account", "ai_decisions", ["user_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_ai_decisions_conversation",
        "ai_decisions",
        ["user_id", "conversation_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "ai_rules",
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account whose inbox it is"),
        sa.Column(
            "version", sa.Integer(), nullable=False, comment="counts up with every change; the newest counts"
        ),
        sa.Column("ai_control_enabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("ai_enabled_for_chats", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("ai_enabled_for_comments", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "flagged_keywords",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="whole words",
        ),
        sa.Column(
            "flagged_phrases",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="whole phrases",
        ),
        sa.Column(
            "allowed",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="cancels hits inside them",
        ),
        sa.Column("rules_on_reply", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column(
            "moderation_thresholds",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="category -> 0..1; others follow the API's own flag",
        ),
        sa.Column(
            "moderation_failure",
            sa.Text(),
            server_default="hold",
            nullable=False,
            comment="hold, block or allow",
        ),
        sa.Column("hold_max_s", sa.DOUBLE_PRECISION(), server_default=sa.text("3600"), nullable=False),
        sa.Column("reply_max_age_s", sa.DOUBLE_PRECISION(), server_default=sa.text("86400"), nullable=False),
        sa.Column(
            "languages",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="answers in; any if empty",
        ),
        sa.Column(
            "prompt", sa.Text(), server_default="", nullable=False, comment="own instructions; empty for ours"
        ),
        sa.Column(
            "assessment_policy",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "fallback_texts",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="language -> text",
        ),
        sa.Column("changed_by", sa.Text(), server_default=sa.text("current_user"), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "moderation_failure IN ('hold', 'block', 'allow')",
            name=op.f("ck_ai_rules_moderation_failure_known"),
        ),
        sa.CheckConstraint(
            "hold_max_s >= 0 AND reply_max_age_s >= 0", name=op.f("ck_ai_rules_ages_not_negative")
        ),
        sa.CheckConstraint(
            "num_nulls(array_position(flagged_keywords, NULL), array_position(flagged_phrases, NULL),"
            " array_position(allowed, NULL), array_position(languages, NULL)) = 4",
            name=op.f("ck_ai_rules_lists_without_null"),
        ),
        sa.CheckConstraint(
            "jsonb_typeof(moderation_thresholds) = 'object' AND NOT jsonb_path_exists(moderation_thresholds,"
            " '$.* ? (@.type() <> \"number\" || @ < 0 || @ > 1)')",
            name=op.f("ck_ai_rules_thresholds_are_shares"),
        ),
        sa.CheckConstraint(
            "jsonb_typeof(fallback_texts) = 'object' AND NOT jsonb_path_exists(fallback_texts,"
            " '$.* ? (@.type() <> \"string\")')",
            name=op.f("ck_ai_rules_fallback_texts_are_text"),
        ),
        sa.CheckConstraint(
            "jsonb_typeof(assessment_policy) = 'object'",
            name=op.f("ck_ai_rules_assessment_policy_is_object"),
        ),
        sa.CheckConstraint("version > 0", name=op.f("ck_ai_rules_version_positive")),
        sa.PrimaryKeyConstraint("user_id", "version", name=op.f("pk_ai_rules")),
        comment="one row per change of an account's settings",
    )
    op.create_table(
        "dead_letters",
        sa.Column("entry_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "reason_code",
            sa.Text(),
            nullable=False,
            comment="not_json, not_utf8, invalid, too_large, poison, ...",
        ),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("got", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False, comment="of the whole payload"),
        sa.Column("raw", sa.LargeBinary(), nullable=False, comment="the payload's first bytes"),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_dead_letters")),
        comment="payloads that cannot become an event",
    )
    op.create_index("ix_dead_letters_created_at", "dead_letters", ["created_at"], unique=False)
    op.create_table(
        "documents",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), server_default="", nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False, comment="SHA-256 of the content, hex"),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="labels, text to text",
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("user_id", "content_hash", name=op.f("uq_documents_user_id_content_hash")),
        comment="what an account's replies may rest on",
    )
    op.create_table(
        "duplicates",
        sa.Column(
            "entry_id",
            sa.Text(),
            nullable=False,
            comment="a further stream entry of an event already decided",
        ),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_duplicates")),
        comment="entries that repeated an event id; they changed nothing",
    )
    op.create_table(
        "event_keys",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("entry_id", sa.Text(), nullable=False, comment="the stream entry that was decided"),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "event_id", name=op.f("pk_event_keys")),
        comment="idempotency: which events have their decision",
    )
    op.create_index("ix_event_keys_created_at", "event_keys", ["created_at"], unique=False)
    op.create_table(
        "messages",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column(
            "message_id", sa.Text(), nullable=False, comment="the author's message; a reply carries the same"
        ),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False, comment="user or assistant"),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('user', 'assistant')", name=op.f("ck_messages_role_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        comment="the stored history a prompt is built from",
    )
    op.create_index(
        "ix_messages_conversation", "messages", ["user_id", "conversation_id", "id"], unique=False
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column(
            "delivered_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when it was put on the reply stream",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("user_id", "event_id", name=op.f("uq_outbox_user_id_event_id")),
        comment="the only door to a user: approved replies",
    )
    op.create_index(
        "ix_outbox_waiting", "outbox", ["id"], unique=False, postgresql_where=sa.text("delivered_at IS NULL")
    )
    op.create_table(
        "purged",
        sa.Column("table_name", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False, comment="deleted by retention since ever"),
        sa.PrimaryKeyConstraint("table_name", name=op.f("pk_purged")),
        comment="what retention took away, so that the conservation law can still be checked",
    )
    op.create_table(
        "quarantine",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False, comment="swept after this"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
        comment="flagged exchanges, sealed: the worker may write here and never read",
    )
    op.create_index("ix_quarantine_decision_id", "quarantine", ["decision_id"], unique=False)
    op.create_index("ix_quarantine_expires_at", "quarantine", ["expires_at"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, comment="from 1"),
        sa.Column(
            "user_id",
            sa.Text(),
            nullable=False,
            comment="repeated here so that every search names its account",
        ),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column(
            "words",
            postgresql.TSVECTOR(),
            sa.Computed("to_tsvector('simple', text)", persisted=True),
            nullable=False,
        ),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_chunks_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "number", name=op.f("pk_chunks")),
        comment="documents, cut to passages",
    )
    op.create_index("ix_chunks_user_id", "chunks", ["user_id"], unique=False)
    op.create_index("ix_chunks_words", "chunks", ["words"], unique=False, postgresql_using="gin")
    for statement in (*TRIGGERS, *FUNCTIONS, *GRANTS):
        op.execute(statement)
    op.execute("SELECT hushgate_ensure_partitions(current_date, 3)")


def downgrade() -> None:
    """Drop everything: the audit with it."""
    for table in (
        "ai_decisions",
        "ai_rules",
        "event_keys",
        "duplicates",
        "dead_letters",
        "messages",
        "quarantine",
        "outbox",
        "chunks",
        "documents",
        "purged",
    ):
        op.drop_table(table)
    for function in (
        "hushgate_append_only",
        "hushgate_next_version",
        "hushgate_ensure_partitions",
        "hushgate_sweep_before",
        "hushgate_sweep_quarantine",
        "hushgate_drop_partitions",
    ):
        op.execute(f"DROP FUNCTION {function}")
