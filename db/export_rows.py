"""What the file of an export holds beside the audit itself: where reviews stand, and the reply."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from db import audit
from db.audit import Row
from db.tables import outbox
from worker.model import Verdict

REASONS: Final = sa.text("""
    SELECT DISTINCT ON (r.decision_id) r.decision_id, r.reason_code
    FROM decision_reviews r
    WHERE r.decision_id = ANY(:ids) AND r.verdict <> 'withdrawn' AND r.source <> 'golden'
        AND NOT EXISTS (SELECT FROM decision_reviews w WHERE w.withdraws = r.id)
    ORDER BY r.decision_id, r.created_at DESC, r.id DESC
""")


async def completed(
    connection: AsyncConnection, rows: Sequence[Row], *, hidden: Collection[UUID] = ()
) -> tuple[Row, ...]:
    """The rows of a page with ``review``, ``review_reason`` and ``reply_text``, in two or three queries.

    ``hidden`` is what the asker must not know yet, see ``db.items.hidden``: as if nobody had reviewed it.
    """
    states = await audit.standings(connection, rows, hidden=hidden)
    reasons = await _reasons(connection, list(states)) if states else {}
    replies = await _replies(connection, [row for row in rows if row["decision"] == Verdict.RESPOND])
    return tuple(
        row
        | {
            "review": states.get(row["id"], "open"),
            "review_reason": reasons.get(row["id"], ""),
            "reply_text": replies.get((row["user_id"], row["event_id"])),
        }
        for row in rows
    )


async def _reasons(connection: AsyncConnection, ids: list[UUID]) -> dict[UUID, str]:
    """The reason of the newest review that stands, by decision."""
    return {row.decision_id: row.reason_code for row in await connection.execute(REASONS, {"ids": ids})}


async def _replies(connection: AsyncConnection, rows: Sequence[Row]) -> dict[tuple[str, str], str]:
    """What was approved for the channel, by account and event."""
    if not rows:
        return {}
    asked = sa.func.unnest(
        sa.cast([row["user_id"] for row in rows], ARRAY(sa.Text)),
        sa.cast([row["event_id"] for row in rows], ARRAY(sa.Text)),
    )
    events = asked.table_valued("user_id", "event_id", name="events").render_derived()
    same = sa.and_(outbox.c.user_id == events.c.user_id, outbox.c.event_id == events.c.event_id)
    query = sa.select(outbox.c.user_id, outbox.c.event_id, outbox.c.text).select_from(
        events.join(outbox, same)
    )
    return {(row.user_id, row.event_id): row.text for row in await connection.execute(query)}
