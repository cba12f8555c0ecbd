"""The newest drafts of an account that were not sent, with their messages and what people answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from db.answers.state import answered_decisions
from db.answers.tables import held_drafts
from db.connection import Connection
from db.rows import Row, all_rows
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions
from worker.reasons import Reason

LOOKED_AT: Final = 500
"""Newest decisions among which the drafts are looked for."""
SENT_WITHOUT_APPROVAL: Final = Reason.HELD_FOR_APPROVAL
"""The ending of drafts that only the account's reply mode held."""


async def newest_drafts(
    connection: Connection, user_id: str, *, now: datetime, since: timedelta, limit: int
) -> tuple[Row, ...]:
    """Decision, message, draft and ``answered`` (a state of ``db.answers.state``), the newest first.

    The caller logs the reading.
    """
    names = ("id", "created_at", "scope", "reason_code", "matched_rule", "message_text", "confidence")
    newest = (
        sa.select(*(ai_decisions.c[name] for name in names), HIGH_SCORE_CATEGORIES)
        .where(
            ai_decisions.c.user_id == user_id,
            ai_decisions.c.created_at.between(now - since, now),
            sa.text(NOT_ERASED),
        )
        .order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    held = (
        sa.select(held_drafts.c.text.label("draft"))
        .where(held_drafts.c.decision_id == newest.c.id, held_drafts.c.expires_at > now)
        .order_by(held_drafts.c.id)
        .limit(1)
        .lateral()
    )
    answered = answered_decisions.c
    same = sa.and_(answered.decision_at == newest.c.created_at, answered.decision_id == newest.c.id)
    query = (
        sa.select(newest, held.c.draft, answered.state.label("answered"))
        .select_from(newest.join(held, sa.true()).outerjoin(answered_decisions, same))
        .order_by(newest.c.created_at.desc(), newest.c.id.desc())
        .limit(limit)
    )
    return await all_rows(connection, query)
