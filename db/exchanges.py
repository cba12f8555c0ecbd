"""Where a decided exchange is now, in the history or sealed, and which remedies that leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.identifiers import bounds
from db.reviews import Remedy, Ruling
from worker.model import Verdict

SUBJECT: Final = sa.text("""
    SELECT id, created_at, user_id, event_id, conversation_id, message_id, scope, decision,
           coalesce((snapshot_json ->> 'quarantined')::boolean, false) AS quarantined
    FROM ai_decisions WHERE created_at BETWEEN :since AND :until AND id = :id
""")
PLACE: Final = sa.text("""
    SELECT ARRAY(SELECT role FROM messages WHERE user_id = :user_id AND conversation_id = :conversation_id
                 AND decision_id = :id ORDER BY created_at, id) AS history,
           ARRAY(SELECT role FROM quarantine
                 WHERE decision_id = :id AND expires_at > :now ORDER BY id) AS sealed,
           (SELECT min(expires_at) FROM quarantine
            WHERE decision_id = :id AND expires_at > :now) AS sealed_until,
           o.id IS NOT NULL AS has_reply, o.delivered_at AS reply_delivered_at,
           o.cancelled_at AS reply_cancelled_at, r.id IS NOT NULL AS retracted,
           r.delivered_at AS retraction_sent_at
    FROM (SELECT 1) AS one
    LEFT JOIN outbox o ON o.user_id = :user_id AND o.event_id = :event_id AND o.decision_id = :id
    LEFT JOIN LATERAL (SELECT id, delivered_at FROM retractions
                       WHERE decision_id = :id AND cancelled_at IS NULL ORDER BY id DESC LIMIT 1) r ON true
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The decision under review, as far as moving its exchange needs it.

    Attributes:
        quarantined: its exchange was sealed when it was decided.
    """

    id: UUID
    created_at: datetime
    user_id: str
    event_id: str
    conversation_id: str
    message_id: str
    scope: str
    decision: Verdict
    quarantined: bool

    def keys(self) -> dict[str, object]:
        """What finds its exchange and its reply."""
        return {
            "id": self.id,
            "user_id": self.user_id,
            "event_id": self.event_id,
            "conversation_id": self.conversation_id,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Where an exchange and its reply are now.

    Attributes:
        history: roles of its lines in the stored history.
        sealed: roles of its lines in quarantine.
        sealed_until: when they are deleted.
        has_reply: a reply was approved.
        reply_delivered_at: when it went to the channel.
        reply_cancelled_at: when a reviewer took it back before that.
        retracted: a reviewer asked the channel to remove it.
        retraction_sent_at: when that request left.
    """

    history: tuple[str, ...]
    sealed: tuple[str, ...]
    sealed_until: datetime | None
    has_reply: bool
    reply_delivered_at: datetime | None
    reply_cancelled_at: datetime | None
    retracted: bool
    retraction_sent_at: datetime | None

    @property
    def reply_stands(self) -> bool:
        """True when the author has the reply or will get it."""
        return self.has_reply and self.reply_cancelled_at is None and not self.retracted

    @property
    def answer_gone(self) -> bool:
        """True when the sealed answer is one that the author never got, or was to lose again."""
        return "assistant" in self.sealed and not self.reply_stands


def offered(subject: Subject, ruling: Ruling, exchange: Exchange) -> tuple[Remedy, ...]:
    """Which remedies make sense of a ruling, where the exchange is now; the first is the one to propose."""
    blocked = subject.decision is Verdict.IGNORE and subject.quarantined
    wanted_back = (blocked and ruling is Ruling.OVERTURN) or (
        subject.decision is Verdict.RESPOND and ruling is Ruling.AGREE
    )
    wanted_gone = (blocked and ruling is Ruling.AGREE) or (
        subject.decision is Verdict.RESPOND and ruling is Ruling.OVERTURN
    )
    if wanted_back and exchange.sealed:
        if exchange.answer_gone:
            return Remedy.RESTORE_MESSAGE, Remedy.RESTORE
        return (Remedy.RESTORE,)
    if wanted_gone and (exchange.history or exchange.reply_stands):
        return (Remedy.REMOVE,)
    return ()


def as_decided(subject: Subject, exchange: Exchange) -> Exchange:
    """The exchange where the decision left it, whatever reviewers did since; what was erased stays gone.

    For who must not know yet what others said: where a line is now would tell.
    """
    lines = tuple(sorted({*exchange.history, *exchange.sealed}, reverse=True))
    return replace(
        exchange,
        history=() if subject.quarantined else lines,
        sealed=lines if subject.quarantined else (),
        sealed_until=None,
        reply_cancelled_at=None,
        retracted=False,
        retraction_sent_at=None,
    )


async def subject(connection: AsyncConnection, decision_id: UUID) -> Subject | None:
    """The decision under review, or None."""
    between = bounds(decision_id)
    if between is None:
        return None
    values = {"id": decision_id, "since": between[0], "until": between[1]}
    row = (await connection.execute(SUBJECT, values)).mappings().first()
    return Subject(**{**row, "decision": Verdict(row["decision"])}) if row else None


def subject_of(row: Mapping[str, Any]) -> Subject:
    """The same of a decision that was read whole."""
    names = ("id", "created_at", "user_id", "event_id", "conversation_id", "message_id", "scope")
    return Subject(
        **{name: row[name] for name in names},
        decision=Verdict(row["decision"]),
        quarantined=bool(row["snapshot_json"].get("quarantined")),
    )


async def exchange(connection: AsyncConnection, decided: Subject, now: datetime) -> Exchange:
    """Where the exchange is at this moment."""
    row = (await connection.execute(PLACE, {**decided.keys(), "now": now})).mappings().one()
    return Exchange(**{**row, "history": tuple(row["history"]), "sealed": tuple(row["sealed"])})


async def proposed(connection: AsyncConnection, decision_id: UUID, ruling: Ruling, now: datetime) -> Remedy:
    """The remedy to propose beside a ruling, a draft that nobody has read left out; none where none fits."""
    decided = await subject(connection, decision_id)
    if decided is None:
        return Remedy.NONE
    return next(iter(offered(decided, ruling, await exchange(connection, decided, now))), Remedy.NONE)
