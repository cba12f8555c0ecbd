"""Items of queues as a review meets them: which one a person holds, and what a review does to them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.reviews import Source

ITEM: Final = """
    SELECT i.id AS item_id, i.queue_id, i.decision_id, i.user_id, i.golden, i.first_review, i.claimed_until,
           q.name AS queue, q.kind, q.lease_s, q.second_share
    FROM queue_items i JOIN queues q ON q.id = i.queue_id
"""
MINE: Final = f"""
    {ITEM} WHERE i.decision_id = :decision AND i.claimed_by = :person AND i.done_at IS NULL
    ORDER BY i.golden DESC, i.first_review IS NULL, i.claimed_until DESC, i.id LIMIT 1
"""
HELD: Final = sa.text(MINE)
LOCKED: Final = sa.text(f"{MINE} FOR UPDATE OF i")
HOLDERS: Final = sa.text("""
    SELECT i.id AS item_id, q.name AS queue, i.claimed_until, i.claimed_by,
           coalesce(nullif(p.name, ''), p.login) AS holder
    FROM queue_items i JOIN queues q ON q.id = i.queue_id JOIN people p ON p.id = i.claimed_by
    WHERE i.decision_id = :decision AND i.done_at IS NULL AND i.claimed_until > :now
        AND NOT i.golden AND i.first_review IS NULL
    ORDER BY i.claimed_until DESC
""")
HIDDEN: Final = sa.text("""
    SELECT DISTINCT decision_id FROM queue_items
    WHERE claimed_by = :person AND done_at IS NULL
""")
HELD_BY: Final = sa.text("""
    SELECT i.decision_id, q.name AS queue, i.claimed_until
    FROM queue_items i JOIN queues q ON q.id = i.queue_id
    WHERE i.claimed_by = :person AND i.done_at IS NULL AND i.claimed_until > :now
        AND (:every OR i.user_id = ANY(:accounts))
    ORDER BY i.claimed_until LIMIT 20
""")
ANSWER: Final = sa.text("UPDATE queue_items SET done_at = :now, review_id = :review WHERE id = :item")
SETTLE: Final = sa.text("""
    UPDATE queue_items i SET done_at = :now, review_id = :review FROM queues q
    WHERE q.id = i.queue_id AND q.kind <> 'sample'
        AND i.decision_id = :decision AND i.done_at IS NULL AND NOT i.golden AND i.first_review IS NULL
        AND (i.claimed_by IS NULL OR i.claimed_by = :person OR i.claimed_until <= :now)
""")
"""Samples stay whole: what others pick for themselves, or review in bulk, is not drawn by lot."""
SECOND: Final = sa.text("""
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, not_for, first_review,
                             created_at)
    SELECT s.id, i.decision_id, i.decision_at, i.user_id, i.stratum, :person, :review, :now
    FROM queue_items i,
         LATERAL (SELECT id FROM queues WHERE kind = 'second' AND closed_at IS NULL
                      AND coalesce(definition -> 'accounts' ? i.user_id, true)
                  ORDER BY created_at, id LIMIT 1) s
    WHERE i.id = :item
    ON CONFLICT DO NOTHING
""")
REOPEN: Final = sa.text("""
    UPDATE queue_items i SET done_at = NULL, review_id = NULL,
        claimed_by = CASE WHEN first_review IS NULL THEN claimed_by END,
        claimed_until = CASE WHEN claimed_by IS NOT NULL AND first_review IS NULL
                             THEN :now + q.lease_s * interval '1 second' END
    FROM queues q WHERE q.id = i.queue_id AND i.review_id = :review AND q.closed_at IS NULL
