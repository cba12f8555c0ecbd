"""Remedies: restoring or removing an exchange with its reply, and undoing that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.outbox import LOCK_AND_WAIT
from db.reviews.exchanges import (
    MESSAGE_DELETED,
    ReviewSubject,
    exchange_as_decided,
    load_exchange,
    offered_remedies,
)
from db.reviews.rulings import UNDO_WINDOW, Effect, Remedy, Review, ReviewRejected, Ruling

LINE: Final = "user_id, conversation_id, message_id, decision_id, role, text, created_at"
"""The columns that the tables of history and quarantine share."""
UNSEAL: Final = sa.text(f"""
    WITH moved AS (
        DELETE FROM quarantine WHERE decision_id = :id AND expires_at > :now AND role = ANY(:roles)
            AND NOT {MESSAGE_DELETED}
        RETURNING id, {LINE}, expires_at, place
    ), inserted AS (
        INSERT INTO messages (id, {LINE}) OVERRIDING SYSTEM VALUE
        SELECT place, {LINE} FROM moved ORDER BY id
    )
    SELECT min(expires_at) FROM moved
""")
SEAL: Final = sa.text(f"""
    WITH moved AS (
        DELETE FROM messages
        WHERE user_id = :user_id AND conversation_id = :conversation_id AND decision_id = :id
        RETURNING id, {LINE}
    )
    INSERT INTO quarantine (place, {LINE}, expires_at)
    SELECT id, {LINE}, coalesce(CAST(:expires_at AS timestamptz), CAST(:now AS timestamptz) + coalesce((
        SELECT keep_quarantine_days FROM ai_rules WHERE ai_rules.user_id = :user_id
        ORDER BY version DESC LIMIT 1), 30) * interval '1 day')
    FROM moved ORDER BY id
""")
BLOCK_RELAYS: Final = sa.text(LOCK_AND_WAIT)
"""An unsent reply or retraction stays unsent until this transaction ends."""
CANCEL_REPLY: Final = sa.text("""
    UPDATE outbox SET cancelled_at = :now, retraction_id = :review_id,
        retract_from = clock_timestamp() + CAST(:undo_window AS interval)
    WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NULL AND cancelled_at IS NULL
""")
UNCANCEL_REPLY: Final = sa.text("""
    UPDATE outbox SET cancelled_at = NULL, cancel_settled = false, retraction_id = NULL
    WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NULL AND cancelled_at = :cancelled_at AND cancel_reason IS NULL
""")
RETRACT: Final = sa.text("""
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT :id, :review_id, :user_id, :event_id, :conversation_id, :message_id, :scope, :now,
        clock_timestamp() + CAST(:undo_window AS interval)
    FROM outbox WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM retractions WHERE decision_id = :id AND cancelled_at IS NULL)
""")
SENT_RETRACTION: Final = sa.text(
    "SELECT delivered_at FROM retractions WHERE review_id = :review_id AND delivered_at IS NOT NULL"
)
CANCEL_RETRACTION: Final = sa.text("""
    UPDATE retractions SET cancelled_at = :now
    WHERE decision_id = :id AND delivered_at IS NULL AND cancelled_at IS NULL
""")


NOT_RESTORABLE: Final = (
    "restore: expected an overturned block, or agreement with a removed reply, and its exchange in"
    " quarantine; got none: it expired, was erased or already restored, or the author deleted the message."
    " The review is possible without it"
)
NOT_REMOVABLE: Final = (
    "remove: expected an overturned reply, or agreement with a restored block, and its exchange in the"
    " history; got none: it was already removed or erased. The review is possible without it"
)


class RemedyImpossible(ReviewRejected):
    """The exchange is not where the remedy needs it; the review is possible without the remedy."""


class UndoTooLate(ReviewRejected):
    """The undo window is over, or the retraction was already sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyResult:
    """The effect of a review, and until when a restored exchange was sealed."""

    effect: Effect = Effect.NONE
    sealed_until: datetime | None = None


