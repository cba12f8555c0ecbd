"""The table of customers' marks; the text is the ``message_text`` of the feedback's own decision."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from db.columns import Timestamp, choice, index, key, required, required_texts, table

IS_MARK: Final = "num_nonnulls(thumb, rating, resolved) > 0"
"""Whether a feedback has a mark; a text alone replaces no marks of its author."""

customer_feedback: Final = table(
    "customer_feedback",
    "marks of customers for replies: every one stays, the newest of an author counts",
    key("id", sa.Uuid, comment="the decision of the feedback's own event, which has the text"),
    sa.Column("decision_id", sa.Uuid, comment="the rated decision; null: not decided yet, or unknown"),
    sa.Column("decision_at", Timestamp, comment="created_at of the rated decision"),
    *required_texts("user_id", "conversation_id", "message_id", "author_id"),
    sa.Column("about", sa.Text, comment="event or decision that the author named instead of the message"),
    *choice("thumb", "up down", nullable=True),
    sa.Column("rating", sa.Integer, comment="1 (worst) to 5"),
    sa.Column("resolved", sa.Boolean, comment="whether the problem was solved"),
    sa.Column("wrong", sa.Boolean, comment="a mark calls the reply wrong, or else right; null: neither"),
    required("rated_at", Timestamp, comment="the event's own time: newer marks count, in any order"),
    required("created_at", Timestamp),
    sa.Column("joined_at", Timestamp, comment="when the decision was known"),
    sa.CheckConstraint("rating BETWEEN 1 AND 5", name="rating_bounded"),
    index("ix_customer_feedback_decision", "decision_id", "author_id", where="decision_id IS NOT NULL"),
    index(
        "ix_customer_feedback_newest",
        *("decision_id", "author_id", "rated_at", "id"),
        where=IS_MARK,
    ),
    index("ix_customer_feedback_time", "decision_at", "decision_id", where="decision_id IS NOT NULL"),
    index("ix_customer_feedback_joined", "joined_at", where="wrong"),
    index("ix_customer_feedback_account", "user_id", "created_at"),
    index(
        "ix_customer_feedback_unmatched",
        *("user_id", "conversation_id", "message_id"),
        where="decision_id IS NULL",
    ),
)
