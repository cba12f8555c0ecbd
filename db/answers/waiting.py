"""What waits for a person's answer, and what happened in a conversation since a decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.answers.state import AnswerState
from db.answers.tables import held_drafts
from db.audit.decisions_by_id import found_decisions
from db.connection import Connection
from db.rows import Row, all_rows, first_value, from_row, rows_as
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions

LISTED_FOR: Final = timedelta(days=30)
"""An escalation that was closed without a standing answer is listed for so long."""
PAGE: Final = """
        AND (%(accounts)s::text[] IS NULL OR w.user_id = ANY(%(accounts)s))
        AND (%(after)s::timestamptz IS NULL OR ({since}, w.decision_id) > (%(after)s, %(after_id)s))
        AND NOT EXISTS (SELECT FROM answered_decisions a WHERE a.decision_id = w.decision_id)
    ORDER BY {since}, w.decision_id LIMIT %(limit)s
"""
"""The rest of each statement: its first unanswered rows in the order of its index, not all of them."""
ESCALATED: Final = """
    SELECT decision_id, user_id, conversation_id, reason_code, queue, opened_at AS since,
        NULL::timestamptz AS send_before
    FROM {source} w
"""
OPEN: Final = f"""{ESCALATED.format(source="escalations")}
    WHERE closed_at IS NULL {PAGE.format(since="opened_at")}"""
CLOSED: Final = """(
        SELECT * FROM escalations WHERE cause IN ('idle', 'reviewed') AND opened_at > %(listed_from)s
        UNION ALL
        SELECT DISTINCT opened.* FROM answers a, LATERAL (
            SELECT * FROM escalations e WHERE e.user_id = a.user_id AND e.conversation_id = a.conversation_id
                AND e.opened_at > %(listed_from)s AND e.opened_at <= a.created_at OFFSET 0) AS opened
        WHERE opened.cause = 'answered' AND a.id IN (
            SELECT decision_id FROM outbox WHERE origin = 'person' AND cancelled_at IS NOT NULL
            UNION ALL
            SELECT decision_id FROM retractions WHERE cancelled_at IS NULL)
    )"""
"""Escalations that may have no answer; of those that were answered, only where an answer does not stand.

``OFFSET 0`` and ``LIMIT 1`` keep the planner from reading every escalation, and every review.
"""
LEFT_UNANSWERED: Final = f"""{ESCALATED.format(source=CLOSED)}
    WHERE (cause <> 'reviewed' OR (
            SELECT true FROM decision_reviews r
            WHERE r.decision_id = w.decision_id AND r.ruling = 'overturn' AND r.corrected_decision = 'respond'
                AND NOT EXISTS (SELECT FROM decision_reviews later WHERE later.withdraws = r.id) LIMIT 1))
        AND NOT EXISTS (
            SELECT FROM answered_decisions a
            WHERE a.user_id = w.user_id AND a.conversation_id = w.conversation_id
                AND a.answered_at >= w.opened_at AND a.state <> '{AnswerState.DISMISSED}')
        AND NOT EXISTS (
            SELECT FROM ai_decisions d
            WHERE d.user_id = w.user_id AND d.conversation_id = w.conversation_id
                AND d.created_at >= w.opened_at
                AND (d.reason_code = 'AGENT_MESSAGE'
                    OR d.reason_code = 'MESSAGE_DELETED' AND d.message_id = w.message_id))
        {PAGE.format(since="opened_at")}
"""
"""Closed escalations without an answer that stands: idle, its answer was cancelled or taken back, or a
reviewer said that the AI should have answered.

A person's later text in the conversation answers them as well.
"""
HELD: Final = f"""
    SELECT decision_id, user_id, conversation_id, reason_code, '' AS queue, created_at AS since, send_before
    FROM held_drafts w
    WHERE reason_code IN ('HELD_FOR_APPROVAL', 'HELD_FOR_BUDGET', 'HELD_UNREAD') AND kind = 'reply'
        AND expires_at > %(now)s AND send_before > %(now)s {PAGE.format(since="created_at")}
"""
WAITING: Final = f"""
    ({OPEN}) UNION ALL ({LEFT_UNANSWERED}) UNION ALL ({HELD}) ORDER BY since, decision_id LIMIT %(limit)s
"""
NUMBER: Final = f"SELECT count(*) FROM ({WAITING}) AS waiting"
FIRST: Final = f"""
    SELECT *, count(*) OVER () AS number FROM ({WAITING}) AS waiting
    ORDER BY since, decision_id LIMIT %(first)s
"""
NEXT: Final = f"""
    WITH waiting AS MATERIALIZED ({WAITING})
    SELECT counted.number, following.* FROM (SELECT count(*) AS number FROM waiting) AS counted
        LEFT JOIN (SELECT * FROM waiting WHERE decision_id <> ALL(%(hidden)s)
            ORDER BY (since, decision_id) > (%(at)s, %(id)s) DESC, since, decision_id LIMIT 1) AS following
        ON true
