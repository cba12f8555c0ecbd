"""The table of appeals."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import Timestamp, index, key, required, required_texts, table

appeals: Final = table(
    "appeals",
    "appeals against decisions, one for each decision",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("decision_id", sa.Uuid, unique=True),
    required("decision_at", Timestamp, comment="created_at of the decision"),
    *required_texts("user_id", "event_id", "conversation_id", "message_id", "author_id", "scope"),
    required("source", sa.Text, comment="api, link or page"),
    required("text", sa.Text, comment="why the author wants another decision"),
    required("entered_by", sa.Text, comment="login of the person or token's owner; empty: by link"),
    required("created_at", Timestamp),
    required("due_at", Timestamp, comment="until when people should decide it"),
    sa.Column("outcome", sa.Text, comment="upheld or restored; null: open"),
    sa.Column("statement", sa.Text, comment="the reasons, for the author"),
    sa.Column("decided_by", sa.Text, comment="login at that time"),
    sa.Column("decided_at", Timestamp),
    sa.Column("review_id", sa.Uuid, comment="the review that the outcome stored; null: the decision is gone"),
    sa.Column("effect", sa.Text, comment="of the review: none, restored or removed"),
    sa.Column("settled_at", Timestamp, comment="the undo window is over, and the outcome was reported"),
    sa.CheckConstraint("source IN ('api', 'link', 'page')", name="source_known"),
    sa.CheckConstraint("outcome IN ('upheld', 'restored')", name="outcome_known"),
    sa.CheckConstraint(
        "num_nulls(outcome, statement, decided_by, decided_at, effect) IN (0, 5)", name="decided_completely"
    ),
    sa.CheckConstraint("settled_at IS NULL OR outcome IS NOT NULL", name="settled_with_outcome"),
    index("ix_appeals_open", "due_at", "id", where="outcome IS NULL"),
    index("ix_appeals_to_settle", "decided_at", where="outcome IS NOT NULL AND settled_at IS NULL"),
    index("ix_appeals_created_at", "created_at", "id"),
    index("ix_appeals_review_id", "review_id", unique=True, where="review_id IS NOT NULL"),
)
