"""Claims: who reads what now, for how long, and how it goes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.identifiers import bounds
from db.items import lease_end
from db.queues import Kind, Queue, visible
from db.reviews import Reviewer, ReviewRejected
from worker.model import Verdict

CLAIMED: Final = "RETURNING i.id AS item_id, i.queue_id, i.decision_id, i.user_id, i.claimed_until"
MINE: Final = """
    UPDATE queue_items i SET claimed_until = :until
    WHERE i.id = (
        SELECT id FROM queue_items WHERE claimed_by = :person AND queue_id = :queue AND done_at IS NULL
            AND (:every OR user_id = ANY(:accounts)) ORDER BY id LIMIT 1 FOR UPDATE)
"""
NEXT: Final = """
    UPDATE queue_items i SET claimed_by = :person, claimed_until = :until
    WHERE i.id = (
        SELECT o.id FROM queue_items o
        WHERE o.queue_id = :queue AND o.done_at IS NULL AND {assigned}
            AND (o.claimed_until IS NULL OR o.claimed_until <= :now)
            AND (o.only_for IS NULL OR o.only_for = :person)
            AND (o.not_for IS NULL OR o.not_for <> :person)
            AND NOT :person = ANY(o.skipped_by)
            AND (:every OR o.user_id = ANY(:accounts))
            AND (o.first_review IS NULL OR NOT EXISTS (
                SELECT FROM decision_reviews r
                WHERE r.decision_id = o.decision_id AND r.person_id = :person))
        ORDER BY o.id LIMIT 1 FOR UPDATE OF o SKIP LOCKED)
"""
HELD: Final = sa.text(f"{MINE} {CLAIMED}")
ASSIGNED: Final = sa.text(f"{NEXT.format(assigned='o.assigned_to = :person')} {CLAIMED}")
UNASSIGNED: Final = sa.text(f"{NEXT.format(assigned='o.assigned_to IS NULL')} {CLAIMED}")
GOLDEN: Final = sa.text("""
    INSERT INTO queue_items AS i (queue_id, decision_id, decision_at, user_id, only_for, golden, claimed_by,
                             claimed_until, created_at)
    SELECT :queue, g.decision_id, g.decision_at, g.user_id, :person, true, :person, :until, :now
    FROM golden_items g
    WHERE g.created_by <> :login AND (:every OR g.user_id = ANY(:accounts))
        AND NOT EXISTS (SELECT FROM queue_items o
                        WHERE o.decision_id = g.decision_id AND o.only_for = :person)
        AND NOT EXISTS (SELECT FROM decision_reviews r
                        WHERE r.decision_id = g.decision_id AND r.person_id = :person)
        AND EXISTS (SELECT FROM queue_items w
                    WHERE w.queue_id = :queue AND w.done_at IS NULL AND NOT w.golden)
        AND EXISTS (SELECT FROM ai_decisions d
                    WHERE d.created_at = g.decision_at AND d.id = g.decision_id
                        AND (:decisions = '' OR d.decision = :decisions))
    ORDER BY g.created_at, g.decision_id LIMIT 1
    ON CONFLICT DO NOTHING
    RETURNING i.id AS item_id, i.queue_id, i.decision_id, i.user_id, i.claimed_until
""")
DECISIONS: Final = {Kind.ESCALATIONS: Verdict.ESCALATE, Kind.SAMPLE: Verdict.IGNORE}
"""What such a queue holds; a golden item of another decision would be known by that."""
EXISTS: Final = sa.text(
    "SELECT EXISTS (SELECT FROM ai_decisions WHERE created_at BETWEEN :since AND :until AND id = :decision)"
)
GONE: Final = sa.text("UPDATE queue_items SET done_at = :now WHERE id = :item")
RENEW: Final = sa.text("""
    UPDATE queue_items i SET claimed_until = :now + q.lease_s * interval '1 second'
    FROM queues q WHERE q.id = i.queue_id AND i.id = :item AND i.claimed_by = :person AND i.done_at IS NULL
    RETURNING i.claimed_until
""")
RELEASE: Final = sa.text("""
    UPDATE queue_items SET claimed_by = NULL, claimed_until = NULL,
        skipped_by = CASE WHEN first_review IS NULL THEN skipped_by
                          ELSE array_append(skipped_by, :person) END,
        done_at = CASE WHEN golden THEN now() END
    WHERE id = :item AND claimed_by = :person AND done_at IS NULL
    RETURNING queue_id
