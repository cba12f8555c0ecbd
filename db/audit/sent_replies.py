"""The newest replies of an account, and what their decisions measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from db.audit.search import TooSlow, statement_limit
from db.connection import Connection
from db.rows import Row, all_rows
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions, outbox
from worker.model import DecisionKind
from worker.reasons import Reason

REPLY_REASONS: Final = tuple(each for each in Reason if each.spec.decision is DecisionKind.RESPOND)
"""The endings with a reply; the index of account and reason finds them."""
MODERATION_SCORES: Final = '$.stages[*] ? (@.stage == "moderation").detail.highest'
PATIENCE_S: Final = 0.3
CANDIDATES: Final = 4
"""Decisions looked at for each reply shown: some of their replies were cancelled."""


async def newest_replies(
    connection: Connection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...]:
    """Messages with the replies that were sent to them, newest first."""
    names = ("id", "created_at", "user_id", "event_id", "scope", "message_text", "matched_rule")
    columns = (*(ai_decisions.c[name] for name in names), HIGH_SCORE_CATEGORIES)
    newest = newest_of_reasons(columns, user_id, since, CANDIDATES * limit).subquery()
    sent = (
        sa.select(outbox.c.text.label("reply_text"))
        .where(
            outbox.c.user_id == newest.c.user_id,
            outbox.c.event_id == newest.c.event_id,
            outbox.c.decision_id == newest.c.id,
            outbox.c.cancelled_at.is_(None),
        )
        .limit(1)
        .lateral()
    )
    query = (
        sa.select(newest, sent.c.reply_text)
        .join_from(newest, sent, sa.true())
        .order_by(newest.c.created_at.desc(), newest.c.id.desc())
        .limit(limit)
    )
    async with statement_limit(connection, PATIENCE_S):
        return await all_rows(connection, query)


async def measured_replies(
    connection: Connection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...] | None:
    """Confidence, whether it was measured, and moderation scores by category of the newest replies.

    None when they could not be read in time.
    """
    kept = ai_decisions.c.snapshot_json
    columns = (
        ai_decisions.c.id,
        ai_decisions.c.created_at,
        ai_decisions.c.confidence,
        sa.func.coalesce(kept["assessment"]["measured"].as_boolean(), kept.has_key("assessment")).label(
            "measured"
        ),
        sa.func.jsonb_path_query_first(kept, sa.text(f"'{MODERATION_SCORES}'::jsonpath")).label("scores"),
    )
    try:
        async with statement_limit(connection, PATIENCE_S):
            return await all_rows(connection, newest_of_reasons(columns, user_id, since, limit))
    except TooSlow:
        return None


def newest_of_reasons(
    columns: Sequence[Any],
    user_id: str,
    since: datetime,
    limit: int,
    reasons: Sequence[Reason] = REPLY_REASONS,
) -> sa.Select[Any]:
    """The newest decisions of some reasons: those of each in the order of its index, then merged.

    One query for all reasons reads and sorts every reply of a busy account.
    """
    of_reasons = (
        sa.select(*columns)
        .where(
            ai_decisions.c.user_id == user_id,
            ai_decisions.c.reason_code == str(reason),
            ai_decisions.c.created_at >= since,
            sa.text(NOT_ERASED),
        )
        .order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc())
        .limit(limit)
        for reason in reasons
    )
    merged = sa.union_all(*(sa.select(each.subquery()) for each in of_reasons)).subquery()
    return sa.select(merged).order_by(merged.c.created_at.desc(), merged.c.id.desc()).limit(limit)
