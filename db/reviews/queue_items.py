"""Queue items under review: which one a person holds, and what a review changes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from db.audit.filters import Filters
from db.collaboration import assignments
from db.connection import Connection
from db.reviews.queues import FOR_PERSON
from db.reviews.rulings import ReviewSource
from db.rows import Row, account_parameters, all_rows, from_row, row_as

ITEM: Final = """
    SELECT i.id AS item_id, i.queue_id, i.decision_id, i.user_id, i.golden, i.first_review, i.claimed_until,
           q.name AS queue, q.kind, q.second_share
    FROM queue_items i JOIN queues q ON q.id = i.queue_id
"""
MINE: Final = f"""
    {ITEM} WHERE i.decision_id = :decision AND i.claimed_by = :person AND i.done_at IS NULL
    ORDER BY i.golden DESC, i.first_review IS NULL, i.claimed_until DESC, i.id LIMIT 1
"""
HELD: Final = sa.text(MINE)
LOCK: Final = f"WITH locked AS MATERIALIZED ({assignments.LOCK_ITEMS})"
LOCKED: Final = sa.text(f"{LOCK} {MINE.replace('FROM queue_items i', 'FROM locked i')}")
CLAIMED: Final = sa.text(f"""
    SELECT c.id AS item_id, c.queue_id, c.decision_id, c.user_id, c.golden, c.first_review, c.claimed_until,
           q.name AS queue, q.kind, q.second_share, c.claimed_by,
           coalesce(nullif(p.name, ''), p.login) AS holder,
           CASE WHEN c.claimed_by = :person THEN (
               SELECT count(*) FROM queue_items i WHERE i.queue_id = c.queue_id AND {FOR_PERSON}
           ) END AS items_left
    FROM queue_items c JOIN queues q ON q.id = c.queue_id JOIN people p ON p.id = c.claimed_by
    WHERE c.decision_id = :decision AND c.done_at IS NULL
    ORDER BY c.golden DESC, c.first_review IS NULL, c.claimed_until DESC, c.id
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
"""Items of samples stay open: reviews outside the queue are not random draws."""
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
        claimed_by = CASE WHEN i.first_review IS NULL THEN i.claimed_by END,
        claimed_until = CASE WHEN i.first_review IS NOT NULL THEN NULL
                             WHEN i.id = r.item_id THEN :now + q.lease_s * interval '1 second'
                             ELSE i.claimed_until END
    FROM queues q, decision_reviews r
    WHERE q.id = i.queue_id AND i.review_id = :review AND r.id = :review AND q.closed_at IS NULL
""")
RELEASE_LATER: Final = sa.text("""
    UPDATE queue_items i SET claimed_until = :now
    FROM queue_items back, decision_reviews r
    WHERE r.id = :review AND back.id = r.item_id AND back.done_at IS NULL
        AND i.queue_id = back.queue_id AND i.id <> back.id
        AND i.claimed_by = back.claimed_by AND i.done_at IS NULL AND i.claimed_until > :now
