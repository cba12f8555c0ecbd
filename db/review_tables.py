"""Tables of the review pages: reviews, queues, jobs and the access log."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from db.columns import (
    EMPTY_OBJECT,
    FALSE,
    NOW,
    ZERO,
    Timestamp,
    choice,
    index,
    key,
    required,
    required_texts,
    table,
)

decision_reviews: Final = table(
    "decision_reviews",
    "reviewers' rulings: append-only, several per decision",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("decision_id", sa.Uuid),
    required("decision_at", Timestamp, comment="created_at of the decision"),
    required("user_id", sa.Text, comment="the account"),
    sa.Column("person_id", sa.ForeignKey("people.id"), comment="null: from the command line"),
    required("person", sa.Text, comment="login at that time"),
    *choice("ruling", "agree overturn unsure withdrawn"),
    *choice("corrected_decision", "ignore respond escalate", "what should have been decided", nullable=True),
    required("reason_code", sa.Text, server_default="", comment="why, as a stable code; empty: none given"),
    required("note", sa.Text, server_default=""),
    *choice("effect", "none restored removed", server_default="none"),
    sa.Column("sealed_until", Timestamp, comment="expiry of what was restored, for an undo"),
    *choice("source", "page queue blind golden bulk cli appeal"),
    sa.Column("item_id", sa.BigInteger, comment="the queue item it answers"),
    sa.Column("job_id", sa.Uuid, comment="the bulk job it belongs to"),
    sa.Column("withdraws", sa.Uuid, comment="the review that this one takes back"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint("(ruling = 'withdrawn') = (withdraws IS NOT NULL)", name="withdraws_one"),
    index("ix_decision_reviews_decision", "decision_id", "created_at"),
    index("ix_decision_reviews_person", "person_id", "created_at"),
    index("ix_decision_reviews_account", "user_id", "created_at"),
    index("ix_decision_reviews_withdraws", "withdraws", unique=True, where="withdraws IS NOT NULL"),
    index("ix_decision_reviews_job", "job_id", "decision_id", unique=True, where="job_id IS NOT NULL"),
)

review_states: Final = table(
    "review_states",
    "the state of each reviewed decision, updated in the transaction that appends a review",
    key("decision_id", sa.Uuid),
    required("decision_at", Timestamp),
    required("user_id", sa.Text),
    *choice("state", "agree overturn unsure disputed open"),
    required("reviews", sa.Integer, comment="standing reviews"),
    required("last_review", sa.Uuid, comment="the newest review; detects a stale submission"),
    required("updated_at", Timestamp, server_default=NOW),
    index("ix_review_states_state", "state", "decision_at", "decision_id"),
    index("ix_review_states_decision_at", "decision_at", "decision_id"),
)

queues: Final = table(
    "queues",
    "queues of decisions for reviewers",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("name", sa.Text, comment="unique among the queues of the same accounts"),
    *choice("kind", "escalations sample second hand objections"),
    required(
        "definition",
        JSONB,
        server_default=EMPTY_OBJECT,
        comment="the accounts it is for and how a sample is drawn",
    ),
    required("lease_s", sa.Integer, server_default=sa.text("300"), comment="duration of a claim"),
    required("golden_share", DOUBLE_PRECISION, server_default=ZERO, comment="0..1"),
    required("second_share", DOUBLE_PRECISION, server_default=ZERO, comment="0..1"),
    sa.Column("filled_to", Timestamp, comment="decisions before this were considered"),
    required("created_at", Timestamp, server_default=NOW),
    required("created_by", sa.Text, server_default=""),
    sa.Column("closed_at", Timestamp),
    sa.CheckConstraint("lease_s BETWEEN 10 AND 86400", name="lease_sane"),
    sa.CheckConstraint("golden_share BETWEEN 0 AND 1 AND second_share BETWEEN 0 AND 1", name="shares"),
    index(
        "ix_queues_name",
        "name",
        sa.text("coalesce(definition -> 'accounts', 'null'::jsonb)"),
        unique=True,
    ),
)

queue_items: Final = table(
    "queue_items",
    "one decision in one queue",
    key("id", sa.BigInteger, sa.Identity()),
    required("queue_id", sa.ForeignKey("queues.id")),
    required("decision_id", sa.Uuid),
    required("decision_at", Timestamp),
    required("user_id", sa.Text, comment="the account"),
    required("stratum", sa.Text, server_default="", comment="the stratum of its sample"),
    sa.Column("only_for", sa.Uuid, comment="the person a golden item is dealt to"),
    sa.Column("not_for", sa.Uuid, comment="the first reviewer of a second reading"),
    required("golden", sa.Boolean, server_default=FALSE),
    sa.Column("first_review", sa.Uuid, comment="blind second reading of this review"),
    sa.Column("assigned_to", sa.Uuid),
    sa.Column("claimed_by", sa.Uuid),
    sa.Column("claimed_until", Timestamp),
    required("skipped_by", sa.ARRAY(sa.Uuid), server_default=sa.text("'{}'::uuid[]")),
    sa.Column("done_at", Timestamp),
    sa.Column("review_id", sa.Uuid, comment="the review that answers it"),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column(
        "chance", DOUBLE_PRECISION, comment="0..1, of being drawn by its sample; null: no sample, or unknown"
    ),
    index(
        "ix_queue_items_decision",
        "queue_id",
        "decision_id",
        "only_for",
        unique=True,
        postgresql_nulls_not_distinct=True,
    ),
    index("ix_queue_items_open", "queue_id", "id", where="done_at IS NULL"),
    index("ix_queue_items_by_decision", "decision_id"),
    index("ix_queue_items_done_at", "done_at", where="review_id IS NOT NULL"),
    index("ix_queue_items_claimed_by", "claimed_by", where="done_at IS NULL"),
    index("ix_queue_items_assigned_to", "assigned_to", where="done_at IS NULL AND assigned_to IS NOT NULL"),
)

golden_items: Final = table(
    "golden_items",
    "decisions with a known answer, dealt among others",
    key("decision_id", sa.Uuid),
    required("decision_at", Timestamp),
    required("user_id", sa.Text),
    *choice("ruling", "agree overturn unsure"),
    sa.Column("corrected_decision", sa.Text),
    required("note", sa.Text, server_default="", comment="why, shown after the answer"),
    required("created_by", sa.Text),
    required("created_at", Timestamp, server_default=NOW),
)

retractions: Final = table(
    "retractions",
    "replies that a reviewer took back: the channel is asked to remove them",
    key("id", sa.BigInteger, sa.Identity()),
    required("decision_id", sa.Uuid),
    required("review_id", sa.Uuid, unique=True),
    *required_texts("user_id", "event_id", "conversation_id", "message_id", "scope"),
    required("created_at", Timestamp, server_default=NOW),
    required("not_before", Timestamp, comment="end of the undo window"),
    sa.Column("cancelled_at", Timestamp, comment="undone in time"),
    sa.Column("delivered_at", Timestamp, comment="when it was put on the retraction stream"),
    index("ix_retractions_decision_id", "decision_id"),
    index("ix_retractions_waiting", "not_before", where="delivered_at IS NULL AND cancelled_at IS NULL"),
)

saved_views: Final = table(
    "saved_views",
    "filters that a person saved",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("person_id", sa.ForeignKey("people.id")),
    required("name", sa.Text),
    required("query", sa.Text, comment="the filters as a URL's query"),
    required("shared", sa.Boolean, server_default=FALSE),
    required("created_at", Timestamp, server_default=NOW),
    sa.UniqueConstraint("person_id", "name"),
)

jobs: Final = table(
    "jobs",
    "background jobs that people requested",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("person_id", sa.ForeignKey("people.id")),
    *choice("kind", "export bulk_review bulk_undo"),
    required("params", JSONB, comment="filters, format or ruling"),
    *choice("state", "queued running done failed cancelled", server_default="queued"),
    required("done", sa.BigInteger, server_default=ZERO),
    sa.Column("total", sa.BigInteger, comment="counted when the job was requested"),
    sa.Column("position", sa.Text, comment="cursor from which the job continues after a crash"),
    sa.Column("error", sa.Text),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("alive_at", Timestamp, comment="heartbeat of the server that runs it"),
    sa.Column("cancel_at", Timestamp, comment="when its owner cancelled it"),
    sa.Column("finished_at", Timestamp),
    index("ix_jobs_person_id", "person_id", "created_at"),
    index("ix_jobs_waiting", "created_at", where="state = ANY (ARRAY['queued'::text, 'running'::text])"),
)

job_parts: Final = table(
    "job_parts",
    "what an export wrote; swept after a week",
    key("job_id", sa.ForeignKey("jobs.id", ondelete="CASCADE")),
    key("number", sa.Integer, comment="from 1"),
    required("data", sa.LargeBinary, comment="deflate blocks; the parts in order are one stream"),
)

access_log: Final = table(
    "access_log",
    "who read, searched, exported, revealed and changed what: append-only",
    key("id", sa.BigInteger, sa.Identity()),
    required("at", Timestamp, server_default=NOW),
    sa.Column("person_id", sa.Uuid, comment="null: not signed in"),
    required("person", sa.Text, server_default=""),
    required("action", sa.Text, comment="what was done, as a stable code"),
    sa.Column("user_id", sa.Text, comment="the account, where one was named"),
    sa.Column("decision_id", sa.Uuid),
    required("detail", JSONB, server_default=EMPTY_OBJECT),
    required("address", sa.Text, server_default=""),
    index("ix_access_log_at", "at", "id"),
    index("ix_access_log_person", "person_id", "at"),
    index("ix_access_log_account", "user_id", "at"),
    index("ix_access_log_decision", "decision_id", "at"),
)
