"""The tables of what reviewers write for each other."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import NOW, Timestamp, index, key, required, table

SUBJECTS: Final = "kind IN ('author', 'conversation')"

subject_notes: Final = table(
    "subject_notes",
    "notes of reviewers about an author or a conversation: append-only",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("user_id", sa.Text, comment="the account"),
    required("kind", sa.Text, comment="author or conversation"),
    required("subject", sa.Text, comment="the id of the author or conversation"),
    required("text", sa.Text),
    required("person", sa.Text, comment="login at that time"),
    required("created_at", Timestamp, server_default=NOW),
    sa.CheckConstraint(SUBJECTS, name="kind_known"),
    index("ix_subject_notes_subject", "user_id", "kind", "subject", "id"),
)

subject_tags: Final = table(
    "subject_tags",
    "tags of an author or a conversation",
    key("id", sa.BigInteger, sa.Identity()),
    required("user_id", sa.Text, comment="the account"),
    required("kind", sa.Text, comment="author or conversation"),
    required("subject", sa.Text, comment="the id of the author or conversation"),
    required("tag", sa.Text),
    required("added_by", sa.Text, comment="login at that time"),
    required("added_at", Timestamp, server_default=NOW),
    sa.CheckConstraint(SUBJECTS, name="kind_known"),
    sa.UniqueConstraint("user_id", "kind", "subject", "tag"),
)

decision_comments: Final = table(
    "decision_comments",
    "comments of people on a decision: append-only; a withdrawn one has no text",
    key("id", sa.Uuid, comment="UUIDv7"),
    required("decision_id", sa.Uuid),
    required("decision_at", Timestamp, comment="created_at of the decision"),
    required("user_id", sa.Text, comment="the account"),
    required("person_id", sa.ForeignKey("people.id")),
    required("person", sa.Text, comment="login at that time"),
    required("text", sa.Text),
    required("created_at", Timestamp, server_default=NOW),
    sa.Column("withdrawn_at", Timestamp, comment="by its author"),
    index("ix_decision_comments_decision", "decision_id", "id"),
)

comment_mentions: Final = table(
    "comment_mentions",
    "people that a comment mentions",
    key("comment_id", sa.ForeignKey("decision_comments.id", ondelete="CASCADE")),
    key("person_id", sa.ForeignKey("people.id")),
    required("user_id", sa.Text, comment="the account of the decision"),
    sa.Column("seen_at", Timestamp, comment="when the person opened the decision; null: unread"),
    index("ix_comment_mentions_person", "person_id", "comment_id"),
    index("ix_comment_mentions_unread", "person_id", "user_id", where="seen_at IS NULL"),
)

decision_assignments: Final = table(
    "decision_assignments",
    "who should review a decision: one row per decision that was assigned",
    key("decision_id", sa.Uuid),
    required("decision_at", Timestamp, comment="created_at of the decision"),
    required("user_id", sa.Text, comment="the account"),
    sa.Column("person_id", sa.ForeignKey("people.id"), comment="null: no one any more"),
    sa.Column("before", sa.ForeignKey("people.id"), comment="who had it before the last change"),
    required("change", sa.Uuid, comment="the last change; detects a stale undo"),
    required("assigned_by", sa.Text, comment="login"),
    required("assigned_at", Timestamp, server_default=NOW),
    sa.Column("done_at", Timestamp, comment="when it was reviewed"),
    sa.Column("review_id", sa.Uuid, comment="the review that ended it"),
    index("ix_decision_assignments_open", "person_id", "assigned_at", where="done_at IS NULL"),
    index("ix_decision_assignments_review", "review_id", where="review_id IS NOT NULL"),
)