"""
SINCE: Final = """
    SELECT bool_or(reason_code = 'MESSAGE_DELETED' AND message_id = %(message_id)s) AS deleted,
           bool_or(reason_code = 'MESSAGE_EDITED' AND message_id = %(message_id)s) AS edited,
           bool_or(reason_code = 'AGENT_MESSAGE')
               OR EXISTS (SELECT FROM answers a
                          WHERE a.user_id = %(user_id)s AND a.conversation_id = %(conversation_id)s
                              AND a.created_at > %(at)s AND a.decision_id <> %(id)s AND a.text IS NOT NULL)
               AS people_answered,
           bool_or(decision = 'respond') AS ai_answered,
           bool_or(reason_code NOT IN ('MESSAGE_DELETED', 'MESSAGE_EDITED', 'AGENT_MESSAGE', 'FEEDBACK',
               'FEEDBACK_UNMATCHED')) AS newer_message
    FROM ai_decisions
    WHERE user_id = %(user_id)s AND conversation_id = %(conversation_id)s
        AND (created_at, id) > (%(at)s, %(id)s)
"""


class Since(StrEnum):
    """What happened in the conversation since a decision; the first that applies counts."""

    DELETED = "deleted"
    PEOPLE_ANSWERED = "people_answered"
    AI_ANSWERED = "ai_answered"
    EDITED = "edited"
    NEWER_MESSAGE = "newer_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingItem:
    """A decision that waits for a person's answer, since ``since``.

    ``queue`` is that of the account's escalation policy, or empty. A reply that waits for approval is listed
    until ``send_before``.
    """

    decision_id: UUID
    user_id: str
    conversation_id: str
    reason_code: str
    queue: str
    since: datetime
    send_before: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingText:
    """The message of what waits, and what the AI would answer.

    Attributes:
        row: the columns that ``review.content_covers`` reads.
        draft: the first text of the AI that was not sent; None without one.
    """

    row: Row
    draft: str | None


async def load_texts(
    connection: Connection, items: Sequence[WaitingItem], now: datetime
) -> Mapping[UUID, WaitingText]:
    """The texts of these items, by decision, without erased ones; the caller logs the reading."""
    if not items:
        return {}
    draft = (
        sa.select(held_drafts.c.text)
        .where(held_drafts.c.decision_id == ai_decisions.c.id, held_drafts.c.expires_at > now)
        .order_by(held_drafts.c.id)
        .limit(1)
    )
    found, same = found_decisions([each.decision_id for each in items])
    names = ("id", "author_id", "scope", "matched_rule", "message_text", "reason_code")
    query = (
        sa.select(
            *(ai_decisions.c[name] for name in names),
            HIGH_SCORE_CATEGORIES,
            draft.scalar_subquery().label("draft"),
        )
        .join_from(found, ai_decisions, same)
        .where(sa.text(NOT_ERASED))
    )
    rows = await all_rows(connection, query)
    return {row["id"]: WaitingText(row=row, draft=row.pop("draft")) for row in rows}


async def count_waiting(
    connection: Connection, accounts: tuple[str, ...] | None, *, now: datetime, most: int
) -> int:
    """How much waits on these accounts, or on all, counted up to ``most``."""
    values = _values(accounts, now=now, limit=most, after=None)
    return int(await first_value(connection, NUMBER, values))


async def first_waiting(
    connection: Connection, accounts: tuple[str, ...] | None, *, now: datetime, first: int, most: int
) -> tuple[tuple[WaitingItem, ...], int]:
    """The first rows of ``list_waiting``, and how much waits, counted up to ``most``."""
    values = _values(accounts, now=now, limit=most, after=None) | {"first": first}
    rows = await all_rows(connection, FIRST, values)
    return tuple(from_row(WaitingItem, each) for each in rows), rows[0]["number"] if rows else 0


async def next_waiting(
    connection: Connection,
    accounts: tuple[str, ...] | None,
    current: tuple[datetime, UUID],
    *,
    hidden: Collection[UUID],
    now: datetime,
    most: int,
) -> tuple[WaitingItem | None, int]:
    """What has waited longest of what came after time and id, else of all; and how much waits.

    Both of the ``most`` that have waited longest; None: nothing but the hidden decisions waits.
    """
    at, decision_id = current
    values = _values(accounts, now=now, limit=most, after=None)
    (row,) = await all_rows(connection, NEXT, values | {"hidden": list(hidden), "at": at, "id": decision_id})
    return None if row["decision_id"] is None else from_row(WaitingItem, row), row["number"]


async def list_waiting(
    connection: Connection,
    accounts: tuple[str, ...] | None,
    *,
    now: datetime,
    limit: int,
    after: tuple[datetime, UUID] | None = None,
) -> tuple[WaitingItem, ...]:
    """What waits on these accounts, or on all, the oldest first; ``after`` is the last one of a page."""
    values = _values(accounts, now=now, limit=limit, after=after)
    return await rows_as(connection, WaitingItem, WAITING, values)


def _values(
    accounts: tuple[str, ...] | None, *, now: datetime, limit: int, after: tuple[datetime, UUID] | None
) -> dict[str, Any]:
    return {
        "accounts": None if accounts is None else list(accounts),
        "now": now,
        "listed_from": now - LISTED_FOR,
        "limit": limit,
        "after": after[0] if after else None,
        "after_id": after[1] if after else None,
    }
