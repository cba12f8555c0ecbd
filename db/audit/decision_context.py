"""The context of one decision: its exchange, conversation, reply and passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import sqlalchemy as sa

from db.answers import state
from db.answers.state import answered_decisions
from db.audit.decisions_by_id import found_decisions
from db.audit.filters import ASSESSED
from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.rows import all_rows, first_row, from_row, rows_as
from db.tables import HIGH_SCORE_CATEGORIES, NOT_ERASED, ai_decisions, checks, messages, outbox

DecisionRow: TypeAlias = dict[str, Any]
"""A row of ``decision_query``: the decision, its reply and a person's answer, by column."""
UNLISTED: Final = frozenset({"reply_cancelled_at", "reply_created_at", "review_state"})
Join: TypeAlias = tuple[sa.Table, sa.ColumnElement[bool]]
NEAR: Final = timedelta(days=31)
"""Range of a conversation in either direction: a few partitions, never all of them."""
NEIGHBOURS: Final = 6
"""Decisions shown before, and after."""
MOST_LINES: Final = 60
MOST_PASSAGES: Final = 50

_REPLY: Final = (
    sa.func.coalesce(outbox.c.text, checks.c.verdict["text"].astext).label("reply_text"),
    outbox.c.delivered_at.label("reply_delivered_at"),
    outbox.c.cancelled_at.label("reply_cancelled_at"),
    outbox.c.cancel_reason.label("reply_cancel_reason"),
    outbox.c.created_at.label("reply_created_at"),
    outbox.c.sent_as.label("reply_sent_as"),
    outbox.c.draft.label("reply_draft"),
    outbox.c.sources.label("reply_sources"),
    outbox.c.metadata["sentences"].label("reply_sentences"),
    *state.SELECTED,
)
SHOWN_DISCLOSURE: Final = """CASE WHEN NOT EXISTS (
    SELECT FROM outbox earlier
    WHERE earlier.user_id = outbox.user_id AND earlier.conversation_id = outbox.conversation_id
        AND earlier.id < outbox.id AND earlier.delivered_at IS NOT NULL AND earlier.disclosure IS NOT NULL)
    THEN outbox.disclosure END"""
"""What is sent before the reply; NULL when an earlier reply of the conversation had the disclosure."""
_DISCLOSURE: Final = sa.literal_column(SHOWN_DISCLOSURE, sa.Text).label("reply_disclosure")
INSTRUCTIONS: Final = sa.text("SELECT prompt FROM ai_rules WHERE user_id = :user_id AND version = :version")
_KEY: Final = (ai_decisions.c.created_at, ai_decisions.c.id)


def _with_reply(source: sa.FromClause) -> sa.FromClause:
    """Decisions with what was sent; the text that a program may send is in the verdict of its check."""
    sent = sa.and_(
        outbox.c.user_id == ai_decisions.c.user_id,
        outbox.c.event_id == ai_decisions.c.event_id,
        outbox.c.decision_id == ai_decisions.c.id,
    )
    return (
        source.outerjoin(outbox, sent)
        .outerjoin(answered_decisions, answered_decisions.c.decision_id == ai_decisions.c.id)
        .outerjoin(checks, checks.c.decision_id == ai_decisions.c.id)
    )


