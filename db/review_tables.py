"""Tables of the review pages: people, reviews, queues, jobs and the access log."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.tables import EMPTY_LIST, EMPTY_OBJECT, Timestamp, metadata

people: Final = Table(
    "people",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("login", Text, nullable=False, unique=True, comment="lower case; an e-mail address for OIDC"),
    Column("name", Text, nullable=False, server_default="", comment="as colleagues see it"),
    Column("password_hash", Text, comment="argon2id; null: signs in elsewhere only"),
    Column("must_change_password", Boolean, nullable=False, server_default=text("false")),
    Column(
        "password_given_by",
        ForeignKey("people.id"),
        comment="who gave the last first password, or the invitation, and may know the current one; or null",
    ),
    Column("oidc_issuer", Text),
    Column("oidc_subject", Text),
    Column("covered", ARRAY(Text), nullable=False, server_default=EMPTY_LIST, comment="categories to cover"),
    Column(
        "keys_on",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="keyboard shortcuts are active",
    ),
    Column("disabled_at", Timestamp),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("created_by", Text, nullable=False, server_default=""),
    UniqueConstraint("oidc_issuer", "oidc_subject"),
    CheckConstraint("login = lower(login) AND login <> ''", name="login_lower"),
    comment="who may use the review pages; never deleted, only disabled",
)

person_roles: Final = Table(
    "person_roles",
    metadata,
    Column("person_id", ForeignKey("people.id"), primary_key=True),
    Column("user_id", Text, primary_key=True, comment="the account, or * for every account"),
    Column("role", Text, primary_key=True, comment="what the person may do there"),
    Column("granted_by", Text, nullable=False),
    Column("granted_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint(
        "role IN ('viewer', 'reviewer', 'lead', 'rule_editor', 'account_admin', 'auditor')", name="role_known"
    ),
    comment="what each person may do, per account",
)

invitations: Final = Table(
    "invitations",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256 of the link's token"),
    Column("login", Text, nullable=False, comment="lower case; a person may have it or not"),
    Column("user_id", Text, nullable=False, comment="the account; never every account"),
    Column("role", Text, nullable=False, comment="a member of db.people.records.Role"),
    Column("invited_by", ForeignKey("people.id"), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    Column("accepted_at", Timestamp),
    Column("withdrawn_at", Timestamp),
    Index("ix_invitations_user_id", "user_id"),
    Index("ix_invitations_invited_by", "invited_by", "created_at"),
    CheckConstraint("login = lower(login) AND login <> ''", name="login_lower"),
    CheckConstraint("user_id <> '*'", name="one_account"),
    CheckConstraint(
        "role IN ('viewer', 'reviewer', 'lead', 'rule_editor', 'account_admin', 'auditor')", name="role_known"
    ),
    comment="roles offered by link; deleted once expired",
)

sessions: Final = Table(
    "sessions",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of the cookie"),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("seen_at", Timestamp, nullable=False, server_default=func.now()),
    Column("expires_at", Timestamp, nullable=False),
    Column("address", Text, nullable=False, server_default=""),
    Index("ix_sessions_person_id", "person_id"),
    comment="who is signed in",
)

sign_in_attempts: Final = Table(
    "sign_in_attempts",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("at", Timestamp, nullable=False, server_default=func.now()),
    Column("address", Text, nullable=False),
    Column("login", Text, nullable=False),
    Column("device", Text, nullable=False, server_default="", comment="a browser that signed in before"),
    Column("worked", Boolean, nullable=False),
    Index("ix_sign_in_attempts_address", "address", "at"),
    Index("ix_sign_in_attempts_login", "login", "at"),
    Index("ix_sign_in_attempts_at", "at"),
    comment="for waits and rate limits; swept after a day",
)

sign_in_links: Final = Table(
    "sign_in_links",
    metadata,
    Column("token_hash", LargeBinary, primary_key=True, comment="SHA-256 of what the link holds"),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    comment="links that sign one person in once; deleted when used",
)

oidc_states: Final = Table(
    "oidc_states",
    metadata,
    Column("state_hash", LargeBinary, primary_key=True, comment="SHA-256 of the state parameter"),
    Column("data", JSONB, nullable=False, comment="nonce, PKCE verifier, return path"),
    Column("expires_at", Timestamp, nullable=False),
    comment="sign-ins under way at the identity provider",
)

api_tokens: Final = Table(
    "api_tokens",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("person_id", ForeignKey("people.id"), nullable=False, comment="the token never has more rights"),
    Column("name", Text, nullable=False),
    Column("token_hash", LargeBinary, nullable=False, unique=True, comment="SHA-256"),
    Column("prefix", Text, nullable=False, comment="first characters, to tell tokens apart"),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("expires_at", Timestamp, nullable=False),
    Column("used_at", Timestamp),
    Column("revoked_at", Timestamp),
    Index("ix_api_tokens_person_id", "person_id"),
    comment="read-only credentials of the JSON API",
)

decision_reviews: Final = Table(
    "decision_reviews",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("decision_id", Uuid, nullable=False),
    Column("decision_at", Timestamp, nullable=False, comment="created_at of the decision"),
    Column("user_id", Text, nullable=False, comment="the account"),
    Column("person_id", ForeignKey("people.id"), comment="null: from the command line"),
    Column("person", Text, nullable=False, comment="login at that time"),
    Column("ruling", Text, nullable=False, comment="agree, overturn, unsure or withdrawn"),
    Column("corrected_decision", Text, comment="what should have been decided"),
    Column(
        "reason_code",
        Text,
        nullable=False,
        server_default="",
        comment="why, as a stable code; empty: none given",
    ),
    Column("note", Text, nullable=False, server_default=""),
    Column("effect", Text, nullable=False, server_default="none", comment="none, restored or removed"),
    Column("sealed_until", Timestamp, comment="expiry of what was restored, for an undo"),
    Column("source", Text, nullable=False, comment="page, queue, blind, golden, bulk or cli"),
    Column("item_id", BigInteger, comment="the queue item it answers"),
    Column("job_id", Uuid, comment="the bulk job it belongs to"),
    Column("withdraws", Uuid, comment="the review that this one takes back"),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint("ruling IN ('agree', 'overturn', 'unsure', 'withdrawn')", name="ruling_known"),
    CheckConstraint("corrected_decision IN ('ignore', 'respond', 'escalate')", name="corrected_known"),
    CheckConstraint("effect IN ('none', 'restored', 'removed')", name="effect_known"),
    CheckConstraint("source IN ('page', 'queue', 'blind', 'golden', 'bulk', 'cli')", name="source_known"),
    CheckConstraint("(ruling = 'withdrawn') = (withdraws IS NOT NULL)", name="withdraws_one"),
    Index("ix_decision_reviews_decision", "decision_id", "created_at"),
    Index("ix_decision_reviews_person", "person_id", "created_at"),
    Index("ix_decision_reviews_account", "user_id", "created_at"),
    Index(
        "ix_decision_reviews_withdraws",
        "withdraws",
        unique=True,
        postgresql_where=text("withdraws IS NOT NULL"),
    ),
    Index(
        "ix_decision_reviews_job",
        "job_id",
        "decision_id",
        unique=True,
        postgresql_where=text("job_id IS NOT NULL"),
    ),
    comment="reviewers' rulings: append-only, several per decision",
)

review_states: Final = Table(
    "review_states",
    metadata,
    Column("decision_id", Uuid, primary_key=True),
    Column("decision_at", Timestamp, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("state", Text, nullable=False, comment="agree, overturn, unsure, disputed or open"),
    Column("reviews", Integer, nullable=False, comment="standing reviews"),
    Column("last_review", Uuid, nullable=False, comment="the newest review; detects a stale submission"),
    Column("updated_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint("state IN ('agree', 'overturn', 'unsure', 'disputed', 'open')", name="state_known"),
    Index("ix_review_states_state", "state", "decision_at", "decision_id"),
    Index("ix_review_states_decision_at", "decision_at", "decision_id"),
    comment="the state of each reviewed decision, updated in the transaction that appends a review",
)

queues: Final = Table(
    "queues",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("name", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False, comment="escalations, sample, second or hand"),
    Column(
        "definition",
        JSONB,
        nullable=False,
        server_default=EMPTY_OBJECT,
        comment="the accounts it is for and how a sample is drawn",
    ),
    Column("lease_s", Integer, nullable=False, server_default=text("300"), comment="duration of a claim"),
    Column("golden_share", DOUBLE_PRECISION, nullable=False, server_default=text("0"), comment="0..1"),
    Column("second_share", DOUBLE_PRECISION, nullable=False, server_default=text("0"), comment="0..1"),
    Column("filled_to", Timestamp, comment="decisions before this were considered"),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("created_by", Text, nullable=False, server_default=""),
    Column("closed_at", Timestamp),
    CheckConstraint("kind IN ('escalations', 'sample', 'second', 'hand')", name="kind_known"),
    CheckConstraint("lease_s BETWEEN 10 AND 86400", name="lease_sane"),
    CheckConstraint("golden_share BETWEEN 0 AND 1 AND second_share BETWEEN 0 AND 1", name="shares"),
    comment="queues of decisions for reviewers",
)

queue_items: Final = Table(
    "queue_items",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("queue_id", ForeignKey("queues.id"), nullable=False),
    Column("decision_id", Uuid, nullable=False),
    Column("decision_at", Timestamp, nullable=False),
    Column("user_id", Text, nullable=False, comment="the account"),
    Column("stratum", Text, nullable=False, server_default="", comment="the stratum of its sample"),
    Column("only_for", Uuid, comment="the person a golden item is dealt to"),
    Column("not_for", Uuid, comment="the first reviewer of a second reading"),
    Column("golden", Boolean, nullable=False, server_default=text("false")),
    Column("first_review", Uuid, comment="blind second reading of this review"),
    Column("assigned_to", Uuid),
    Column("claimed_by", Uuid),
    Column("claimed_until", Timestamp),
    Column("skipped_by", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    Column("done_at", Timestamp),
    Column("review_id", Uuid, comment="the review that answers it"),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column(
        "chance", DOUBLE_PRECISION, comment="0..1, of being drawn by its sample; null: no sample, or unknown"
    ),
    Index(
        "ix_queue_items_decision",
        "queue_id",
        "decision_id",
        "only_for",
        unique=True,
        postgresql_nulls_not_distinct=True,
    ),
    Index("ix_queue_items_open", "queue_id", "id", postgresql_where=text("done_at IS NULL")),
    Index("ix_queue_items_by_decision", "decision_id"),
    Index("ix_queue_items_done_at", "done_at"),
    Index("ix_queue_items_claimed_by", "claimed_by", postgresql_where=text("done_at IS NULL")),
    Index(
        "ix_queue_items_assigned_to",
        "assigned_to",
        postgresql_where=text("done_at IS NULL AND assigned_to IS NOT NULL"),
    ),
    comment="one decision in one queue",
)

golden_items: Final = Table(
    "golden_items",
    metadata,
    Column("decision_id", Uuid, primary_key=True),
    Column("decision_at", Timestamp, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("ruling", Text, nullable=False, comment="the known answer"),
    Column("corrected_decision", Text),
    Column("note", Text, nullable=False, server_default="", comment="why, shown after the answer"),
    Column("created_by", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    CheckConstraint("ruling IN ('agree', 'overturn', 'unsure')", name="ruling_known"),
    comment="decisions with a known answer, dealt among others",
)

retractions: Final = Table(
    "retractions",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("decision_id", Uuid, nullable=False),
    Column("review_id", Uuid, nullable=False, unique=True),
    Column("user_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("conversation_id", Text, nullable=False),
    Column("message_id", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("not_before", Timestamp, nullable=False, comment="end of the undo window"),
    Column("cancelled_at", Timestamp, comment="undone in time"),
    Column("delivered_at", Timestamp, comment="when it was put on the retraction stream"),
    Index("ix_retractions_decision_id", "decision_id"),
    Index(
        "ix_retractions_waiting",
        "not_before",
        postgresql_where=text("delivered_at IS NULL AND cancelled_at IS NULL"),
    ),
    comment="replies that a reviewer took back: the channel is asked to remove them",
)

saved_views: Final = Table(
    "saved_views",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False, comment="the filters as a URL's query"),
    Column("shared", Boolean, nullable=False, server_default=text("false")),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    UniqueConstraint("person_id", "name"),
    comment="filters that a person saved",
)

jobs: Final = Table(
    "jobs",
    metadata,
    Column("id", Uuid, primary_key=True, comment="UUIDv7"),
    Column("person_id", ForeignKey("people.id"), nullable=False),
    Column("kind", Text, nullable=False, comment="export or bulk_review"),
    Column("params", JSONB, nullable=False, comment="filters, format or ruling"),
    Column("state", Text, nullable=False, server_default="queued"),
    Column("done", BigInteger, nullable=False, server_default=text("0")),
    Column("total", BigInteger, comment="counted when the job was requested"),
    Column("position", Text, comment="cursor from which the job continues after a crash"),
    Column("error", Text),
    Column("created_at", Timestamp, nullable=False, server_default=func.now()),
    Column("alive_at", Timestamp, comment="heartbeat of the server that runs it"),
    Column("cancel_at", Timestamp, comment="when its owner cancelled it"),
    Column("finished_at", Timestamp),
    CheckConstraint("kind IN ('export', 'bulk_review')", name="kind_known"),
    CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="state_known"),
    Index("ix_jobs_person_id", "person_id", "created_at"),
    Index(
        "ix_jobs_waiting",
        "created_at",
        postgresql_where=text("state = ANY (ARRAY['queued'::text, 'running'::text])"),
    ),
    comment="background jobs that people requested",
)

job_parts: Final = Table(
    "job_parts",
    metadata,
    Column("job_id", ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, comment="from 1"),
    Column(
        "data",
        LargeBinary,
        nullable=False,
        comment="deflate blocks; the parts in order are one stream",
    ),
    comment="what an export wrote; swept after a week",
)

access_log: Final = Table(
    "access_log",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("at", Timestamp, nullable=False, server_default=func.now()),
    Column("person_id", Uuid, comment="null: not signed in"),
    Column("person", Text, nullable=False, server_default=""),
    Column("action", Text, nullable=False, comment="what was done, as a stable code"),
    Column("user_id", Text, comment="the account, where one was named"),
    Column("decision_id", Uuid),
    Column("detail", JSONB, nullable=False, server_default=EMPTY_OBJECT),
    Column("address", Text, nullable=False, server_default=""),
    Index("ix_access_log_at", "at", "id"),
    Index("ix_access_log_person", "person_id", "at"),
    Index("ix_access_log_account", "user_id", "at"),
    Index("ix_access_log_decision", "decision_id", "at"),
    comment="who read, searched, exported, revealed and changed what: append-only",
)
