"""The columns that exports and `decisions list` add to the audit: reviews, replies, answers, settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

import sqlalchemy as sa

from db.answers import state
from db.audit.search import SearchRow
from db.connection import Connection
from db.customer_feedback.reading import VERDICT
from db.rows import all_rows

ADDED: Final = sa.text(f"""
    SELECT listed.id, (d.snapshot_json ->> 'rules_version')::integer AS settings_version,
        coalesce(reviewed.state, 'open') AS review, coalesce(newest.reason_code, '') AS review_reason,
        newest.person AS reviewed_by, newest.created_at AS reviewed_at, newest.note AS review_note,
        coalesce(reply.text, checked.verdict ->> 'text') AS reply_text, answer.state AS answered,
        answer.person AS answered_by, answer.answered_at, answer.text AS answer_text, {VERDICT} AS feedback
    FROM (SELECT id, id = ANY(:hidden) AS hidden FROM unnest(CAST(:ids AS uuid[])) AS id) AS listed
    JOIN ai_decisions d ON d.id = listed.id AND d.created_at BETWEEN :since AND :until
    LEFT JOIN review_states reviewed ON reviewed.decision_id = listed.id AND NOT listed.hidden
    LEFT JOIN LATERAL (
        SELECT r.reason_code, r.person, r.created_at, r.note FROM decision_reviews r
        WHERE r.decision_id = reviewed.decision_id AND r.ruling <> 'withdrawn' AND r.source <> 'golden'
            AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
        ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS newest ON true
    LEFT JOIN outbox reply ON reply.user_id = d.user_id AND reply.event_id = d.event_id
        AND d.decision = 'respond'
    LEFT JOIN checks checked ON checked.decision_id = listed.id
    LEFT JOIN answered_decisions answer ON answer.decision_id = listed.id AND NOT listed.hidden
""")
"""``review_*`` are of the newest review that is not withdrawn."""
NAMES: Final = (
    "settings_version",
    "reply_text",
    *state.FIELDS,
    "feedback",
    "review",
    "review_reason",
    "reviewed_by",
    "reviewed_at",
    "review_note",
)
"""The columns that ``with_people`` adds to those of the audit."""


async def with_people(
    connection: Connection, rows: Sequence[SearchRow], *, hidden: Collection[object] = ()
) -> tuple[SearchRow, ...]:
    """The rows of a page with ``NAMES``, in one query.

    Decisions in ``hidden`` count as neither reviewed nor answered, see
    ``db.reviews.queue_items.hidden_decisions``.
    """
    if not rows:
        return ()
    times = [row["created_at"] for row in rows]
    values: dict[str, Any] = {"ids": [row["id"] for row in rows], "hidden": list(hidden)}
    values |= {"since": min(times), "until": max(times)}
    added = {each.pop("id"): each for each in await all_rows(connection, ADDED, values)}
    gone: SearchRow = dict.fromkeys(NAMES)
    return tuple(row | added.get(row["id"], gone) for row in rows)
