"""The context of one decision: its exchange, conversation, reply and passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from db.audit.filters import ASSESSED
from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.rows import all_rows, first_row
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions, outbox

DecisionRow: TypeAlias = dict[str, Any]
"""So that pages can say what they hand down."""
NEAR: Final = timedelta(days=31)
"""Range of a conversation in either direction: a few partitions, never all of them."""
NEIGHBOURS: Final = 6
"""Decisions shown before, and after."""
MOST_LINES: Final = 60
MOST_PASSAGES: Final = 50

_REPLY: Final = (
    outbox.c.text.label("reply_text"),
    outbox.c.delivered_at.label("reply_delivered_at"),
    outbox.c.cancelled_at.label("reply_cancelled_at"),
    outbox.c.cancel_reason.label("reply_cancel_reason"),
    outbox.c.created_at.label("reply_created_at"),
    outbox.c.draft.label("reply_draft"),
    outbox.c.sources.label("reply_sources"),
    outbox.c.metadata["sentences"].label("reply_sentences"),
)
_KEY: Final = (ai_decisions.c.created_at, ai_decisions.c.id)
_WITH_REPLY: Final = ai_decisions.join(
    outbox,
    sa.and_(
        outbox.c.user_id == ai_decisions.c.user_id,
        outbox.c.event_id == ai_decisions.c.event_id,
        outbox.c.decision_id == ai_decisions.c.id,
    ),
    isouter=True,
)
_LINES: Final = sa.text("""
    SELECT decision_id, role, text FROM messages
    WHERE user_id = :user_id AND conversation_id = :conversation_id AND created_at BETWEEN :since AND :until
        AND decision_id = ANY(:decisions)
    ORDER BY id LIMIT :most
""")
_SEALED: Final = sa.text("""
    SELECT role, text, created_at, expires_at FROM quarantine
    WHERE decision_id = :id AND expires_at > :now ORDER BY id LIMIT :most
""")
_SEALED_COUNT: Final = sa.text("""
    SELECT count(*) AS lines, min(expires_at) AS expires_at FROM quarantine
    WHERE decision_id = :id AND expires_at > :now
""")
_RETRACTIONS: Final = sa.text("""
    SELECT created_at, not_before, cancelled_at, delivered_at FROM retractions
    WHERE decision_id = :id ORDER BY id LIMIT 20
