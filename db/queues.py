"""Queues: what waits for a reader, and how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from db.identifiers import identifier
from db.review_tables import queues
from db.reviews import ReviewRejected


class Kind(StrEnum):
    """Where a queue's items come from.

    ``escalations``: every escalated decision. ``sample``: a random part of the silent ignores. ``second``:
    blind second readings, dealt by reviews in other queues. ``hand``: decisions that somebody picked.
    """

    ESCALATIONS = "escalations"
    SAMPLE = "sample"
    SECOND = "second"
    HAND = "hand"


class Stratum(StrEnum):
    """What a sample is spread over: a column of ``ai_decisions``, or nothing."""

    NONE = ""
    REASON_CODE = "reason_code"
    MATCHED_RULE = "matched_rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How silent ignores are drawn; the same seed draws the same decisions.

    Attributes:
        share: 0..1, of every decision; 0 when ``each`` says how many.
        each: so many of every stratum and whole day, UTC; 0 when ``share`` says how many.
        per: the stratum.
        most: filling pauses while so many wait.
        seed: any whole number.
    """

    share: float = 0.0
    each: int = 0
    per: Stratum = Stratum.REASON_CODE
    most: int = 500
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ReviewRejected(f"share: expected 0 to 1, got {self.share}")
        if not 0 <= self.each <= 1000:
            raise ReviewRejected(f"each: expected 0 to 1000 a stratum and day, got {self.each}")
        if (self.share > 0) == (self.each > 0):
            raise ReviewRejected(
                "sample: expected either a share or a number per stratum, got both or neither"
            )
        if not 1 <= self.most <= 100_000:
            raise ReviewRejected(f"most: expected 1 to 100000, got {self.most}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A queue as somebody wants it.

    Attributes:
        sample: how to draw, for a queue of kind sample and for no other.
        lease_s: how long an item is its reader's.
        golden_share: 0..1, how often an item with a known answer is dealt.
        second_share: 0..1, how often an answer is read again by somebody else.
    """

    name: str
    kind: Kind
    sample: Sample | None = None
    lease_s: int = 300
    golden_share: float = 0.0
    second_share: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())
        if not 0 < len(self.name) <= 100:
            raise ReviewRejected(f"name: expected 1 to 100 characters, got {len(self.name)}")
        if not 10 <= self.lease_s <= 86_400:
            raise ReviewRejected(f"lease: expected 10 to 86400 s, got {self.lease_s}")
        for field_name, share in (("golden share", self.golden_share), ("second share", self.second_share)):
            if not 0 <= share <= 1:
                raise ReviewRejected(f"{field_name}: expected 0 to 1, got {share}")
        if (self.kind is Kind.SAMPLE) != (self.sample is not None):
            raise ReviewRejected("sample: expected how to draw, for a queue of kind sample and for no other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One queue as it is set up.

    Attributes:
        accounts: those it is filled from and shown for; None for every account.
    """

    id: UUID
    name: str
    kind: Kind
    sample: Sample | None
    lease_s: int
    golden_share: float
    second_share: float
    filled_to: datetime | None
    created_at: datetime
    created_by: str
    closed_at: datetime | None
    accounts: tuple[str, ...] | None = None

    def within(self, accounts: Sequence[str] | None) -> Sequence[str] | None:
        """Of these accounts, None for all, those that the queue is for."""
        if self.accounts is None or accounts is None:
            return accounts if self.accounts is None else self.accounts
        return tuple(each for each in self.accounts if each in accounts)

    def is_for(self, accounts: Sequence[str] | None) -> bool:
        """Whether it may hold something of these accounts."""
        return self.accounts is None or self.within(accounts) != ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Somebody at work on an item."""

    holder: str
    decision_id: UUID
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much waits in a queue, for the accounts a person may see.

    Attributes:
        waiting: open and held by nobody.
        held: open and held right now.
        done_today: answered since midnight, UTC.
        skipped: open, skipped by the person who asks, and theirs to have back; blind ones are not.
        oldest: when the oldest open decision was made.
        holders: who holds something, the first ten.
    """

    waiting: int = 0
    held: int = 0
    done_today: int = 0
    skipped: int = 0
    oldest: datetime | None = None
    holders: tuple[Holding, ...] = field(default_factory=tuple)


LOADS: Final = sa.text("""
    SELECT i.queue_id,
           count(*) FILTER (WHERE i.done_at IS NULL
                            AND (i.claimed_until IS NULL OR i.claimed_until <= :now)) AS waiting,
           count(*) FILTER (WHERE i.done_at IS NULL AND i.claimed_until > :now) AS held,
           count(*) FILTER (WHERE i.done_at >= :today AND i.review_id IS NOT NULL) AS done_today,
           count(*) FILTER (WHERE i.done_at IS NULL AND :person = ANY(i.skipped_by)
                            AND i.first_review IS NULL) AS skipped,
           min(i.decision_at) FILTER (WHERE i.done_at IS NULL) AS oldest
    FROM queue_items i
    WHERE (i.done_at IS NULL OR i.done_at >= :today)
        AND (NOT i.golden OR i.only_for = :person AND i.done_at IS NULL)
        AND (:every OR i.user_id = ANY(:accounts))
    GROUP BY i.queue_id
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
CLOSE: Final = sa.text("UPDATE queues SET closed_at = :now WHERE id = :queue AND closed_at IS NULL")
PICK: Final = sa.text("""
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, assigned_to, created_at)
    SELECT :queue, d.id, d.created_at, d.user_id, '', :assigned_to, :now
    FROM ai_decisions d
    WHERE d.id = ANY(:ids) AND d.created_at BETWEEN :since AND :until
        AND (:every OR d.user_id = ANY(:accounts))
    ON CONFLICT DO NOTHING
""")


async def all_open(connection: AsyncConnection) -> tuple[Queue, ...]:
    """Queues that are not closed, in the order they were made."""
    query = sa.select(queues).where(queues.c.closed_at.is_(None)).order_by(queues.c.created_at, queues.c.name)
    return tuple(_queue(row) for row in (await connection.execute(query)).mappings())


async def one(connection: AsyncConnection, queue_id: UUID) -> Queue | None:
    """A queue by its id, closed or not."""
    row = (await connection.execute(sa.select(queues).where(queues.c.id == queue_id))).mappings().first()
    return _queue(row) if row else None


async def loads(
    connection: AsyncConnection, *, person_id: UUID, accounts: Sequence[str] | None, now: datetime
) -> Mapping[UUID, Load]:
    """How much waits in each queue; queues without an item are missing. ``accounts`` None: every account."""
    values = {
        "now": now,
        "today": now.replace(hour=0, minute=0, second=0, microsecond=0),
        "person": person_id,
        **visible(accounts),
    }
    holders: dict[UUID, list[Holding]] = {}
    for row in (await connection.execute(HOLDERS, values)).mappings():
        found = dict(row)
        holders.setdefault(found.pop("queue_id"), []).append(Holding(**found))
    counted = [dict(row) for row in (await connection.execute(LOADS, values)).mappings()]
    return {
        (queue_id := row.pop("queue_id")): Load(**row, holders=tuple(holders.get(queue_id, ())))
        for row in counted
    }


async def create(
    connection: AsyncConnection,
    opening: Opening,
    *,
    accounts: Sequence[str] | None = None,
    created_by: str,
    now: datetime,
) -> UUID:
    """Open a queue for these accounts, None for every account; its id.

    Raises:
        ReviewRejected: the name is taken.
    """
    statement = insert(queues).values(
        id=identifier(now),
        name=opening.name,
        kind=opening.kind,
        definition=_definition(opening.sample) | ({} if accounts is None else {"accounts": list(accounts)}),
        lease_s=opening.lease_s,
        golden_share=opening.golden_share,
        second_share=opening.second_share,
        created_by=created_by,
        created_at=now,
    )
    done = await connection.execute(statement.on_conflict_do_nothing().returning(queues.c.id))
    queue_id: UUID | None = done.scalar()
    if queue_id is None:
        raise ReviewRejected(
            f"name: expected one that no other queue has, open or closed, got {opening.name!r}"
        )
    return queue_id


async def close(connection: AsyncConnection, queue_id: UUID, now: datetime) -> bool:
    """Close a queue: nobody is dealt its items any more; False when it is closed already."""
    return bool((await connection.execute(CLOSE, {"queue": queue_id, "now": now})).rowcount)


async def pick(
    connection: AsyncConnection,
    queue_id: UUID,
    decisions: Mapping[UUID, datetime],
    *,
    accounts: Sequence[str] | None,
    assigned_to: UUID | None = None,
    now: datetime,
) -> int:
    """Put decisions, given with the moment each was made, into a queue by hand; how many were new there."""
    if not decisions:
        return 0
    values = {
        "queue": queue_id,
        "ids": list(decisions),
        "since": min(decisions.values()),
        "until": max(decisions.values()),
        "assigned_to": assigned_to,
        "now": now,
        **visible(accounts),
    }
    return (await connection.execute(PICK, values)).rowcount


def visible(accounts: Sequence[str] | None) -> dict[str, object]:
    """Parameters of ``(:every OR user_id = ANY(:accounts))``."""
    return {"every": accounts is None, "accounts": list(accounts or ())}


def _definition(sample: Sample | None) -> dict[str, Any]:
    if sample is None:
        return {}
    amount = {"share": sample.share} if sample.share else {"each": sample.each}
    return {**amount, "per": str(sample.per), "most": sample.most, "seed": sample.seed}


def _queue(row: Any) -> Queue:  # noqa: ANN401  # a row mapping
    values = dict(row)
    definition = values.pop("definition")
    accounts = definition.pop("accounts", None)
    kind = Kind(values["kind"])
    sample = None
    if kind is Kind.SAMPLE:
        sample = Sample(**{**definition, "per": Stratum(definition.get("per", ""))})
    limits = None if accounts is None else tuple(accounts)
    return Queue(**{**values, "kind": kind, "sample": sample, "accounts": limits})