_WITH_REPLY: Final = _with_reply(ai_decisions)
_IN_HISTORY: Final = (
    sa.exists()
    .where(
        messages.c.user_id == ai_decisions.c.user_id,
        messages.c.conversation_id == ai_decisions.c.conversation_id,
        messages.c.decision_id == ai_decisions.c.id,
    )
    .label("in_history")
)
LINES: Final = """
    (SELECT role, text, NULL AS expires_at FROM messages
     WHERE user_id = :user_id AND conversation_id = :conversation_id AND decision_id = :decision
     ORDER BY id LIMIT :most)
    UNION ALL
    (SELECT role, text, expires_at FROM quarantine
     WHERE decision_id = :decision AND expires_at > :now ORDER BY id LIMIT :most)
"""
_RETRACTIONS: Final = sa.text("""
    SELECT created_at, not_before, cancelled_at, delivered_at FROM retractions
    WHERE decision_id = :id ORDER BY id LIMIT 20
""")
PASSAGES: Final = """
    SELECT c.document_id || '#' || c.number AS id, c.text, d.id AS document_id, d.title, d.source
    FROM unnest(%(documents)s::bigint[], %(numbers)s::integer[]) AS requested (document_id, number)
    JOIN chunks c ON c.document_id = requested.document_id AND c.number = requested.number
    JOIN documents d ON d.id = c.document_id
    WHERE c.user_id = %(user_id)s AND d.user_id = %(user_id)s
"""


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
class StoredLines:
    """The lines of one exchange, in the stored history and sealed, with their texts."""

    history: tuple[ExchangeLine, ...]
    sealed: Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class RetractionRecord:
    """The retraction of a reply by a reviewer: when the channel is asked, and whether it was asked."""

    created_at: datetime
    not_before: datetime
    cancelled_at: datetime | None
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Decisions of the same conversation, oldest first; ``in_history``: the stored history has lines of it.

    Attributes:
        more_before: there are older ones; ``more_after`` likewise.
    """

    before: tuple[DecisionRow, ...] = ()
    after: tuple[DecisionRow, ...] = ()
    more_before: bool = False
    more_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPassage:
    """A passage as it is stored now."""

    text: str
    document_id: int
    title: str
    source: str


def decision_query(decision_id: UUID, *joined: Join) -> sa.Select[Any]:
    """A decision with its snapshot, its reply and a person's answer, by the time in its id; none when erased.

    ``joined`` are further tables, each with its condition; a decision without their row has NULL there.
    """
    source: sa.FromClause = _WITH_REPLY
    for table, condition in joined:
        source = source.outerjoin(table, condition)
    near = ai_decisions.c.created_at.between(*uuid_time_bounds(decision_id))
    return _whole(source).where(near, ai_decisions.c.id == decision_id)


def _whole(source: sa.FromClause) -> sa.Select[Any]:
    return (
        sa.select(ai_decisions, HIGH_SCORE_CATEGORIES, ASSESSED.label("assessed"), *_REPLY, _DISCLOSURE)
        .select_from(source)
        .where(sa.text(NOT_ERASED))
    )


async def get_decision(connection: Connection, decision_id: UUID) -> DecisionRow | None:
    """A decision with its snapshot and its reply; None also when it was erased."""
    return await first_row(connection, decision_query(decision_id))


async def get_decisions(connection: Connection, ids: Sequence[UUID]) -> tuple[DecisionRow, ...]:
    """The same of several decisions, in the order of their ids; without erased ones."""
    if not ids:
        return ()
    found, same = found_decisions(ids)
    query = _whole(
        _with_reply(found.join(ai_decisions, same))
    )  # first: the planner keeps long lists in order
    rows = {row["id"]: row for row in await all_rows(connection, query)}
    return tuple(rows[each] for each in ids if each in rows)


def program_columns(row: DecisionRow) -> DecisionRow:
    """The columns of a decision that programs get."""
    return {name: value for name, value in row.items() if name not in UNLISTED}


async def load_conversation(connection: Connection, decision: DecisionRow) -> Conversation:
    """The decisions before and after one in its conversation, within a month."""
    here, at = (decision["created_at"], decision["id"]), decision["created_at"]
    query = _neighbours(decision)
    older = query.where(ai_decisions.c.created_at.between(at - NEAR, at), sa.tuple_(*_KEY) < here)
    newer = query.where(ai_decisions.c.created_at.between(at, at + NEAR), sa.tuple_(*_KEY) > here)
    both = sa.union_all(older.order_by(*(each.desc() for each in _KEY)), newer.order_by(*_KEY))
    rows = await all_rows(connection, both)
    before = sorted((row for row in rows if _key(row) < here), key=_key, reverse=True)
    after = sorted((row for row in rows if _key(row) > here), key=_key)
    return Conversation(
        before=tuple(reversed(before[:NEIGHBOURS])),
        after=tuple(after[:NEIGHBOURS]),
        more_before=len(before) > NEIGHBOURS,
        more_after=len(after) > NEIGHBOURS,
    )


async def load_lines(connection: Connection, decision: DecisionRow, now: datetime) -> StoredLines:
    """The lines of a decision's exchange, in the history and sealed."""
    values = {name: decision[name] for name in ("user_id", "conversation_id")}
    values |= {"decision": decision["id"], "now": now, "most": MOST_LINES}
    return stored_lines(await all_rows(connection, sa.text(LINES), values))