async def apply_remedy(
    connection: Connection,
    subject: ReviewSubject,
    remedy: Remedy,
    *,
    ruling: Ruling,
    review_id: UUID,
    now: datetime,
) -> RemedyResult:
    """Apply the remedy of a review.

    Raises:
        RemedyImpossible: it does not follow from the ruling, or the exchange is elsewhere.
    """
    if remedy is Remedy.NONE:
        return RemedyResult()
    possible = offered_remedies(subject, ruling, await load_exchange(connection, subject, now))
    if remedy is Remedy.REMOVE:
        if remedy not in possible:
            raise RemedyImpossible(NOT_REMOVABLE)
        await _remove(connection, subject, review_id, now)
        return RemedyResult(effect=Effect.REMOVED)
    if not {Remedy.RESTORE, Remedy.RESTORE_MESSAGE} & set(possible):
        raise RemedyImpossible(NOT_RESTORABLE)
    return RemedyResult(effect=Effect.RESTORED, sealed_until=await _restore(connection, subject, remedy, now))


async def apply_remedy_blind(
    connection: Connection,
    subject: ReviewSubject,
    remedy: Remedy,
    *,
    ruling: Ruling,
    review_id: UUID,
    now: datetime,
) -> RemedyResult:
    """The same for a person who was shown the exchange as decided; effects that exist already are kept.

    Raises:
        RemedyImpossible: it does not follow from the ruling, or the exchange is gone.
    """
    left = exchange_as_decided(subject, await load_exchange(connection, subject, now))
    if remedy is not Remedy.NONE and remedy not in offered_remedies(subject, ruling, left):
        raise RemedyImpossible(NOT_REMOVABLE if remedy is Remedy.REMOVE else NOT_RESTORABLE)
    try:
        return await apply_remedy(connection, subject, remedy, ruling=ruling, review_id=review_id, now=now)
    except RemedyImpossible:
        return RemedyResult()


async def undo_remedy(
    connection: Connection, subject: ReviewSubject, review: Review, now: datetime
) -> Effect:
    """Undo the effect of a review; the effect of the undo.

    Raises:
        UndoTooLate: the channel was already asked to remove the reply.
    """
    match review.effect:
        case Effect.RESTORED:
            values = {**subject.keys(), "expires_at": review.sealed_until, "now": now}
            moved = await connection.execute(SEAL, values)
            return Effect.REMOVED if moved.rowcount else Effect.NONE
        case Effect.REMOVED:
            return await _undo_removal(connection, subject, review, now)
        case Effect.NONE:
            return Effect.NONE


async def _restore(connection: Connection, subject: ReviewSubject, remedy: Remedy, now: datetime) -> datetime:
    roles = ["user"] if remedy is Remedy.RESTORE_MESSAGE else ["user", "assistant"]
    values = {**subject.keys(), "now": now, "roles": roles}
    until: datetime | None = (await connection.execute(UNSEAL, values)).scalar_one()
    if until is None:
        raise RemedyImpossible(NOT_RESTORABLE)
    await connection.execute(BLOCK_RELAYS)
    await connection.execute(CANCEL_RETRACTION, {"id": subject.exchange_id, "now": now})
    return until


async def _remove(connection: Connection, subject: ReviewSubject, review_id: UUID, now: datetime) -> None:
    keys = subject.keys()
    await connection.execute(BLOCK_RELAYS)  # first: a relay that cancels this reply deletes the same lines
    moved = await connection.execute(SEAL, {**keys, "expires_at": None, "now": now})
    request = {
        **keys,
        "review_id": review_id,
        "scope": subject.scope,
        "now": now,
        "undo_window": UNDO_WINDOW,  # by the clock of Postgres, as the retractor's
    }
    cancelled = await connection.execute(CANCEL_REPLY, request)
    if cancelled.rowcount:
        return
    retracted = await connection.execute(RETRACT, request)
    if not (moved.rowcount or retracted.rowcount):
        raise RemedyImpossible(NOT_REMOVABLE)


async def _undo_removal(
    connection: Connection, subject: ReviewSubject, review: Review, now: datetime
) -> Effect:
    await connection.execute(BLOCK_RELAYS)
    if (await connection.execute(SENT_RETRACTION, {"review_id": review.id})).first():
        raise UndoTooLate(
            "undo: the channel was already asked to remove the reply; store a new review instead"
        )
    kept = await connection.execute(CANCEL_RETRACTION, {"id": subject.exchange_id, "now": now})
    sent = await connection.execute(UNCANCEL_REPLY, {**subject.keys(), "cancelled_at": review.created_at})
    unsealed = await connection.execute(
        UNSEAL, {**subject.keys(), "now": now, "roles": ["user", "assistant"]}
    )
    changed = kept.rowcount or sent.rowcount or unsealed.scalar_one() is not None
    return Effect.RESTORED if changed else Effect.NONE
