"""Moving a decided exchange as a reviewer says, with the reply that went out or did not, and back again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.decisions import QUARANTINE
from db.exchanges import Subject, as_decided, exchange, offered
from db.outbox import LOCK
from db.reviews import UNDO_WINDOW, Effect, Remedy, Review, ReviewRejected, Ruling

UNSEAL: Final = sa.text("""
    WITH gone AS (
        DELETE FROM quarantine WHERE decision_id = :id AND expires_at > :now AND role = ANY(:roles)
        RETURNING id, user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at
    ), back AS (
        INSERT INTO messages (user_id, conversation_id, message_id, decision_id, role, text, created_at)
        SELECT user_id, conversation_id, message_id, decision_id, role, text, created_at FROM gone ORDER BY id
    )
    SELECT min(expires_at) FROM gone
""")
SEAL: Final = sa.text("""
    WITH gone AS (
        DELETE FROM messages
        WHERE user_id = :user_id AND conversation_id = :conversation_id AND decision_id = :id
        RETURNING id, user_id, conversation_id, message_id, decision_id, role, text, created_at
    )
    INSERT INTO quarantine (
        user_id, conversation_id, message_id, decision_id, role, text, created_at, expires_at)
    SELECT user_id, conversation_id, message_id, decision_id, role, text, created_at, :expires_at
    FROM gone ORDER BY id
""")
HOLD_RELAYS: Final = sa.text(LOCK.replace("pg_try_advisory_xact_lock", "pg_advisory_xact_lock"))
"""While it is held no relay reads the outbox or the retractions, so what we see unsent stays unsent."""
CANCEL_REPLY: Final = sa.text("""
    UPDATE outbox SET cancelled_at = :now
    WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NULL AND cancelled_at IS NULL
""")
SEND_AFTER_ALL: Final = sa.text("""
    UPDATE outbox SET cancelled_at = NULL
    WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NULL AND cancelled_at = :cancelled_at
""")
RETRACT: Final = sa.text("""
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT :id, :review_id, :user_id, :event_id, :conversation_id, :message_id, :scope, :now, :not_before
    FROM outbox WHERE user_id = :user_id AND event_id = :event_id AND decision_id = :id
        AND delivered_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM retractions WHERE decision_id = :id AND cancelled_at IS NULL)
""")
LEFT_ALREADY: Final = sa.text(
    "SELECT delivered_at FROM retractions WHERE review_id = :review_id AND delivered_at IS NOT NULL"
)
KEEP_REPLY: Final = sa.text("""
    UPDATE retractions SET cancelled_at = :now
    WHERE decision_id = :id AND delivered_at IS NULL AND cancelled_at IS NULL
""")


NOT_RESTORABLE: Final = (
    "restore: expected a block that is overturned, or a removed reply that was right, and its exchange in"
    " quarantine; got none: it has expired, was erased or is back already. The review is possible without it"
)
NOT_REMOVABLE: Final = (
    "remove: expected a reply that is overturned, or a restored block that was right, and its exchange in the"
    " history; got none: it was removed or erased already. The review is possible without it"
)


class RemedyImpossible(ReviewRejected):
    """The exchange is not where it would have to be; the review without the remedy is still possible."""


class UndoTooLate(ReviewRejected):
    """The undo window is over, or what was done has left the house."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a review did, and until when what it restored was sealed."""

    effect: Effect = Effect.NONE
    sealed_until: datetime | None = None


async def apply(
    connection: AsyncConnection,
    decided: Subject,
    remedy: Remedy,
    *,
    ruling: Ruling,
    review_id: UUID,
    now: datetime,
) -> Applied:
    """Do what a review asks for.

    Raises:
        RemedyImpossible: it does not follow from the ruling, or the exchange is not where it should be.
    """
    if remedy is Remedy.NONE:
        return Applied()
    possible = offered(decided, ruling, await exchange(connection, decided, now))
    if remedy is Remedy.REMOVE:
        if remedy not in possible:
            raise RemedyImpossible(NOT_REMOVABLE)
        await _remove(connection, decided, review_id, now)
        return Applied(effect=Effect.REMOVED)
    if not {Remedy.RESTORE, Remedy.RESTORE_MESSAGE} & set(possible):
        raise RemedyImpossible(NOT_RESTORABLE)
    return Applied(effect=Effect.RESTORED, sealed_until=await _restore(connection, decided, remedy, now))


