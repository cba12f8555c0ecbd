"""The newest replies of an account, and what their decisions measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from db.answers.state import answered_decisions
from db.answers.tables import answers
from db.audit.search import TooSlow, statement_limit
from db.columns import Timestamp
from db.connection import Connection
from db.rows import Row, all_rows
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions, outbox
from worker.model import DecisionKind
from worker.reasons import Reason

REPLY_REASONS: Final = tuple(each for each in Reason if each.spec.decision is DecisionKind.RESPOND)
"""The endings with a reply; the index of account and reason finds them."""
MODERATION_SCORES: Final = '$[*] ? (@.stage == "moderation").detail.highest'
PATIENCE_S: Final = 0.3
CANDIDATES: Final = 4
"""Decisions and answers looked at for each reply shown: some were cancelled or answered again."""

_Given: TypeAlias = "str | datetime | sa.BindParameter[Any]"
_PARTS: Final = (
    sa.func.jsonb_to_record(ai_decisions.c.snapshot_json)
    .table_valued(
        sa.column("assessment", JSONB), sa.column("stages", JSONB), sa.column("erased", JSONB), name="parts"
    )
    .render_derived(with_types=True)
)
"""Of a snapshot, which is decompressed once for all of them."""
_KEYS: Final = (ai_decisions.c.created_at, ai_decisions.c.id, ai_decisions.c.event_id)


async def newest_replies(
    connection: Connection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...]:
    """Messages with the texts that were sent to them by the AI or a person, newest first.

    ``answered_by``: the person; None for the AI.
    """
    async with statement_limit(connection, PATIENCE_S):
        return await all_rows(connection, _newest_replies(limit), {"user_id": user_id, "since": since})


@cache
def _newest_replies(limit: int) -> sa.Select[Any]:
    """Built once: to compose it took as long as to run it."""
    user_id, since = sa.bindparam("user_id", type_=sa.Text), sa.bindparam("since", type_=Timestamp)
    names = ("id", "created_at", "user_id", "event_id", "scope", "message_text", "matched_rule")
    columns = (*(ai_decisions.c[name] for name in names), HIGH_SCORE_CATEGORIES)
    newest = _newest_keys(user_id, since, CANDIDATES * limit, REPLY_REASONS, sa.text(NOT_ERASED)).subquery()
    sent = (
        sa.select(outbox.c.text.label("reply_text"))
        .where(
            outbox.c.user_id == user_id,
            outbox.c.event_id == newest.c.event_id,
            outbox.c.decision_id == newest.c.id,
            outbox.c.cancelled_at.is_(None),
        )
        .limit(1)
        .lateral()
    )
    by_ai = sa.select(newest, sent.c.reply_text, sa.cast(sa.null(), sa.Text).label("answered_by"))
    of_people = _newest_answers(user_id, since, limit).subquery()
    both = sa.union_all(by_ai.join_from(newest, sent, sa.true()), sa.select(of_people)).subquery()
    shown = sa.select(both).order_by(both.c.created_at.desc(), both.c.id.desc()).limit(limit).subquery()
    return _with_columns(shown, (*columns, shown.c.reply_text, shown.c.answered_by))


def _newest_answers(user_id: _Given, since: _Given, limit: int) -> sa.Select[Any]:
    found, given = answered_decisions.c, answers.c
    newest = (
        sa.select(given.id)
        .where(given.user_id == user_id, given.decision_at >= since, given.text.is_not(None))
        .order_by(given.decision_at.desc())
        .limit(CANDIDATES * limit)
        .subquery()
    )
    same = sa.and_(ai_decisions.c.created_at == found.decision_at, ai_decisions.c.id == found.decision_id)
    return (
        sa.select(*_KEYS, found.text.label("reply_text"), found.person.label("answered_by"))
        .join_from(newest, answered_decisions, found.answer_id == newest.c.id)
        .join(ai_decisions, same)
        .where(sa.text(NOT_ERASED))
        .order_by(found.decision_at.desc())
        .limit(limit)
    )


async def measured_replies(
    connection: Connection, user_id: str, since: datetime, limit: int
) -> tuple[Row, ...] | None:
    """Confidence, whether it was measured, and moderation scores by category of the newest replies.

    None when they could not be read in time.
    """
    columns = (
        ai_decisions.c.confidence,
        sa.func.coalesce(
            _PARTS.c.assessment["measured"].as_boolean(), _PARTS.c.assessment.is_not(None)
        ).label("measured"),
        sa.func.jsonb_path_query_first(_PARTS.c.stages, sa.text(f"'{MODERATION_SCORES}'::jsonpath")).label(
            "scores"
        ),
    )
    keys = _newest_keys(user_id, since, limit, REPLY_REASONS).subquery()
    query = _with_columns(keys, columns).where(_PARTS.c.erased.is_(None))
    try:
        async with statement_limit(connection, PATIENCE_S):
            return await all_rows(connection, query)
    except TooSlow:
        return None


def newest_of_reasons(
    columns: Sequence[Any],
    user_id: str,
    since: datetime,
    limit: int,
    reasons: Sequence[Reason] = REPLY_REASONS,
) -> sa.Select[Any]:
    """The newest decisions of some reasons, without erased ones, which count towards the limit.

    To see that a decision was erased, its snapshot is decompressed: once, with its other columns.
    """
    keys = _newest_keys(user_id, since, limit, reasons)
    return _with_columns(keys.subquery(), columns).where(sa.text(NOT_ERASED))


def _newest_keys(
    user_id: _Given,
    since: _Given,
    limit: int,
    reasons: Sequence[Reason],
    *conditions: sa.ColumnElement[bool] | sa.TextClause,
) -> sa.Select[Any]:
    """Those of each reason in the order of its index, then merged.

    One query for all reasons reads and sorts every reply of a busy account.
    """
    of_reasons = (
        sa.select(*_KEYS)
        .where(
            ai_decisions.c.user_id == user_id,
            ai_decisions.c.reason_code == str(reason),
            ai_decisions.c.created_at >= since,
            *conditions,
        )
        .order_by(ai_decisions.c.created_at.desc(), ai_decisions.c.id.desc())
        .limit(limit)
        for reason in reasons
    )
    merged = sa.union_all(*(sa.select(each.subquery()) for each in of_reasons)).subquery()
    return sa.select(merged).order_by(merged.c.created_at.desc(), merged.c.id.desc()).limit(limit)


def _with_columns(keys: sa.Subquery, columns: Sequence[Any]) -> sa.Select[Any]:
    """Columns of those decisions only that are left: parts of a snapshot take long to read."""
    same = sa.and_(ai_decisions.c.created_at == keys.c.created_at, ai_decisions.c.id == keys.c.id)
    newest_first = (keys.c.created_at.desc(), keys.c.id.desc())
    return sa.select(*columns).join_from(keys, ai_decisions, same).order_by(*newest_first)
