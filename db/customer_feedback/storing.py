"""Feedback in the commit of its event, and in that of a message that comes after the feedback."""

from __future__ import annotations

from typing import Any, Final

from db.pool import Pool, fetch_rows
from worker.model import Decision, Event, Feedback

NO_FEEDBACK: Final = Feedback()
RATED: Final = """
    SELECT event_id FROM (
        SELECT event_id, created_at FROM event_keys
        WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s AND type = 'message'
            AND decision_id IS NOT NULL AND CASE WHEN %(about)s::text IS NULL THEN message_id = %(message_id)s
                ELSE event_id = %(about)s OR decision_id::text = lower(%(about)s) END
        UNION ALL SELECT event_id, created_at FROM checks
        WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s
            AND (event_id = %(about)s OR decision_id::text = lower(%(about)s))) AS known
    ORDER BY created_at, event_id LIMIT 1
"""
STORE_FEEDBACK: Final = """, rated AS (
    INSERT INTO customer_feedback (
        id, decision_id, decision_at, user_id, conversation_id, message_id, author_id, about,
        thumb, rating, resolved, wrong, rated_at, created_at, joined_at)
    SELECT %(id)s, k.decision_id, k.created_at, key.user_id, %(conversation_id)s,
        coalesce(k.message_id, %(message_id)s),
        %(author_id)s, %(about)s, %(thumb)s, %(rating)s, %(resolved)s, %(wrong)s, %(written_at)s,
        %(created_at)s, CASE WHEN k.decision_id IS NOT NULL THEN %(created_at)s::timestamptz END
    FROM key LEFT JOIN LATERAL (
        SELECT decision_id, created_at, message_id FROM event_keys
        WHERE user_id = key.user_id AND event_id = %(rated)s
        UNION ALL SELECT decision_id, created_at, NULL FROM checks
        WHERE user_id = key.user_id AND event_id = %(rated)s LIMIT 1) AS k ON true
)"""
JOIN_FEEDBACK: Final = """, rated_first AS (
    UPDATE customer_feedback f SET decision_id = %(id)s, decision_at = %(created_at)s,
        joined_at = %(created_at)s
    FROM key
    WHERE f.user_id = key.user_id AND f.conversation_id = %(conversation_id)s
        AND f.decision_id IS NULL
        AND CASE WHEN f.about IS NULL THEN f.message_id = %(message_id)s ELSE f.about = %(event_id)s END
)"""


async def rated_event(source: Pool, event: Event) -> str | None:
    """The decided event of the account and conversation whose reply the feedback rates, or None.

    Raises:
        StorageUnavailable: it could not be read.
    """
    values = {name: getattr(event, name) for name in ("user_id", "conversation_id", "message_id")}
    about = event.feedback.about if event.feedback else None
    rows = await fetch_rows(source, RATED, values | {"about": about})
    return next((row[0] for row in rows), None)


def feedback_values(decision: Decision) -> dict[str, Any]:
    """The parameters of the two parts of a commit."""
    given = decision.event.feedback or NO_FEEDBACK
    names = ("about", "thumb", "rating", "resolved", "wrong")
    return {name: getattr(given, name) for name in names} | {"rated": decision.rated}
