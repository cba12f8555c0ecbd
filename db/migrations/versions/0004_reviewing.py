"""Reviews: their tables, the database role of reviewers, and its rights.

Law: as 0001. The new columns are nullable or have a default: the previous release continues to work.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision: str = "0004"
down_revision: str | Sequence[str] | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

APPEND_ONLY = ("decision_reviews", "access_log")
GRANTS = (
    """
    DO $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'hushgate_reviewer') THEN
            CREATE ROLE hushgate_reviewer NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
    """,
    "GRANT hushgate_reviewer TO CURRENT_USER",
    """
    DO $$
    BEGIN
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO hushgate_reviewer', current_schema());
    END $$
    """,
    "GRANT SELECT ON ai_rules, ai_decisions, event_keys, duplicates, dead_letters, messages, quarantine, outbox,"
    " documents, chunks, account_words, embedders, chunk_embeddings, purged, compiled_rules TO hushgate_reviewer",
    "GRANT INSERT ON ai_rules, messages, quarantine, documents, chunks, chunk_embeddings TO hushgate_reviewer",
    "GRANT DELETE ON messages, quarantine, documents TO hushgate_reviewer",
    "GRANT UPDATE (cancelled_at) ON outbox TO hushgate_reviewer",
    # documents: their triggers count words, their vectors are written over; a row lock needs some column
    "GRANT INSERT, UPDATE, DELETE ON account_words TO hushgate_reviewer",
    "GRANT UPDATE (embedding) ON chunk_embeddings TO hushgate_reviewer",
    "GRANT UPDATE (pairs) ON embedders TO hushgate_reviewer",
    "GRANT EXECUTE ON FUNCTION hushgate_lexemes TO hushgate_reviewer",
    "GRANT SELECT, INSERT ON decision_reviews, access_log TO hushgate_reviewer",
    "GRANT SELECT, INSERT, UPDATE ON people, review_states, queues, queue_items, golden_items, retractions,"
    " jobs, api_tokens TO hushgate_reviewer",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON person_roles, sessions, saved_views, job_parts TO hushgate_reviewer",
    "GRANT SELECT, INSERT, DELETE ON sign_in_attempts, oidc_states, sign_in_links TO hushgate_reviewer",
    "GRANT UPDATE (worked) ON sign_in_attempts TO hushgate_reviewer",
    "GRANT DELETE ON jobs, golden_items TO hushgate_reviewer",
    "GRANT SELECT, UPDATE (delivered_at) ON retractions TO hushgate_worker",
)

FIRST_QUEUES = (
    "INSERT INTO queues (id, name, kind, created_by, golden_share, second_share)"
    " VALUES (gen_random_uuid(), 'Escalations', 'escalations', 'hushgate', 0.05, 0.1)",
    "INSERT INTO queues (id, name, kind, created_by, golden_share, second_share, definition)"
    " VALUES (gen_random_uuid(), 'Silent ignores, a sample', 'sample', 'hushgate', 0.05, 0.1,"
    """ '{"share": 0.05, "per": "reason_code", "seed": 1, "most": 500}')""",
    "INSERT INTO queues (id, name, kind, created_by)"
    " VALUES (gen_random_uuid(), 'Second readings', 'second', 'hushgate')",
)


def upgrade() -> None:
    """Create the tables, the role and its rights."""
    op.create_table(
        "access_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("person_id", sa.Uuid(), nullable=True, comment="null: nobody was signed in"),
        sa.Column("person", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=False, comment="a member of db.access_log.Action"),
        sa.Column("user_id", sa.Text(), nullable=True, comment="the account, where one was named"),
        sa.Column("decision_id", sa.Uuid(), nullable=True),
        sa.Column("detail", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("address", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_log")),
        comment="who read, searched, exported, revealed and changed what: append-only",
    )
    op.create_index("ix_access_log_at", "access_log", ["at", "id"], unique=False)
    op.create_index("ix_access_log_decision", "access_log", ["decision_id", "at"], unique=False)
    op.create_index("ix_access_log_account", "access_log", ["user_id", "at"], unique=False)
    op.create_index("ix_access_log_person", "access_log", ["person_id", "at"], unique=False)
    op.create_table(
        "golden_items",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("decision_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False, comment="what a good reader says"),
        sa.Column("corrected_decision", sa.Text(), nullable=True),
        sa.Column(
            "note", sa.Text(), server_default="", nullable=False, comment="why, shown after the answer"
        ),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "verdict IN ('agree', 'overturn', 'unsure')", name=op.f("ck_golden_items_verdict_known")
        ),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_golden_items")),
        comment="decisions with a known answer, dealt among others",
    )
    op.create_table(
        "oidc_states",
        sa.Column("state_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the state parameter"),
        sa.Column("data", JSONB(), nullable=False, comment="nonce, PKCE verifier, where to go next"),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("state_hash", name=op.f("pk_oidc_states")),
        comment="sign-ins under way at the identity provider",
    )
    op.create_table(
        "people",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("login", sa.Text(), nullable=False, comment="lower case; an e-mail address for OIDC"),
        sa.Column("name", sa.Text(), server_default="", nullable=False, comment="as colleagues see it"),
        sa.Column(
            "password_hash", sa.Text(), nullable=True, comment="argon2id; null: signs in elsewhere only"
        ),
        sa.Column("must_change_password", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("oidc_issuer", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column(
            "covered",
            sa.ARRAY(sa.Text()),
            server_default=sa.text("'{}'::text[]"),
            nullable=False,
            comment="categories to cover",
        ),
        sa.Column(
            "keys_on", sa.Boolean(), server_default=sa.text("true"), nullable=False, comment="single keys act"
        ),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("login = lower(login) AND login <> ''", name=op.f("ck_people_login_lower")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("login", name=op.f("uq_people_login")),
        sa.UniqueConstraint("oidc_issuer", "oidc_subject", name=op.f("uq_people_oidc_issuer_oidc_subject")),
        comment="who may use the review pages; never deleted, only disabled",
    )
    op.create_table(
        "queues",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="escalations, sample, second or hand"),
        sa.Column(
            "definition",
            JSONB(),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
            comment="see db.queues",
        ),
        sa.Column(
            "lease_s",
            sa.Integer(),
            server_default=sa.text("300"),
            nullable=False,
            comment="how long a claim holds",
        ),
        sa.Column(
            "golden_share", sa.DOUBLE_PRECISION(), server_default=sa.text("0"), nullable=False, comment="0..1"
        ),
        sa.Column(
            "second_share", sa.DOUBLE_PRECISION(), server_default=sa.text("0"), nullable=False, comment="0..1"
        ),
        sa.Column(
            "filled_to",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="decisions before this have been looked at",
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("created_by", sa.Text(), server_default="", nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "kind IN ('escalations', 'sample', 'second', 'hand')", name=op.f("ck_queues_kind_known")
        ),
        sa.CheckConstraint(
            "golden_share BETWEEN 0 AND 1 AND second_share BETWEEN 0 AND 1", name=op.f("ck_queues_shares")
        ),
        sa.CheckConstraint("lease_s BETWEEN 10 AND 86400", name=op.f("ck_queues_lease_sane")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queues")),
        sa.UniqueConstraint("name", name=op.f("uq_queues_name")),
        comment="what waits for a reader",
    )
    op.create_table(
        "retractions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("review_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=False, comment="end of the undo window"),
        sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True, comment="undone in time"),
        sa.Column(
            "delivered_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when it was put on the retraction stream",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retractions")),
        sa.UniqueConstraint("review_id", name=op.f("uq_retractions_review_id")),
        comment="replies that a reviewer took back: the channel is asked to remove them",
    )
    op.create_index("ix_retractions_decision_id", "retractions", ["decision_id"], unique=False)
    op.create_index(
        "ix_retractions_waiting",
        "retractions",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("delivered_at IS NULL AND cancelled_at IS NULL"),
    )
    op.create_table(
        "review_states",
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("decision_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, comment="agree, overturn, unsure, disputed or open"),
        sa.Column("reviews", sa.Integer(), nullable=False, comment="that stand"),
        sa.Column("last_review", sa.Uuid(), nullable=False, comment="what a stale submit is told apart by"),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "state IN ('agree', 'overturn', 'unsure', 'disputed', 'open')",
            name=op.f("ck_review_states_state_known"),
        ),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_review_states")),
        comment="where each reviewed decision stands; follows decision_reviews in the same transaction",
    )
    op.create_index(
        "ix_review_states_decision_at", "review_states", ["decision_at", "decision_id"], unique=False
    )
    op.create_index(
        "ix_review_states_state", "review_states", ["state", "decision_at", "decision_id"], unique=False
    )
    op.create_table(
        "sign_in_attempts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column(
            "device",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="a browser that was let in before",
        ),
        sa.Column("worked", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_attempts")),
        comment="for waits and rate limits; swept after a day",
    )
    op.create_index("ix_sign_in_attempts_address", "sign_in_attempts", ["address", "at"], unique=False)
    op.create_index("ix_sign_in_attempts_at", "sign_in_attempts", ["at"], unique=False)
    op.create_index("ix_sign_in_attempts_login", "sign_in_attempts", ["login", "at"], unique=False)
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("person_id", sa.Uuid(), nullable=False, comment="never more rights than theirs"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(), nullable=False, comment="SHA-256"),
        sa.Column("prefix", sa.Text(), nullable=False, comment="first characters, to tell tokens apart"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_api_tokens_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_tokens_token_hash")),
        comment="keys of the JSON face; read-only",
    )
    op.create_index("ix_api_tokens_person_id", "api_tokens", ["person_id"], unique=False)
    op.create_table(
        "decision_reviews",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column(
            "decision_at", sa.DateTime(timezone=True), nullable=False, comment="created_at of the decision"
        ),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column("person_id", sa.Uuid(), nullable=True, comment="null: from the command line"),
        sa.Column("person", sa.Text(), nullable=False, comment="login at that time"),
        sa.Column("verdict", sa.Text(), nullable=False, comment="agree, overturn, unsure or withdrawn"),
        sa.Column("corrected_decision", sa.Text(), nullable=True, comment="what should have been decided"),
        sa.Column(
            "reason_code",
            sa.Text(),
            server_default="",
            nullable=False,
            comment="a member of db.reviews.Cause",
        ),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column(
            "effect", sa.Text(), server_default="none", nullable=False, comment="none, restored or removed"
        ),
        sa.Column(
            "sealed_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="expiry of what was restored, for an undo",
        ),
        sa.Column("source", sa.Text(), nullable=False, comment="page, queue, blind, golden, bulk or cli"),
        sa.Column("item_id", sa.BigInteger(), nullable=True, comment="the queue item it answers"),
        sa.Column("job_id", sa.Uuid(), nullable=True, comment="the bulk job it belongs to"),
        sa.Column("withdraws", sa.Uuid(), nullable=True, comment="the review that this one takes back"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(verdict = 'withdrawn') = (withdraws IS NOT NULL)",
            name=op.f("ck_decision_reviews_withdraws_one"),
        ),
        sa.CheckConstraint(
            "corrected_decision IN ('ignore', 'respond', 'escalate')",
            name=op.f("ck_decision_reviews_corrected_known"),
        ),
        sa.CheckConstraint(
            "effect IN ('none', 'restored', 'removed')", name=op.f("ck_decision_reviews_effect_known")
        ),
        sa.CheckConstraint(
            "source IN ('page', 'queue', 'blind', 'golden', 'bulk', 'cli')",
            name=op.f("ck_decision_reviews_source_known"),
        ),
        sa.CheckConstraint(
            "verdict IN ('agree', 'overturn', 'unsure', 'withdrawn')",
            name=op.f("ck_decision_reviews_verdict_known"),
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_decision_reviews_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision_reviews")),
        comment="what people said of decisions: append-only, several per decision",
    )
    op.create_index(
        "ix_decision_reviews_account", "decision_reviews", ["user_id", "created_at"], unique=False
    )
    op.create_index(
        "ix_decision_reviews_decision", "decision_reviews", ["decision_id", "created_at"], unique=False
    )
    op.create_index(
        "ix_decision_reviews_job",
        "decision_reviews",
        ["job_id", "decision_id"],
        unique=True,
        postgresql_where=sa.text("job_id IS NOT NULL"),
    )
    op.create_index(
        "ix_decision_reviews_person", "decision_reviews", ["person_id", "created_at"], unique=False
    )
    op.create_index(
        "ix_decision_reviews_withdraws",
        "decision_reviews",
        ["withdraws"],
        unique=True,
        postgresql_where=sa.text("withdraws IS NOT NULL"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False, comment="export or bulk_review"),
        sa.Column("params", JSONB(), nullable=False, comment="filters, format or verdict"),
        sa.Column("state", sa.Text(), server_default="queued", nullable=False),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=True, comment="as counted when it was asked for"),
        sa.Column(
            "position", sa.Text(), nullable=True, comment="cursor from which a job goes on after a crash"
        ),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "alive_at", sa.DateTime(timezone=True), nullable=True, comment="heartbeat of whoever runs it"
        ),
        sa.Column(
            "cancel_at", sa.DateTime(timezone=True), nullable=True, comment="when its owner asked for an end"
        ),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("kind IN ('export', 'bulk_review')", name=op.f("ck_jobs_kind_known")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_state_known")
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_jobs_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        comment="long work that people asked for",
    )
    op.create_index("ix_jobs_person_id", "jobs", ["person_id", "created_at"], unique=False)
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("state = ANY (ARRAY['queued'::text, 'running'::text])"),
    )
    op.create_table(
        "person_roles",
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account, or * for every account"),
        sa.Column("role", sa.Text(), nullable=False, comment="a member of db.people.Role"),
        sa.Column("granted_by", sa.Text(), nullable=False),
        sa.Column("granted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "role IN ('viewer', 'reviewer', 'lead', 'rule_editor', 'account_admin', 'auditor')",
            name=op.f("ck_person_roles_role_known"),
        ),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_person_roles_person_id")),
        sa.PrimaryKeyConstraint("person_id", "user_id", "role", name=op.f("pk_person_roles")),
        comment="what each person may do, per account",
    )
    op.create_table(
        "queue_items",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("queue_id", sa.Uuid(), nullable=False),
        sa.Column("decision_id", sa.Uuid(), nullable=False),
        sa.Column("decision_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False, comment="the account"),
        sa.Column(
            "stratum", sa.Text(), server_default="", nullable=False, comment="what it was sampled from"
        ),
        sa.Column("only_for", sa.Uuid(), nullable=True, comment="golden items are dealt per person"),
        sa.Column(
            "not_for", sa.Uuid(), nullable=True, comment="whose reading this one is to be compared with"
        ),
        sa.Column("golden", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("first_review", sa.Uuid(), nullable=True, comment="blind second reading of this review"),
        sa.Column("assigned_to", sa.Uuid(), nullable=True),
        sa.Column("claimed_by", sa.Uuid(), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("skipped_by", sa.ARRAY(sa.Uuid()), server_default=sa.text("'{}'::uuid[]"), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("review_id", sa.Uuid(), nullable=True, comment="the answer"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["queue_id"], ["queues.id"], name=op.f("fk_queue_items_queue_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue_items")),
        comment="one decision in one queue",
    )
    op.create_index("ix_queue_items_by_decision", "queue_items", ["decision_id"], unique=False)
    op.create_index("ix_queue_items_done_at", "queue_items", ["done_at"], unique=False)
    op.create_index(
        "ix_queue_items_claimed_by",
        "queue_items",
        ["claimed_by"],
        unique=False,
        postgresql_where=sa.text("done_at IS NULL"),
    )
    op.create_index(
        "ix_queue_items_decision",
        "queue_items",
        ["queue_id", "decision_id", "only_for"],
        unique=True,
        postgresql_nulls_not_distinct=True,
    )
    op.create_index(
        "ix_queue_items_open",
        "queue_items",
        ["queue_id", "id"],
        unique=False,
        postgresql_where=sa.text("done_at IS NULL"),
    )
    op.create_table(
        "sign_in_links",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of what the link holds"),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_sign_in_links_person_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sign_in_links")),
        comment="links that sign one person in, once; gone when used",
    )
    op.create_table(
        "saved_views",
        sa.Column("id", sa.Uuid(), nullable=False, comment="UUIDv7"),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False, comment="the filters as a URL's query"),
        sa.Column("shared", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_saved_views_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_views")),
        sa.UniqueConstraint("person_id", "name", name=op.f("uq_saved_views_person_id_name")),
        comment="filters that somebody kept",
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False, comment="SHA-256 of the cookie"),
        sa.Column("person_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("address", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_sessions_person_id")),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
        comment="who is signed in",
    )
    op.create_index("ix_sessions_person_id", "sessions", ["person_id"], unique=False)
    op.create_table(
        "job_parts",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, comment="from 1"),
        sa.Column("data", sa.LargeBinary(), nullable=False, comment="gzip; the parts in order are the file"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["jobs.id"], name=op.f("fk_job_parts_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "number", name=op.f("pk_job_parts")),
        comment="what an export wrote; swept after a week",
    )

    op.add_column(
        "outbox",
        sa.Column(
            "cancelled_at", sa.DateTime(timezone=True), comment="a reviewer took it back before delivery"
        ),
    )
    op.drop_index("ix_messages_conversation", table_name="messages")
    op.create_index(
        "ix_messages_conversation",
        "messages",
        ["user_id", "conversation_id", "created_at", "id"],
        unique=False,
    )
    for statement in FIRST_QUEUES:
        op.execute(statement)
    for table in APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION hushgate_append_only()"
        )
        op.execute(
            f"CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION hushgate_append_only()"
        )
    for statement in GRANTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the tables and revoke the rights; the role stays, because it belongs to the server."""
    op.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM hushgate_reviewer")
    op.drop_index("ix_messages_conversation", table_name="messages")
    op.create_index(
        "ix_messages_conversation", "messages", ["user_id", "conversation_id", "id"], unique=False
    )
    op.drop_column("outbox", "cancelled_at")
    op.drop_table("job_parts")
    op.drop_index("ix_sessions_person_id", table_name="sessions")
    op.drop_table("sessions")
    op.drop_table("sign_in_links")
    op.drop_table("saved_views")
    op.drop_index(
        "ix_queue_items_open", table_name="queue_items", postgresql_where=sa.text("done_at IS NULL")
    )
    op.drop_index("ix_queue_items_decision", table_name="queue_items", postgresql_nulls_not_distinct=True)
    op.drop_index(
        "ix_queue_items_claimed_by", table_name="queue_items", postgresql_where=sa.text("done_at IS NULL")
    )
    op.drop_index("ix_queue_items_done_at", table_name="queue_items")
    op.drop_index("ix_queue_items_by_decision", table_name="queue_items")
    op.drop_table("queue_items")
    op.drop_table("person_roles")
    op.drop_index(
        "ix_jobs_waiting",
        table_name="jobs",
        postgresql_where=sa.text("state = ANY (ARRAY['queued'::text, 'running'::text])"),
    )
    op.drop_index("ix_jobs_person_id", table_name="jobs")
    op.drop_table("jobs")
    op.drop_index(
        "ix_decision_reviews_withdraws",
        table_name="decision_reviews",
        postgresql_where=sa.text("withdraws IS NOT NULL"),
    )
    op.drop_index("ix_decision_reviews_person", table_name="decision_reviews")
    op.drop_index(
        "ix_decision_reviews_job",
        table_name="decision_reviews",
        postgresql_where=sa.text("job_id IS NOT NULL"),
    )
    op.drop_index("ix_decision_reviews_decision", table_name="decision_reviews")
    op.drop_index("ix_decision_reviews_account", table_name="decision_reviews")
    op.drop_table("decision_reviews")
    op.drop_index("ix_api_tokens_person_id", table_name="api_tokens")
    op.drop_table("api_tokens")
    op.drop_index("ix_sign_in_attempts_login", table_name="sign_in_attempts")
    op.drop_index("ix_sign_in_attempts_at", table_name="sign_in_attempts")
    op.drop_index("ix_sign_in_attempts_address", table_name="sign_in_attempts")
    op.drop_table("sign_in_attempts")
    op.drop_index("ix_review_states_state", table_name="review_states")
    op.drop_index("ix_review_states_decision_at", table_name="review_states")
    op.drop_table("review_states")
    op.drop_index("ix_retractions_decision_id", table_name="retractions")
    op.drop_index(
        "ix_retractions_waiting",
        table_name="retractions",
        postgresql_where=sa.text("delivered_at IS NULL AND cancelled_at IS NULL"),
    )
    op.drop_table("retractions")
    op.drop_table("queues")
    op.drop_table("people")
    op.drop_table("oidc_states")
    op.drop_table("golden_items")
    op.drop_index("ix_access_log_account", table_name="access_log")
    op.drop_index("ix_access_log_person", table_name="access_log")
    op.drop_index("ix_access_log_decision", table_name="access_log")
    op.drop_index("ix_access_log_at", table_name="access_log")
    op.drop_table("access_log")