async def apply_unseen(
    connection: AsyncConnection,
    decided: Subject,
    remedy: Remedy,
    *,
    ruling: Ruling,
    review_id: UUID,
    now: datetime,
) -> Applied:
    """The same for who was shown the exchange as it was decided: what others did already is not done again.

    Raises:
        RemedyImpossible: it does not follow from the ruling, or the exchange is gone.
    """
    left = as_decided(decided, await exchange(connection, decided, now))
    if remedy is not Remedy.NONE and remedy not in offered(decided, ruling, left):
        raise RemedyImpossible(NOT_REMOVABLE if remedy is Remedy.REMOVE else NOT_RESTORABLE)
    try:
        return await apply(connection, decided, remedy, ruling=ruling, review_id=review_id, now=now)
    except RemedyImpossible:
        return Applied()


async def take_back(connection: AsyncConnection, decided: Subject, given: Review, now: datetime) -> Effect:
    """Undo what a review did; what the undo did.

    Raises:
        UndoTooLate: the channel was asked already to remove the reply.
    """
    match given.effect:
        case Effect.RESTORED:
            until = given.sealed_until or now + QUARANTINE
            moved = await connection.execute(SEAL, {**decided.keys(), "expires_at": until})
            return Effect.REMOVED if moved.rowcount else Effect.NONE
        case Effect.REMOVED:
            return await _keep_after_all(connection, decided, given, now)
        case Effect.NONE:
            return Effect.NONE


async def _restore(connection: AsyncConnection, decided: Subject, remedy: Remedy, now: datetime) -> datetime:
    roles = ["user"] if remedy is Remedy.RESTORE_MESSAGE else ["user", "assistant"]
    values = {"id": decided.id, "now": now, "roles": roles}
    until: datetime | None = (await connection.execute(UNSEAL, values)).scalar_one()
    if until is None:
        raise RemedyImpossible(NOT_RESTORABLE)
    await connection.execute(HOLD_RELAYS)
    await connection.execute(KEEP_REPLY, {"id": decided.id, "now": now})
    return until


async def _remove(connection: AsyncConnection, decided: Subject, review_id: UUID, now: datetime) -> None:
    keys = decided.keys()
    moved = await connection.execute(SEAL, {**keys, "expires_at": now + QUARANTINE})
    await connection.execute(HOLD_RELAYS)
    held = await connection.execute(CANCEL_REPLY, {**keys, "now": now})
    if held.rowcount:
        return
    request = {
        **keys,
        "review_id": review_id,
        "message_id": decided.message_id,
        "scope": decided.scope,
        "now": now,
        "not_before": now + UNDO_WINDOW,
    }
    asked = await connection.execute(RETRACT, request)
    if not (moved.rowcount or asked.rowcount):
        raise RemedyImpossible(NOT_REMOVABLE)


async def _keep_after_all(
    connection: AsyncConnection, decided: Subject, given: Review, now: datetime
) -> Effect:
    await connection.execute(HOLD_RELAYS)
    if (await connection.execute(LEFT_ALREADY, {"review_id": given.id})).first():
        raise UndoTooLate(
            "undo: the channel was already asked to remove the reply; store a new review instead"
        )
    await connection.execute(KEEP_REPLY, {"id": decided.id, "now": now})
    await connection.execute(SEND_AFTER_ALL, {**decided.keys(), "cancelled_at": given.created_at})
    await connection.execute(UNSEAL, {"id": decided.id, "now": now, "roles": ["user", "assistant"]})
    return Effect.RESTORED