def stored_lines(rows: Iterable[DecisionRow]) -> StoredLines:
    """Rows of ``LINES`` as lines."""
    lines = [ExchangeLine(**row) for row in rows]
    sealed = tuple(each for each in lines if each.expires_at is not None)
    return StoredLines(
        history=tuple(each for each in lines if each.expires_at is None),
        sealed=Sealed(count=len(sealed), expires_at=sealed[0].expires_at if sealed else None, lines=sealed),
    )


async def list_retractions(connection: Connection, decision_id: UUID) -> tuple[RetractionRecord, ...]:
    """The retractions of a decision's reply, oldest first."""
    return await rows_as(connection, RetractionRecord, _RETRACTIONS, {"id": decision_id})


async def load_passages(connection: Connection, user_id: str, ids: Sequence[str]) -> dict[str, StoredPassage]:
    """The account's passages with these ids that are still stored, with their current texts."""
    values = {"user_id": user_id} | passage_values(ids)
    return passages_by_id(await all_rows(connection, PASSAGES, values))


def passage_values(ids: Sequence[str]) -> dict[str, Any]:
    """The parameters of ``PASSAGES`` for these ids, without the account."""
    places = [place for each in ids[:MOST_PASSAGES] if (place := _place(each)) is not None]
    return {
        "documents": [document for document, _ in places],
        "numbers": [number for _, number in places],
    }


def passages_by_id(rows: Iterable[DecisionRow]) -> dict[str, StoredPassage]:
    """Rows of ``PASSAGES`` by the id of the passage."""
    return {row["id"]: from_row(StoredPassage, row) for row in rows}


def _neighbours(decision: DecisionRow) -> sa.Select[Any]:
    """Decisions of the same conversation, one more than is shown."""
    names = ("id", "created_at", "author_id", "message_id", "decision", "reason_code", "matched_rule")
    columns = (ai_decisions.c[name] for name in (*names, "degraded", "message_text"))
    query = sa.select(*columns, HIGH_SCORE_CATEGORIES, _IN_HISTORY, *_REPLY).select_from(_WITH_REPLY)
    return query.where(
        ai_decisions.c.user_id == decision["user_id"],
        ai_decisions.c.conversation_id == decision["conversation_id"],
    ).limit(NEIGHBOURS + 1)


def _key(row: DecisionRow) -> tuple[datetime, UUID]:
    return row["created_at"], row["id"]


def _place(passage_id: str) -> tuple[int, int] | None:
    """Document and chunk number of ``<document id>#<chunk number>``."""
    document, _, number = passage_id.partition("#")
    known = document.isdecimal() and number.isdecimal() and len(document) < 19 and len(number) < 10
    return (int(document), int(number)) if known else None


async def account_instructions(connection: Connection, user_id: str, version: int) -> str | None:
    """The account's text in the prompt of a version; None when that version is no longer stored."""
    row = await first_row(connection, INSTRUCTIONS, {"user_id": user_id, "version": version})
    return row["prompt"] if row else None
