"""How much waits in each queue, and who holds items of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.connection import Connection
from db.reviews.queues import FOR_PERSON, FREE, YOURS
from db.rows import account_parameters, all_rows

LOADS: Final = sa.text(f"""
    WITH open AS (
        SELECT i.queue_id, count(*) FILTER (WHERE {FREE}) AS waiting,
               count(*) FILTER (WHERE {FREE} AND {YOURS}) AS for_you,
               count(*) FILTER (WHERE i.claimed_until > :now) AS held,
               count(*) FILTER (WHERE i.claimed_by = :person) AS mine,
               count(*) FILTER (WHERE :person = ANY(i.skipped_by) AND i.first_review IS NULL) AS skipped,
               min(i.decision_at) AS oldest
        FROM queue_items i
        WHERE i.done_at IS NULL AND (NOT i.golden OR i.only_for = :person)
            AND (:every OR i.user_id = ANY(:accounts))
        GROUP BY i.queue_id
    ), done AS (
        SELECT i.queue_id, count(*) AS done_today FROM queue_items i
        WHERE i.done_at >= :today AND i.review_id IS NOT NULL AND NOT i.golden
            AND (:every OR i.user_id = ANY(:accounts))
        GROUP BY i.queue_id
    )
    SELECT queue_id, coalesce(waiting, 0) AS waiting, coalesce(for_you, 0) AS for_you,
           coalesce(held, 0) AS held, coalesce(mine, 0) AS mine, coalesce(done_today, 0) AS done_today,
           coalesce(skipped, 0) AS skipped, oldest
    FROM open FULL JOIN done USING (queue_id)
""")
HOLDERS: Final = sa.text("""
    SELECT queue_id, holder, decision_id, claimed_until AS until FROM (
        SELECT i.queue_id, coalesce(nullif(p.name, ''), p.login) AS holder, i.decision_id, i.claimed_until,
               row_number() OVER (PARTITION BY i.queue_id ORDER BY i.claimed_until, i.id) AS place
        FROM queue_items i JOIN people p ON p.id = i.claimed_by
        WHERE i.done_at IS NULL AND i.claimed_until > :now
            AND (i.claimed_by = :person OR NOT i.golden AND i.first_review IS NULL)
            AND (:every OR i.user_id = ANY(:accounts))
    ) AS numbered WHERE place <= 10 ORDER BY queue_id, place
""")

FOR_YOU: Final = sa.text(f"""
    SELECT count(*) FROM (
        SELECT FROM queue_items i JOIN queues q ON q.id = i.queue_id AND q.closed_at IS NULL
        WHERE {FOR_PERSON} LIMIT :most
    ) AS waiting
""")
DONE: Final = sa.text("""
    SELECT count(*) FROM queue_items i JOIN decision_reviews r ON r.id = i.review_id
    WHERE i.queue_id = :queue AND i.done_at >= :since AND i.review_id IS NOT NULL AND r.person_id = :person
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemHolder:
    """A person who holds an item."""

    holder: str
    decision_id: UUID
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLoad:
    """The items of a queue, for the accounts a person may see.

    Attributes:
        waiting: open and not held, for any reviewer.
        for_you: the waiting items that this person can be dealt.
        mine: open and claimed by this person, also with an ended lease.
        done_today: answered since the given midnight.
        skipped: open and skipped by this person, without blind items.
        oldest: creation time of the oldest open decision.
        holders: the first ten people who hold an item.
    """

    waiting: int = 0
    for_you: int = 0
    held: int = 0
    mine: int = 0
    done_today: int = 0
    skipped: int = 0
    oldest: datetime | None = None
    holders: tuple[ItemHolder, ...] = ()

    @property
    def has_next(self) -> bool:
        """Whether this person can take an item, or go on with one."""
        return bool(self.for_you or self.mine)

    @property
    def for_others(self) -> int:
        """Waiting items this person cannot be dealt: skipped, assigned to others, or already reviewed."""
        return self.waiting - self.for_you


async def count_done(connection: Connection, queue_id: UUID, person_id: UUID, *, since: datetime) -> int:
    """How many items of a queue a person answered."""
    values = {"queue": queue_id, "person": person_id, "since": since}
    return int((await connection.execute(DONE, values)).scalar_one())


async def count_for_person(
    connection: Connection, *, person_id: UUID, accounts: Sequence[str] | None, now: datetime, most: int
) -> int:
    """The items of all open queues that the person can be dealt, counted up to ``most``."""
    values = {"now": now, "person": person_id, "most": most, **account_parameters(accounts)}
    return int((await connection.execute(FOR_YOU, values)).scalar_one())


async def load_counts(
    connection: Connection, *, person_id: UUID, accounts: Sequence[str] | None, now: datetime, today: datetime
) -> Mapping[UUID, QueueLoad]:
    """The load of each queue that has items; ``today`` is a midnight, ``accounts`` None: every account."""
    values = {
        "now": now,
        "today": today,
        "person": person_id,
        **account_parameters(accounts),
    }
    holders: dict[UUID, list[ItemHolder]] = {}
    for row in await all_rows(connection, HOLDERS, values):
        holders.setdefault(row.pop("queue_id"), []).append(ItemHolder(**row))
    return {
        (queue_id := row.pop("queue_id")): QueueLoad(**row, holders=tuple(holders.get(queue_id, ())))
        for row in await all_rows(connection, LOADS, values)
    }