""")
NO_SECOND: Final = sa.text("""
    UPDATE queue_items SET done_at = :now WHERE first_review = :review AND done_at IS NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """An item that a person has claimed and not answered, whether or not its lease is over.

    Attributes:
        golden: it has a known answer; nothing that reaches its holder may say so before the answer.
        first_review: the review that it is a blind second reading of, or None.
    """

    item_id: int
    queue_id: UUID
    queue: str
    kind: str
    decision_id: UUID
    user_id: str
    golden: bool
    first_review: UUID | None
    claimed_until: datetime
    lease_s: int
    second_share: float

    @property
    def source(self) -> Source:
        """What a review that answers it is filed as."""
        if self.golden:
            return Source.GOLDEN
        return Source.QUEUE if self.first_review is None else Source.BLIND

    @property
    def hides_reviews(self) -> bool:
        """True while its holder must not see what others said."""
        return self.golden or self.first_review is not None


async def held(connection: AsyncConnection, decision_id: UUID, person_id: UUID) -> Held | None:
    """The open item on a decision that a person holds; a blind or golden one before others."""
    row = (await connection.execute(HELD, {"decision": decision_id, "person": person_id})).mappings().first()
    return Held(**row) if row else None


async def locked(connection: AsyncConnection, decision_id: UUID, person_id: UUID) -> Held | None:
    """``held``, and nobody else's until the transaction ends."""
    values = {"decision": decision_id, "person": person_id}
    row = (await connection.execute(LOCKED, values)).mappings().first()
    return Held(**row) if row else None


async def holders(
    connection: AsyncConnection, decision_id: UUID, now: datetime
) -> tuple[dict[str, Any], ...]:
    """Who works on a decision right now; blind and golden readings are nobody's business."""
    rows = await connection.execute(HOLDERS, {"decision": decision_id, "now": now})
    return tuple(dict(row) for row in rows.mappings())


async def held_by(
    connection: AsyncConnection, person_id: UUID, *, accounts: Sequence[str] | None, now: datetime
) -> tuple[dict[str, Any], ...]:
    """What a person holds right now, in whatever queue; ``accounts`` None: every account."""
    values = {"person": person_id, "now": now, "every": accounts is None, "accounts": list(accounts or ())}
    return tuple(dict(row) for row in (await connection.execute(HELD_BY, values)).mappings())


async def hidden(connection: AsyncConnection, person_id: UUID) -> frozenset[UUID]:
    """Decisions whose reviews and review states a person must not see yet, on any page.

    All that they hold: were it the blind and golden ones alone, what is hidden would tell which these are.
    """
    rows = await connection.execute(HIDDEN, {"person": person_id})
    return frozenset(rows.scalars())


async def settle(
    connection: AsyncConnection,
    decision_id: UUID,
    *,
    review_id: UUID,
    answered: Held | None,
    person_id: UUID | None,
    now: datetime,
) -> None:
    """Close the item that a review answers, and those it makes needless; deal a second reading where due."""
    if answered is not None:
        await connection.execute(ANSWER, {"item": answered.item_id, "review": review_id, "now": now})
        if answered.hides_reviews:
            return
        if drawn(review_id, answered.second_share):
            values = {"item": answered.item_id, "review": review_id, "person": person_id, "now": now}
            await connection.execute(SECOND, values)
    values = {"decision": decision_id, "review": review_id, "person": person_id, "now": now}
    await connection.execute(SETTLE, values)


async def reopen(connection: AsyncConnection, review_id: UUID, now: datetime) -> None:
    """After an undo: items that the review closed are open again, its second reading is off.

    A blind one waits for somebody else: who answered it has seen the first reading since.
    """
    await connection.execute(REOPEN, {"review": review_id, "now": now})
    await connection.execute(NO_SECOND, {"review": review_id, "now": now})


def drawn(key: UUID, share: float) -> bool:
    """Whether a key falls into a share of all keys; the same answer every time."""
    first = int.from_bytes(hashlib.sha256(key.bytes).digest()[:8])
    return first < share * 2**64


def lease_end(now: datetime, lease_s: int) -> datetime:
    """When a claim made now is over."""
    return now + timedelta(seconds=lease_s)