""")
"""Ends the leases; the reviews stay hidden from the person until the items are dealt again."""
QUEUE_OF: Final = sa.text("SELECT queue_id FROM queue_items WHERE id = :item")
CLOSE_SECOND: Final = sa.text("""
    UPDATE queue_items SET done_at = :now WHERE first_review = :review AND done_at IS NULL
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldItem:
    """An item that a person has claimed and not answered, even if its lease is over.

    Attributes:
        golden: the item has a known answer, which its holder must not notice before answering.
        first_review: the review that a blind second reading is compared with, or None.
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
    second_share: float

    @property
    def source(self) -> ReviewSource:
        """The source of a review that answers it."""
        if self.golden:
            return ReviewSource.GOLDEN
        return ReviewSource.QUEUE if self.first_review is None else ReviewSource.BLIND

    @property
    def hides_reviews(self) -> bool:
        """True when its answer is compared with others, which its holder must not see."""
        return self.golden or self.first_review is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionClaims:
    """Who holds items on a decision.

    Attributes:
        item: the person's own item, see ``held_item``.
        left: other items of its queue that wait for the person.
        holders: other people's items that are claimed now, without blind and golden ones.
    """

    item: HeldItem | None
    left: int
    holders: tuple[dict[str, Any], ...]


async def held_item(connection: Connection, decision_id: UUID, person_id: UUID) -> HeldItem | None:
    """The item on a decision that a person holds; a blind or golden one before others."""
    return await row_as(connection, HeldItem, HELD, {"decision": decision_id, "person": person_id})


async def locked_item(connection: Connection, decision_id: UUID, person_id: UUID) -> HeldItem | None:
    """``held_item``; every item of the decision is locked until the transaction ends."""
    return await row_as(connection, HeldItem, LOCKED, {"decision": decision_id, "person": person_id})


async def load_claims(
    connection: Connection,
    decision_id: UUID,
    person_id: UUID,
    now: datetime,
    *,
    accounts: Sequence[str] | None,
) -> DecisionClaims:
    """Who holds items on a decision, as a person may see who reviews these accounts; None: every account."""
    values = {"decision": decision_id, "person": person_id, "now": now, **account_parameters(accounts)}
    rows = await all_rows(connection, CLAIMED, values)
    own = next((row for row in rows if row["claimed_by"] == person_id), None)
    others = [
        row
        for row in rows
        if row["claimed_by"] != person_id
        and row["claimed_until"] > now
        and not row["golden"]
        and row["first_review"] is None
    ]
    return DecisionClaims(
        item=from_row(HeldItem, own) if own else None,
        left=own["items_left"] if own else 0,
        holders=tuple(sorted(others, key=lambda row: row["claimed_until"], reverse=True)),
    )


async def items_held_by(
    connection: Connection, person_id: UUID, *, accounts: Sequence[str] | None, now: datetime
) -> tuple[dict[str, Any], ...]:
    """The items a person holds now, in all queues; ``accounts`` None: every account."""
    values = {"person": person_id, "now": now, **account_parameters(accounts)}
    return await all_rows(connection, HELD_BY, values)


async def hidden_decisions(connection: Connection, person_id: UUID) -> frozenset[UUID]:
    """Decisions whose reviews and review states must be hidden from a person, on every page.

    All that the person holds: hiding only blind and golden ones would disclose which these are.
    """
    rows = await connection.execute(HIDDEN, {"person": person_id})
    return frozenset(rows.scalars())


async def settle_items(
    connection: Connection,
    decision_id: UUID,
    *,
    review_id: UUID,
    answered: HeldItem | None,
    person_id: UUID | None,
    now: datetime,
) -> None:
    """Close the item a review answers and items it makes unnecessary; queue a second reading where due."""
    values: Row = {"decision": decision_id, "review": review_id, "person": person_id, "now": now}
    if answered is not None:
        values["item"] = answered.item_id
        await connection.execute(ANSWER, values)
        if answered.hides_reviews:
            return
        if is_drawn(review_id, answered.second_share):
            await connection.execute(SECOND, values)
    await connection.execute(SETTLE, values)
    await assignments.end_assignment(connection, decision_id, review_id, now)


async def reopen_items(connection: Connection, review_id: UUID, now: datetime) -> None:
    """Reopen the items that a withdrawn review closed, and close its second reading.

    The person holds the answered item again, and releases items dealt after it in the same queue. A blind
    item waits for another person, because this one has seen the first review since.
    """
    for statement in (REOPEN, RELEASE_LATER, CLOSE_SECOND):
        await connection.execute(statement, {"review": review_id, "now": now})
    await assignments.reopen_assignment(connection, review_id)


async def queue_of(connection: Connection, item_id: int) -> UUID:
    """The queue of an item."""
    queue_id: UUID = (await connection.execute(QUEUE_OF, {"item": item_id})).scalar_one()
    return queue_id


def is_drawn(key: UUID, share: float) -> bool:
    """Whether a key is in a share of all keys; always the same answer for the same key."""
    first = int.from_bytes(hashlib.sha256(key.bytes).digest()[:8])
    return first < share * 2**64


def lease_end(now: datetime, lease_s: int) -> datetime:
    """The end of a claim made now."""
    return now + timedelta(seconds=lease_s)


async def with_hidden_reviews(connection: Connection, filters: Filters, person_id: UUID) -> Filters:
    """The filters for one person: decisions that the person holds count as neither reviewed nor answered.

    A decision that is left out instead would be missing under every review state, which discloses as much.
    """
    if filters.review is None and filters.answered is None:
        return filters
    return hiding(filters, await hidden_decisions(connection, person_id))


def hiding(filters: Filters, hidden: Collection[UUID]) -> Filters:
    """The filters with these decisions as neither reviewed nor answered."""
    unaffected = filters.review is None and filters.answered is None
    return filters if unaffected else replace(filters, hidden=tuple(sorted(hidden)))
