"""The newest replies of an account, and what their decisions measured."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit.search import TooSlow, statement_limit
from db.rows import Row, all_rows
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions, outbox
from worker.model import DecisionKind
from worker.reasons import Reason

REPLY_REASONS: Final = tuple(each for each in Reason if each.spec.decision is DecisionKind.RESPOND)
"""The endings with a reply; the index of account and reason finds them."""
MODERATION_SCORES: Final = '$.stages[*] ? (@.stage == "moderation").detail.highest'
PATIENCE_S: Final = 0.3


async def newest_replies(
    connection: AsyncConnection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...]:
    """Messages with the replies that were sent to them, newest first."""
    columns = (
        *(ai_decisions.c[name] for name in ("id", "created_at", "scope", "message_text", "matched_rule")),
        HIGH_SCORE_CATEGORIES,
        outbox.c.text.label("reply_text"),
    )
    same = sa.and_(
        outbox.c.user_id == ai_decisions.c.user_id,
        outbox.c.event_id == ai_decisions.c.event_id,
        outbox.c.decision_id == ai_decisions.c.id,
    )
    query = (
        sa.select(*columns)
        .select_from(ai_decisions.join(outbox, same))
        .where(*_sent(user_id, since), outbox.c.cancelled_at.is_(None))
    )
    return await _limited(connection, query, limit)


async def measured_replies(
    connection: AsyncConnection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...] | None:
    """Confidence, whether it was measured, and moderation scores by category of the newest replies.

    None when they could not be read in time.
    """
    kept = ai_decisions.c.snapshot_json
    query = sa.select(
        ai_decisions.c.confidence,
        sa.func.coalesce(kept["assessment"]["measured"].as_boolean(), kept.has_key("assessment")).label(
            "measured"
        ),
        sa.func.jsonb_path_query_first(kept, sa.text(f"'{MODERATION_SCORES}'::jsonpath")).label("scores"),
    ).where(*_sent(user_id, since))
    try:
        return await _limited(connection, query, limit)
    except TooSlow:
        return None


def _sent(user_id: str, since: datetime) -> tuple[Any, ...]:
    return (
        ai_decisions.c.user_id == user_id,
        ai_decisions.c.reason_code.in_([str(each) for each in REPLY_REASONS]),
        ai_decisions.c.created_at >= since,
        sa.text(NOT_ERASED),
    )


async def _limited(connection: AsyncConnection, query: sa.Select[Any], limit: int) -> tuple[Row, ...]:
    newest = query.order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc()).limit(limit)
    async with statement_limit(connection, PATIENCE_S):
        return await all_rows(connection, newest)