""")
_PASSAGES: Final = sa.text("""
    SELECT c.document_id || '#' || c.number AS id, c.text, d.id AS document_id, d.title, d.source
    FROM unnest(CAST(:documents AS bigint[]), CAST(:numbers AS integer[])) AS requested (document_id, number)
    JOIN chunks c ON c.document_id = requested.document_id AND c.number = requested.number
    JOIN documents d ON d.id = c.document_id
    WHERE c.user_id = :user_id AND d.user_id = :user_id
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLine:
    """One line of an exchange, in the stored history or in quarantine.

    Attributes:
        expires_at: when a sealed line is deleted; None in the history.
    """

    role: str
    text: str
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The sealed lines of a decision; ``lines`` is empty for people without the right to read them."""

    count: int
    expires_at: datetime | None
    lines: tuple[ExchangeLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractionRecord:
    """A reply that a reviewer withdrew: when the channel is asked to remove it, and whether it was asked."""

    created_at: datetime
    not_before: datetime
    cancelled_at: datetime | None
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Decisions of the same conversation, oldest first, and their lines in the stored history.

    Attributes:
        more_before: there are older ones; ``more_after`` likewise.
        lines: decision id -> its lines; a decision that is not in the history is missing.
    """

    before: tuple[DecisionRow, ...]
    after: tuple[DecisionRow, ...]
    more_before: bool
    more_after: bool
    lines: dict[UUID, tuple[ExchangeLine, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPassage:
    """A passage as it is stored now."""

    text: str
    document_id: int
    title: str
    source: str


async def get_decision(connection: Connection, decision_id: UUID) -> DecisionRow | None:
    """A decision with its snapshot and its reply, searched by the time in its id; None also when erased."""
    here = (
        ai_decisions.c.created_at.between(*uuid_time_bounds(decision_id)),
        ai_decisions.c.id == decision_id,
        sa.text(NOT_ERASED),
    )
    query = sa.select(ai_decisions, ASSESSED.label("assessed"), *_REPLY).select_from(_WITH_REPLY).where(*here)
    return await first_row(connection, query)


async def load_conversation(connection: Connection, decision: DecisionRow) -> Conversation:
    """The decisions before and after one in its conversation, within a month."""
    here, at = (decision["created_at"], decision["id"]), decision["created_at"]
    query = _neighbours(decision)
    older = query.where(ai_decisions.c.created_at.between(at - NEAR, at), sa.tuple_(*_KEY) < here)
    newer = query.where(ai_decisions.c.created_at.between(at, at + NEAR), sa.tuple_(*_KEY) > here)
    before = await all_rows(connection, older.order_by(*(column.desc() for column in _KEY)))
    after = await all_rows(connection, newer.order_by(*_KEY))
    shown = (*reversed(before[:NEIGHBOURS]), *after[:NEIGHBOURS])
    moments = [row["created_at"] for row in (*shown, decision)]
    values = {
        "user_id": decision["user_id"],
        "conversation_id": decision["conversation_id"],
        "since": min(moments),
        "until": max(moments),
        "decisions": [row["id"] for row in (*shown, decision)],
        "most": MOST_LINES,
    }
    lines: dict[UUID, tuple[ExchangeLine, ...]] = {}
    for row in await connection.execute(_LINES, values):
        earlier = lines.get(row.decision_id, ())
        lines[row.decision_id] = (*earlier, ExchangeLine(role=row.role, text=row.text))
    return Conversation(
        before=tuple(reversed(before[:NEIGHBOURS])),
        after=after[:NEIGHBOURS],
        more_before=len(before) > NEIGHBOURS,
        more_after=len(after) > NEIGHBOURS,
        lines=lines,
    )


async def load_sealed(connection: Connection, decision_id: UUID, now: datetime) -> Sealed:
    """Number of a decision's sealed lines, without the texts."""
    row = (await connection.execute(_SEALED_COUNT, {"id": decision_id, "now": now})).one()
    return Sealed(count=row.lines, expires_at=row.expires_at)


async def load_sealed_texts(connection: Connection, decision_id: UUID, now: datetime) -> Sealed:
    """A decision's sealed lines with their texts."""
    values = {"id": decision_id, "now": now, "most": MOST_LINES}
    rows = (await connection.execute(_SEALED, values)).all()
    lines = tuple(ExchangeLine(role=row.role, text=row.text, expires_at=row.expires_at) for row in rows)
    return Sealed(count=len(lines), expires_at=rows[0].expires_at if rows else None, lines=lines)


async def list_retractions(connection: Connection, decision_id: UUID) -> tuple[RetractionRecord, ...]:
    """The retractions of a decision's reply, oldest first."""
    rows = await all_rows(connection, _RETRACTIONS, {"id": decision_id})
    return tuple(RetractionRecord(**row) for row in rows)


async def load_passages(connection: Connection, user_id: str, ids: Sequence[str]) -> dict[str, StoredPassage]:
    """The account's passages with these ids that are still stored, with their current texts."""
    places = [place for each in ids[:MOST_PASSAGES] if (place := _place(each)) is not None]
    if not places:
        return {}
    documents, numbers = zip(*places, strict=True)
    values = {"user_id": user_id, "documents": list(documents), "numbers": list(numbers)}
    return {
        row.id: StoredPassage(text=row.text, document_id=row.document_id, title=row.title, source=row.source)
        for row in await connection.execute(_PASSAGES, values)
    }


def _neighbours(decision: DecisionRow) -> sa.Select[Any]:
    """Decisions of the same conversation, one more than is shown."""
    names = ("id", "created_at", "author_id", "message_id", "decision", "reason_code", "matched_rule")
    columns = (ai_decisions.c[name] for name in (*names, "degraded", "message_text"))
    query = sa.select(*columns, HIGH_SCORE_CATEGORIES, *_REPLY).select_from(_WITH_REPLY)
    return query.where(
        ai_decisions.c.user_id == decision["user_id"],
        ai_decisions.c.conversation_id == decision["conversation_id"],
    ).limit(NEIGHBOURS + 1)


def _place(passage_id: str) -> tuple[int, int] | None:
    """Document and chunk number of ``<document id>#<chunk number>``."""
    document, _, number = passage_id.partition("#")
    known = document.isdecimal() and number.isdecimal() and len(document) < 19 and len(number) < 10
    return (int(document), int(number)) if known else None
