"""Where the exchange of a decision is stored, in the history or sealed, and which remedies are possible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.answers.records import EVENT_PREFIX
from db.audit.decision_context import LINES, MOST_LINES, StoredLines, stored_lines
from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.outbox import CONVERSATION_LOCK
from db.reviews.rulings import Remedy, Ruling
from db.rows import from_row, row_as, rows_as
from db.tables import NOT_ERASED
from worker.model import DecisionKind

SUBJECT: Final = sa.text(f"""
    SELECT id, created_at, user_id, event_id, conversation_id, message_id, scope, decision, reason_code,
           coalesce((snapshot_json ->> 'quarantined')::boolean, false) AS quarantined,
           (SELECT a.id FROM answers a WHERE a.decision_id = ai_decisions.id AND a.text IS NOT NULL
            ORDER BY a.created_at DESC, a.id DESC LIMIT 1) AS answer_id
    FROM ai_decisions WHERE created_at BETWEEN :since AND :until AND id = :id AND {NOT_ERASED}
""")
ANSWERED_SINCE: Final = sa.text("""
    SELECT EXISTS (SELECT FROM answers WHERE decision_id = :id AND text IS NOT NULL AND created_at > :since)
""")
LOCK_CONVERSATION: Final = sa.text(f"""
    SELECT pg_advisory_xact_lock({CONVERSATION_LOCK})
    FROM (SELECT CAST(:user_id AS text) AS user_id, CAST(:conversation_id AS text) AS conversation_id) AS one
""")
MESSAGE_DELETED: Final = """
    EXISTS (SELECT FROM ai_decisions WHERE user_id = :user_id AND conversation_id = :conversation_id
            AND message_id = :message_id AND reason_code = 'MESSAGE_DELETED')
"""
_LOCATION: Final = f"""
    SELECT ARRAY(SELECT role FROM messages WHERE user_id = :user_id AND conversation_id = :conversation_id
                 AND decision_id = :id ORDER BY id) AS history,
           ARRAY(SELECT role FROM quarantine
                 WHERE decision_id = :id AND expires_at > :now ORDER BY id) AS sealed,
           (SELECT min(expires_at) FROM quarantine
            WHERE decision_id = :id AND expires_at > :now) AS sealed_until,
           o.id IS NOT NULL AS has_reply, o.delivered_at AS reply_delivered_at,
           o.cancelled_at AS reply_cancelled_at, r.id IS NOT NULL AS retracted,
           {MESSAGE_DELETED} AS message_deleted
    FROM (SELECT 1) AS one
    LEFT JOIN outbox o ON o.user_id = :user_id AND o.event_id = :event_id AND o.decision_id = :id
    LEFT JOIN LATERAL (SELECT id FROM retractions
                       WHERE decision_id = :id AND cancelled_at IS NULL ORDER BY id DESC LIMIT 1) r ON true
