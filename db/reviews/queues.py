"""Queues: their definition, opening and closing them, and adding decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from db.connection import Connection
from db.identifiers import uuid_at
from db.review_tables import queues
from db.reviews.rulings import ReviewRejected
from db.rows import Row, account_parameters, all_rows, changed_rows, first_row, from_row, is_known


class QueueKind(StrEnum):
    """The origin of a queue's items.

    ``escalations``: every escalated decision. ``sample``: a random part of what ``Drawn`` names. ``second``:
    blind second readings, dealt by reviews in other queues. ``hand``: decisions added by a lead.
    ``objections``: replies that a customer calls wrong, and what moderation flagged late.
    """

    ESCALATIONS = "escalations"
    SAMPLE = "sample"
    SECOND = "second"
    HAND = "hand"
    OBJECTIONS = "objections"


class Stratum(StrEnum):
    """The strata of a sample, as ``db.figures.figure_sql.SampleDimension``; or a sample without strata."""

    NONE = ""
    REASON_CODE = "reason_code"
    MATCHED_RULE = "matched_rule"
    POLICY = "policy"
    LANGUAGE = "language"
    CONFIDENCE_BAND = "confidence_band"


class Drawn(StrEnum):
    """Which decisions a sample draws from.

    ``silent``: ignores, but for those that follow from settings or the clock. ``sent``: decisions with a
    reply. ``all``: both.
    """

    SILENT = "silent"
    SENT = "sent"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How decisions are drawn; the same seed draws the same decisions.

    Attributes:
        share: 0..1 of all decisions; 0 when ``each`` is set.
        each: number per stratum and whole day, UTC; 0 when ``share`` is set.
        most: filling pauses while this many items are open.
        drawn: the decisions it is drawn from.
    """

    share: float = 0.0
    each: int = 0
    per: Stratum = Stratum.REASON_CODE
    most: int = 500
    seed: int = 1
    drawn: Drawn = Drawn.SILENT

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
class NewQueue:
    """A queue to open.

    Attributes:
        sample: how to draw; required for kind sample, forbidden for others.
        golden_share: 0..1, how often a golden item is dealt.
        second_share: 0..1, how often an answer gets a blind second reading.
    """

    name: str
    kind: QueueKind
    sample: Sample | None = None
    lease_s: int = 300
    golden_share: float = 0.0
    second_share: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())
        if not 0 < len(self.name) <= 100:
            raise ReviewRejected(f"name: expected 1 to 100 characters, got {len(self.name)}")
        if not 10 <= self.lease_s <= 86_400:
            raise ReviewRejected(f"claim duration: expected 10 to 86400 s, got {self.lease_s}")
        for field_name, share in (("golden share", self.golden_share), ("second share", self.second_share)):
            if not 0 <= share <= 1:
                raise ReviewRejected(f"{field_name}: expected 0 to 1, got {share}")
        if (self.kind is QueueKind.SAMPLE) != (self.sample is not None):
            raise ReviewRejected("sample: expected how to draw, for a queue of kind sample and for no other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A stored queue; ``accounts``: the accounts it is filled from and shown for; None for every account."""

    id: UUID
    name: str
    kind: QueueKind
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
        """The accounts, None for all, that are also accounts of the queue."""
        if self.accounts is None or accounts is None:
            return accounts if self.accounts is None else self.accounts
        return tuple(each for each in self.accounts if each in accounts)

    def is_for(self, accounts: Sequence[str] | None) -> bool:
        """Whether it may contain decisions of these accounts."""
        return self.accounts is None or self.within(accounts) != ()


DEALT_TO: Final = """
    (i.only_for IS NULL OR i.only_for = :person) AND (i.not_for IS NULL OR i.not_for <> :person)
    AND NOT :person = ANY(i.skipped_by)
    AND (i.first_review IS NULL OR NOT EXISTS (
        SELECT FROM decision_reviews r WHERE r.decision_id = i.decision_id AND r.person_id = :person))
"""
"""Whether an item may be dealt to a person; callers check ``assigned_to`` separately."""
FREE: Final = "(i.claimed_until IS NULL OR i.claimed_until <= :now)"
YOURS: Final = f"(i.assigned_to IS NULL OR i.assigned_to = :person) AND {DEALT_TO}"
FOR_PERSON: Final = f"""
    i.done_at IS NULL AND {FREE} AND {YOURS}
    AND (NOT i.golden OR i.only_for = :person) AND (:every OR i.user_id = ANY(:accounts))
"""
"""Whether an item waits for a person who reviews these accounts."""
CLOSE: Final = sa.text("UPDATE queues SET closed_at = :now WHERE id = :queue AND closed_at IS NULL")
ADD: Final = sa.text("""
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, assigned_to, created_at)
    SELECT :queue, d.id, d.created_at, d.user_id, '', :assigned_to, :now
    FROM ai_decisions d
    WHERE d.id = ANY(:ids) AND d.created_at BETWEEN :since AND :until
        AND (:every OR d.user_id = ANY(:accounts))
    ON CONFLICT DO NOTHING
""")


async def list_open_queues(connection: Connection) -> tuple[Queue, ...]:
    """Open queues, in the order they were opened."""
    query = sa.select(queues).where(queues.c.closed_at.is_(None), is_known(queues.c.kind, QueueKind))
    query = query.order_by(queues.c.created_at, queues.c.name)
    return tuple(_queue(row) for row in await all_rows(connection, query))


async def get_queue(connection: Connection, queue_id: UUID) -> Queue | None:
    """A queue by its id, closed or not."""
    query = sa.select(queues).where(queues.c.id == queue_id, is_known(queues.c.kind, QueueKind))
    row = await first_row(connection, query)
    return _queue(row) if row else None


async def create_queue(
    connection: Connection,
    new_queue: NewQueue,
    *,
    accounts: Sequence[str] | None = None,
    created_by: str,
    now: datetime,
    shadow: UUID | None = None,
) -> UUID:
    """Open a queue for these accounts, None for every account; its id.

    Differences that the ``shadow`` finds are added by ``trials.store.shadow_queues``.

    Raises:
        ReviewRejected: another queue of these accounts has the name.
    """
    statement = insert(queues).values(
        id=uuid_at(now),
        name=new_queue.name,
        kind=new_queue.kind,
        definition=_definition(new_queue.sample)
        | ({} if accounts is None else {"accounts": sorted(accounts)})
        | ({} if shadow is None else {"shadow": str(shadow)}),
        lease_s=new_queue.lease_s,
        golden_share=new_queue.golden_share,
        second_share=new_queue.second_share,
        created_by=created_by,
        created_at=now,
    )
    done = await connection.execute(statement.on_conflict_do_nothing().returning(queues.c.id))
    queue_id: UUID | None = done.scalar()
    if queue_id is None:
        raise ReviewRejected(
            "name: expected one that no other queue of these accounts has, open or closed,"
            f" got {new_queue.name!r}"
        )
    return queue_id


async def close_queue(connection: Connection, queue_id: UUID, now: datetime) -> bool:
    """Close a queue, so that its items are no longer dealt; False when the queue was closed already."""
    return bool(await changed_rows(connection, CLOSE, {"queue": queue_id, "now": now}))


async def add_decisions(
    connection: Connection,
    queue_id: UUID,
    decisions: Mapping[UUID, datetime],
    *,
    accounts: Sequence[str] | None,
    assigned_to: UUID | None = None,
    now: datetime,
) -> int:
    """Add decisions, each with its creation time, to a queue; how many were new."""
    if not decisions:
        return 0
    values = {
        "queue": queue_id,
        "ids": list(decisions),
        "since": min(decisions.values()),
        "until": max(decisions.values()),
        "assigned_to": assigned_to,
        "now": now,
        **account_parameters(accounts),
    }
    return await changed_rows(connection, ADD, values)


def _definition(sample: Sample | None) -> dict[str, Any]:
    if sample is None:
        return {}
    amount = {"share": sample.share} if sample.share else {"each": sample.each}
    drawn, per = str(sample.drawn), str(sample.per)
    return {**amount, "drawn": drawn, "per": per, "most": sample.most, "seed": sample.seed}


def parse_sample(definition: Mapping[str, Any]) -> Sample:
    """How a queue of kind sample is drawn, from its stored definition without accounts."""
    return from_row(Sample, definition)


def _queue(row: Row) -> Queue:
    definition = row["definition"]
    sample = parse_sample(definition) if row["kind"] == QueueKind.SAMPLE else None
    return from_row(Queue, row | {"accounts": definition.get("accounts"), "sample": sample})
