"""Claims: who holds an item, until when, and how it is released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.identifiers import uuid_time_bounds
from db.reviews.queue_items import lease_end
from db.reviews.queues import DEALT_TO, Queue, QueueKind
from db.reviews.rulings import Reviewer, ReviewRejected
from db.rows import account_parameters, changed_rows, first_row
from db.tables import NOT_ERASED
from worker.model import DecisionKind

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
        SELECT i.id FROM queue_items i
        WHERE i.queue_id = :queue AND i.done_at IS NULL AND {assigned}
            AND (i.claimed_until IS NULL OR i.claimed_until <= :now)
            AND (:every OR i.user_id = ANY(:accounts))
            AND {dealt_to}
        ORDER BY i.id LIMIT 1 FOR UPDATE OF i SKIP LOCKED)
"""
HELD: Final = sa.text(f"{MINE} {CLAIMED}")
ASSIGNED: Final = sa.text(f"{NEXT.format(assigned='i.assigned_to = :person', dealt_to=DEALT_TO)} {CLAIMED}")
UNASSIGNED: Final = sa.text(f"{NEXT.format(assigned='i.assigned_to IS NULL', dealt_to=DEALT_TO)} {CLAIMED}")
GOLDEN: Final = sa.text(f"""
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
    ON CONFLICT DO NOTHING {CLAIMED}
""")
DECISIONS: Final = {QueueKind.ESCALATIONS: DecisionKind.ESCALATE, QueueKind.SAMPLE: DecisionKind.IGNORE}
"""The decision that all items of such a queue have; a golden item of another would be recognisable."""
EXISTS: Final = sa.text(f"""
    SELECT EXISTS (SELECT FROM ai_decisions
                   WHERE created_at BETWEEN :since AND :until AND id = :decision AND {NOT_ERASED})
""")
CLOSE_ERASED: Final = sa.text("UPDATE queue_items SET done_at = :now WHERE id = :item")
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
    """The person no longer holds the item: its lease ended and another person claimed it, or it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An item held by a person until a moment; it does not disclose whether the item is golden."""

    item_id: int
    queue_id: UUID
    decision_id: UUID
    user_id: str
    claimed_until: datetime


async def claim_next(
    connection: Connection,
    queue: Queue,
    reader: Reviewer,
    *,
    accounts: Sequence[str] | None,
    draw: float,
    now: datetime,
) -> Claim | None:
    """The item that the person already holds, else a new item; None when no item waits for the person.

    ``accounts`` are those the person may review, None for all. When ``draw``, random in 0..1, is below the
    queue's golden share, a golden item is dealt.
    """
    values = {
        "queue": queue.id,
        "person": reader.person_id,
        "login": reader.login,
        "now": now,
        "until": lease_end(now, queue.lease_s),
        "decisions": DECISIONS.get(queue.kind, ""),
        **account_parameters(queue.within(accounts)),
    }
    golden = (GOLDEN,) if draw < queue.golden_share else ()
    for statement in (HELD, *golden, ASSIGNED, UNASSIGNED):
        while (found := await first_row(connection, statement, values)) is not None:
            claimed = Claim(**found)
            since, until = uuid_time_bounds(claimed.decision_id)
            span = {"since": since, "until": until, "decision": claimed.decision_id}
            if (await connection.execute(EXISTS, span)).scalar_one():
                return claimed
            await connection.execute(CLOSE_ERASED, {"item": claimed.item_id, "now": now})
    return None


async def renew_claim(connection: Connection, item_id: int, person_id: UUID, now: datetime) -> datetime:
    """Renew the claim on a held item; the new end."""
    until: datetime = await _update_claim(connection, RENEW, item_id, person_id, now=now)
    return until


async def release_item(connection: Connection, item_id: int, person_id: UUID) -> UUID:
    """Release a held item for everyone; its queue. A blind item is not dealt to the same person again."""
    queue_id: UUID = await _update_claim(connection, RELEASE, item_id, person_id)
    return queue_id


async def skip_item(connection: Connection, item_id: int, person_id: UUID) -> UUID:
    """Skip a held item, which from now on is dealt to others only; its queue. Skips are not counted."""
    queue_id: UUID = await _update_claim(connection, SKIP, item_id, person_id)
    return queue_id


async def restore_skipped(connection: Connection, queue_id: UUID, person_id: UUID) -> int:
    """Return to a person the items that they skipped in a queue; how many.

    Golden items are counted, because their absence would disclose them, and closed: the person could have
    read their reviews since. Blind items stay with others.
    """
    return await changed_rows(connection, UNSKIP, {"queue": queue_id, "person": person_id})


async def _update_claim(
    connection: Connection, statement: sa.TextClause, item_id: int, person_id: UUID, **more: datetime
) -> Any:
    """What an update of a held item returns; raises ``ClaimLost``: the person does not hold it."""
    row = (await connection.execute(statement, {"item": item_id, "person": person_id, **more})).first()
    if row is None:
        raise ClaimLost("item: expected one that you hold, got one that is done or held by another person")
    return row[0]
