"""Confidence by conversation: what Confidence Guardrail asks to be tracked, and its ``confidenceLog``."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, aggregate_order_by, array

from db.audit.filters import ASSESSED, COUNTED, Filters
from db.audit.search import matching_query
from db.connection import Connection
from db.rows import all_rows
from db.tables import ai_decisions
from worker.model import Tier

MOST_CONVERSATIONS: Final = 500
NEWEST: Final = 200
"""Decisions of a conversation that its figures on a decision's page count at most."""
READ_FOR_EACH: Final = 16
"""Newest decisions that are read for each conversation that is asked for."""
_KEPT: Final = ai_decisions.c.snapshot_json
_CONVERSATION: Final = (ai_decisions.c.user_id, ai_decisions.c.conversation_id)
_LATEST: Final = sa.func.max(ai_decisions.c.created_at).label("latest_at")


async def conversation_confidence(
    connection: Connection, filters: Filters, *, limit: int
) -> tuple[dict[str, Any], ...]:
    """One row a conversation with an assessed reply, the latest first.

    Rows have ``user_id``, ``conversation_id``, ``latest_at``, ``replies`` (assessed ones), the mean
    ``confidence`` 0..1, ``high``, ``medium`` and ``low`` (replies by tier), ``rechecked``, ``improved`` and
    ``escalated``. With ``filters.conversation_id`` also ``confidence_log``: Guardrail's entries in order of
    time.
    """
    query = _figures(filters).order_by(_LATEST.desc(), *_CONVERSATION).limit(limit)
    if filters.conversation_id is not None:
        return await all_rows(connection, query.add_columns(_log()))
    latest = await _latest(connection, filters, limit)
    if latest is None:
        return await all_rows(connection, query)
    if not latest:
        return ()
    names = (sa.func.unnest(array(each, type_=sa.Text)) for each in zip(*latest, strict=True))
    return await all_rows(connection, query.where(sa.tuple_(*_CONVERSATION).in_(sa.select(*names))))


async def of_newest_replies(
    connection: Connection, user_id: str, conversation_id: str
) -> dict[str, Any] | None:
    """The row of one conversation, of its newest decisions only; None without an assessed draft.

    A draft without an answer, which pages call not assessed, is left out.
    """
    kept = ai_decisions.alias()
    newest = (
        sa.select(kept.c.created_at, kept.c.id)
        .where(kept.c.user_id == user_id, kept.c.conversation_id == conversation_id)
        .order_by(kept.c.created_at.desc())
        .limit(NEWEST)
    )
    key = sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id)
    filters = Filters(user_id=user_id, conversation_id=conversation_id)
    rows = await all_rows(connection, _figures(filters, ASSESSED).where(key.in_(newest)))
    return rows[0] if rows else None


async def _latest(connection: Connection, filters: Filters, limit: int) -> list[tuple[str, str]] | None:
    """The conversations of the newest matching decisions, latest first; None: the newest are of too few.

    Grouping every decision of the range took 0.2 s of Postgres' CPU in a log of 300,000.
    """
    matching = (
        matching_query(filters)
        .with_only_columns(*_CONVERSATION)
        .where(COUNTED)
        .order_by(ai_decisions.c.created_at.desc(), *_CONVERSATION)
    )
    read = READ_FOR_EACH * limit
    rows = [(row[0], row[1]) for row in await connection.execute(matching.limit(read))]
    found = list(dict.fromkeys(rows))
    return found[:limit] if len(found) >= limit or len(rows) < read else None


def _figures(filters: Filters, counted: sa.ColumnElement[bool] = COUNTED) -> sa.Select[Any]:
    kept, found, rechecked = ai_decisions.c, _KEPT["assessment"], _KEPT["rechecked"]
    return (
        matching_query(filters)
        .with_only_columns(
            *_CONVERSATION,
            _LATEST,
            sa.func.count().label("replies"),
            sa.func.avg(kept.confidence).label("confidence"),
            *(_count(found["tier"].astext == tier.value).label(tier.value) for tier in Tier),
            _count(sa.func.jsonb_typeof(rechecked) == "array").label("rechecked"),
            _count(rechecked[1].astext.cast(sa.Float) > rechecked[0].astext.cast(sa.Float)).label("improved"),
            _count(kept.decision == "escalate").label("escalated"),
        )
        .where(counted)
        .group_by(*_CONVERSATION)
    )


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.count().filter(condition)


def _log() -> sa.Label[Any]:
    """The entries of all decisions in one array."""
    entries = sa.func.jsonb_agg(
        aggregate_order_by(_KEPT["confidenceLog"], ai_decisions.c.created_at), type_=JSONB
    )
    return sa.func.jsonb_path_query_array(entries, sa.text("'$[*][*]'"), type_=JSONB).label("confidence_log")