"""
LOCATION: Final = sa.text(_LOCATION)
LOCATION_AND_LINES: Final = sa.text(f"""
    SELECT found.*, (SELECT jsonb_agg(to_jsonb(line)) FROM ({LINES}) AS line) AS lines
    FROM ({_LOCATION}) AS found
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSubject:
    """The decision under review, with the columns that locate its exchange.

    Attributes:
        answer_id: of the newest text that a person sent for it; remedies concern that text then.
    """

    id: UUID
    created_at: datetime
    user_id: str
    event_id: str
    conversation_id: str
    message_id: str
    scope: str
    decision: DecisionKind
    reason_code: str
    quarantined: bool
    answer_id: UUID | None = None

    @property
    def exchange_id(self) -> UUID:
        """The id that its exchange, its reply and their retraction carry."""
        return self.answer_id or self.id

    def keys(self) -> dict[str, object]:
        """SQL parameters that find its exchange and its reply."""
        event_id = f"{EVENT_PREFIX}{self.answer_id}" if self.answer_id else self.event_id
        found = {name: getattr(self, name) for name in ("user_id", "conversation_id", "message_id")}
        return found | {"id": self.exchange_id, "event_id": event_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Where an exchange and its reply are: in the stored history or sealed, sent or not.

    Attributes:
        history: roles of its lines in the stored history.
        sealed: roles of its lines in quarantine.
        sealed_until: when the lines in quarantine are deleted.
        has_reply: a reply was approved.
        reply_delivered_at: when the reply was put on the reply stream.
        reply_cancelled_at: when the reply was cancelled before delivery.
        retracted: a reviewer asked the channel to remove the reply.
        message_deleted: the author deleted the message.
    """

    history: tuple[str, ...]
    sealed: tuple[str, ...]
    sealed_until: datetime | None
    has_reply: bool
    reply_delivered_at: datetime | None
    reply_cancelled_at: datetime | None
    retracted: bool
    message_deleted: bool = False

    @property
    def reply_stands(self) -> bool:
        """True when the reply was or will be delivered and is not retracted."""
        return self.has_reply and self.reply_cancelled_at is None and not self.retracted

    @property
    def answer_gone(self) -> bool:
        """True when the sealed reply was never delivered, or was retracted."""
        return "assistant" in self.sealed and not self.reply_stands


def offered_remedies(subject: ReviewSubject, ruling: Ruling, exchange: Exchange) -> tuple[Remedy, ...]:
    """The remedies that follow from a ruling, given where the exchange is; the first is proposed."""
    answered = subject.answer_id is not None
    blocked = subject.decision is DecisionKind.IGNORE and subject.quarantined and not answered
    sent = subject.decision is DecisionKind.RESPOND or answered
    restorable = (blocked and ruling is Ruling.OVERTURN) or (sent and ruling is Ruling.AGREE)
    removable = (blocked and ruling is Ruling.AGREE) or (sent and ruling is Ruling.OVERTURN)
    if restorable and exchange.sealed and not exchange.message_deleted:
        return (Remedy.RESTORE_MESSAGE, Remedy.RESTORE) if exchange.answer_gone else (Remedy.RESTORE,)
    if removable and (exchange.history or exchange.reply_stands):
        return (Remedy.REMOVE,)
    return ()


def exchange_as_decided(subject: ReviewSubject, exchange: Exchange) -> Exchange:
    """The exchange as the decision left it, without later reviews; erased lines stay erased.

    For people who must not see the rulings of others yet: the place of a line would disclose them.
    """
    lines = tuple(sorted({*exchange.history, *exchange.sealed}, reverse=True))
    return replace(
        exchange,
        history=() if subject.quarantined else lines,
        sealed=lines if subject.quarantined else (),
        sealed_until=None,
        reply_cancelled_at=None,
        retracted=False,
    )


async def load_subject(connection: Connection, decision_id: UUID) -> ReviewSubject | None:
    """The decision under review, or None."""
    since, until = uuid_time_bounds(decision_id)
    return await row_as(
        connection, ReviewSubject, SUBJECT, {"id": decision_id, "since": since, "until": until}
    )


async def answered_since(connection: Connection, subject: ReviewSubject, since: datetime) -> bool:
    """Whether a person sent a text for the decision after a moment; none is stored until the commit."""
    ids = {"user_id": subject.user_id, "conversation_id": subject.conversation_id}
    await connection.execute(LOCK_CONVERSATION, ids)
    found = await connection.execute(ANSWERED_SINCE, {"id": subject.id, "since": since})
    return bool(found.scalar_one())


async def load_exchange(connection: Connection, subject: ReviewSubject, now: datetime) -> Exchange:
    """Where the exchange is now."""
    (found,) = await rows_as(connection, Exchange, LOCATION, {**subject.keys(), "now": now})
    return found


async def load_exchange_lines(
    connection: Connection, subject: ReviewSubject, now: datetime
) -> tuple[Exchange, StoredLines]:
    """Where the exchange is now, and the lines of the decision's own exchange."""
    values = {**subject.keys(), "decision": subject.id, "now": now, "most": MOST_LINES}
    row = (await connection.execute(LOCATION_AND_LINES, values)).dicts()[0]
    lines = [each | {"expires_at": _time(each["expires_at"])} for each in row.pop("lines") or ()]
    return from_row(Exchange, row), stored_lines(lines)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


async def proposed_remedy(connection: Connection, decision_id: UUID, ruling: Ruling, now: datetime) -> Remedy:
    """The remedy to propose with a ruling, which never restores a draft that was not sent."""
    subject = await load_subject(connection, decision_id)
    if subject is None:
        return Remedy.NONE
    offered = offered_remedies(subject, ruling, await load_exchange(connection, subject, now))
    return offered[0] if offered else Remedy.NONE