""")
SKIP: Final = sa.text("""
    UPDATE queue_items
    SET claimed_by = NULL, claimed_until = NULL, skipped_by = array_append(skipped_by, :person)
    WHERE id = :item AND claimed_by = :person AND done_at IS NULL
    RETURNING queue_id
""")
UNSKIP: Final = sa.text("""
    UPDATE queue_items SET skipped_by = array_remove(skipped_by, :person),
        done_at = CASE WHEN golden THEN now() END
    WHERE queue_id = :queue AND done_at IS NULL AND first_review IS NULL
        AND :person = ANY(skipped_by)
""")


class ClaimLost(ReviewRejected):
    """The item is not this person's any more: its lease ended and somebody else took it, or it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An item that a person has until a moment; nothing in it says what kind of item it is."""

    item_id: int
    queue_id: UUID
    decision_id: UUID
    user_id: str
    claimed_until: datetime


async def claim(
    connection: AsyncConnection,
    queue: Queue,
    reader: Reviewer,
    *,
    accounts: Sequence[str] | None,
    draw: float,
    now: datetime,
) -> Claim | None:
    """What the reader shall read next; what they hold already, before anything new. None: nothing waits.

    Args:
        connection: in a transaction.
        queue: an open one.
        reader: who asks; has a ``person_id``.
        accounts: which they may review; None for all.
        draw: 0..1 at random; below the queue's golden share an item with a known answer is dealt.
        now: from when the lease counts.
    """
    values = {
        "queue": queue.id,
        "person": reader.person_id,
        "login": reader.login,
        "now": now,
        "until": lease_end(now, queue.lease_s),
        "decisions": DECISIONS.get(queue.kind, ""),
        **visible(queue.within(accounts)),
    }
    golden = (GOLDEN,) if draw < queue.golden_share else ()
    for statement in (HELD, *golden, ASSIGNED, UNASSIGNED):
        while (found := (await connection.execute(statement, values)).mappings().first()) is not None:
            claimed = Claim(**found)
            if await _exists(connection, claimed.decision_id):
                return claimed
            await connection.execute(GONE, {"item": claimed.item_id, "now": now})
    return None


async def renew(connection: AsyncConnection, item_id: int, person_id: UUID, now: datetime) -> datetime:
    """Hold an item for another lease; until when.

    Raises:
        ClaimLost: somebody else has it, or it is done.
    """
    row = (await connection.execute(RENEW, {"item": item_id, "person": person_id, "now": now})).first()
    if row is None:
        raise ClaimLost("item: expected one that you hold, got one that is done or somebody else's by now")
    until: datetime = row[0]
    return until


async def release(connection: AsyncConnection, item_id: int, person_id: UUID) -> UUID:
    """Give an item back for anybody; its queue. A blind one does not come back to who has held it.

    Raises:
        ClaimLost: it is not theirs to give.
    """
    return await _let_go(connection, RELEASE, item_id, person_id)


async def skip(connection: AsyncConnection, item_id: int, person_id: UUID) -> UUID:
    """Leave an item to others, who alone are dealt it from now on; its queue. Nobody counts skips.

    Raises:
        ClaimLost: it is not theirs to skip.
    """
    return await _let_go(connection, SKIP, item_id, person_id)


async def unskip(connection: AsyncConnection, queue_id: UUID, person_id: UUID) -> int:
    """Have everything back that the person skipped in a queue; how many items.

    One with a known answer counts among them, as its absence would tell, and is closed: who has held it could
    have looked at its reviews since. A blind one stays with others.
    """
    return (await connection.execute(UNSKIP, {"queue": queue_id, "person": person_id})).rowcount


async def _let_go(
    connection: AsyncConnection, statement: sa.TextClause, item_id: int, person_id: UUID
) -> UUID:
    row = (await connection.execute(statement, {"item": item_id, "person": person_id})).first()
    if row is None:
        raise ClaimLost("item: expected one that you hold, got one that is done or somebody else's by now")
    queue_id: UUID = row[0]
    return queue_id


async def _exists(connection: AsyncConnection, decision_id: UUID) -> bool:
    between = bounds(decision_id)
    if between is None:
        return False
    values = {"since": between[0], "until": between[1], "decision": decision_id}
    return bool((await connection.execute(EXISTS, values)).scalar_one())
