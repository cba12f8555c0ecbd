"""The columns that exports and `decisions list` add to the audit: review state, reason and reply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from db.audit import decision_list
from db.audit.search import SearchRow
from db.connection import Connection
from db.rows import all_rows
from db.tables import outbox
from worker.model import DecisionKind

REASONS: Final = sa.text("""
    SELECT DISTINCT ON (r.decision_id) r.decision_id, r.reason_code
    FROM decision_reviews r
    WHERE r.decision_id = ANY(:ids) AND r.ruling <> 'withdrawn' AND r.source <> 'golden'
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
    ORDER BY r.decision_id, r.created_at DESC, r.id DESC
""")
"""The reason of the newest review that is not withdrawn, by decision."""
ADDED: Final = frozenset({"review", "review_reason", "reply_text"})
"""The columns that ``with_reviews_and_replies`` adds to those of the audit."""


async def with_reviews_and_replies(
    connection: Connection, rows: Sequence[SearchRow], *, hidden: Collection[UUID] = ()
) -> tuple[SearchRow, ...]:
    """The rows of a page with ``review``, ``review_reason`` and ``reply_text``, in two or three queries.

    Decisions in ``hidden`` count as not reviewed, see ``db.reviews.queue_items.hidden_decisions``.
    """
    states = await decision_list.load_review_states(connection, rows, hidden=hidden)
    found = await all_rows(connection, REASONS, {"ids": list(states)}) if states else ()
    reasons = {each["decision_id"]: each["reason_code"] for each in found}
    replies = await _replies(connection, [row for row in rows if row["decision"] == DecisionKind.RESPOND])
    return tuple(
        row
        | {
            "review": states.get(row["id"], "open"),
            "review_reason": reasons.get(row["id"], ""),
            "reply_text": replies.get((row["user_id"], row["event_id"])),
        }
        for row in rows
    )


async def _replies(connection: Connection, rows: Sequence[SearchRow]) -> dict[tuple[str, str], str]:
    """The reply, by account and event."""
    if not rows:
        return {}
    keys = sa.func.unnest(
        sa.cast([row["user_id"] for row in rows], ARRAY(sa.Text)),
        sa.cast([row["event_id"] for row in rows], ARRAY(sa.Text)),
    )
    events = keys.table_valued("user_id", "event_id", name="events").render_derived()
    same = sa.and_(outbox.c.user_id == events.c.user_id, outbox.c.event_id == events.c.event_id)
    query = sa.select(outbox.c.user_id, outbox.c.event_id, outbox.c.text).select_from(
        events.join(outbox, same)
    )
    return {(row.user_id, row.event_id): row.text for row in await connection.execute(query)}
