"""Filling queues from the audit: on demand, in bounded slices, with a repeatable draw."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.figure_sql import EXPRESSIONS, SampleDimension
from db.reviews.queues import Drawn, Queue, QueueKind, Sample, Stratum
from db.rows import account_parameters
from worker.reasons import Reason, ReasonFamily, reasons_of

LOOK_BACK: Final = timedelta(days=7)
"""A queue that was not filled for longer continues from here; use a filter for older decisions."""
OVERLAP: Final = timedelta(seconds=60)
"""Read again: a worker may commit after another that decided later."""
SLICE: Final = 10_000
"""Decisions read by one statement: about 50 ms."""
SLICES: Final = 5
"""Statements per call; the next call continues."""
FACTS: Final = (
    *reasons_of(ReasonFamily.SETTINGS, ReasonFamily.TOO_LATE, ReasonFamily.FEEDBACK),
    Reason.MESSAGE_CHECKED,
)
"""Silent endings that follow from settings or the clock, are feedback or let a program answer: no review."""

LOCK: Final = sa.text("SELECT filled_to FROM queues WHERE id = :queue FOR NO KEY UPDATE SKIP LOCKED")
OPEN: Final = sa.text("""
    SELECT count(*) FROM (
        SELECT FROM queue_items WHERE queue_id = :queue AND done_at IS NULL LIMIT :most) AS o
""")
ADVANCE: Final = sa.text("UPDATE queues SET filled_to = :to WHERE id = :queue")
SLICE_OF: Final = """
    WITH slice AS (
        SELECT id, created_at, user_id, decision, reason_code, {stratum} AS stratum,
               snapshot_json ? 'erased' AS erased
        FROM ai_decisions
        WHERE created_at >= :since AND created_at < :until ORDER BY created_at, id LIMIT :slice
    ), put AS (
        INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, chance, created_at)
        SELECT :queue, id, created_at, user_id, stratum, CAST(:chance AS float8), :now
        FROM slice WHERE {condition} AND NOT erased AND (:every OR user_id = ANY(:accounts))
        ORDER BY created_at, id
        ON CONFLICT DO NOTHING
    )
    SELECT count(*), max(created_at) FROM slice
"""
DAY_OF: Final = """
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, chance, created_at)
    SELECT :queue, id, created_at, user_id, stratum, least(1, CAST(:each AS float8) / size), :now FROM (
        SELECT id, created_at, user_id, {stratum} AS stratum, count(*) OVER (PARTITION BY {stratum}) AS size,
               row_number() OVER (PARTITION BY {stratum} ORDER BY uuid_hash_extended(id, :seed), id) AS place
        FROM ai_decisions WHERE created_at >= :since AND created_at < :until
            AND NOT snapshot_json ? 'erased'
            AND {condition} AND (:every OR user_id = ANY(:accounts))
    ) AS ranked WHERE place <= :each ORDER BY created_at, id
    ON CONFLICT DO NOTHING
"""
OBJECTED: Final = sa.text("""
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum, created_at)
    SELECT :queue, o.decision_id, o.decision_at, o.user_id, max(o.objection), :now
    FROM objections o
    WHERE o.objected_at >= :since AND o.objected_at < :until
        AND (:every OR o.user_id = ANY(:accounts))
        AND NOT EXISTS (SELECT FROM review_states s WHERE s.decision_id = o.decision_id
                        AND s.state <> 'open' AND s.updated_at > o.objected_at)
    GROUP BY o.decision_id, o.decision_at, o.user_id ORDER BY o.decision_at, o.decision_id
    ON CONFLICT (queue_id, decision_id, only_for) DO UPDATE
        SET stratum = excluded.stratum, done_at = NULL, review_id = NULL, claimed_by = NULL,
            claimed_until = NULL, skipped_by = '{}'
        WHERE excluded.stratum = 'late_moderation' AND queue_items.done_at IS NOT NULL
""")
"""The objection, ``feedback`` or ``late_moderation``, is the item's stratum.

Later feedback opens no second review; what moderation flags after the review does.
"""
OBJECTION_OVERLAP: Final = timedelta(minutes=10)
"""Objections read again: the reply may be recorded as sent after the customer rated the reply."""
STRATA: Final = {Stratum.NONE: "''"} | {
    Stratum(each.value): f"coalesce({EXPRESSIONS[each]}, ai_decisions.reason_code)"
    for each in SampleDimension
}
"""A decision without the property is in the stratum of its reason."""
ESCALATED: Final = """
    decision = 'escalate'
    AND NOT EXISTS (SELECT FROM review_states s WHERE s.decision_id = slice.id AND s.state <> 'open')
"""
DRAWN: Final = {
    Drawn.SILENT: "decision = 'ignore' AND reason_code <> ALL(:facts)",
    Drawn.SENT: "decision = 'respond'",
    Drawn.ALL: "(decision = 'respond' OR decision = 'ignore' AND reason_code <> ALL(:facts))",
}
"""Including reviewed decisions: without them a sample would not be representative."""


async def fill_queue(connection: Connection, queue: Queue, now: datetime) -> None:
    """Add decisions since the last fill; does nothing while another transaction fills the queue."""
    if queue.kind is QueueKind.OBJECTIONS and queue.closed_at is None:
        await _fill_objections(connection, queue, now)
    if queue.kind not in {QueueKind.ESCALATIONS, QueueKind.SAMPLE} or queue.closed_at is not None:
        return
    locked = (await connection.execute(LOCK, {"queue": queue.id})).first()
    if locked is None:
        return
    sample = queue.sample
    if sample is not None:
        waiting = await connection.execute(OPEN, {"queue": queue.id, "most": sample.most})
        if waiting.scalar_one() >= sample.most:
            return
    filled_to: datetime | None = locked[0]
    oldest = now - LOOK_BACK
    if sample is not None and sample.each:
        await _fill_day(connection, queue, sample, max(filled_to or oldest, oldest), now)
        return
    since = max(filled_to - OVERLAP if filled_to else oldest, oldest)
    for _ in range(SLICES):
        reached = await _fill_slice(connection, queue, since, now)
        if reached is None:
            await connection.execute(ADVANCE, {"queue": queue.id, "to": now})
            return
        since = reached
    await connection.execute(ADVANCE, {"queue": queue.id, "to": since + OVERLAP})


async def _fill_objections(connection: Connection, queue: Queue, now: datetime) -> None:
    """Add what was objected to since the last fill, one item a decision; repeating this changes nothing."""
    locked = (await connection.execute(LOCK, {"queue": queue.id})).first()
    if locked is None:
        return
    since = max(locked[0] - OBJECTION_OVERLAP if locked[0] else now - LOOK_BACK, now - LOOK_BACK)
    await connection.execute(OBJECTED, _span_values(queue, since, now, now))
    await connection.execute(ADVANCE, {"queue": queue.id, "to": now})


async def _fill_slice(
    connection: Connection, queue: Queue, since: datetime, now: datetime
) -> datetime | None:
    """Fill from one slice; the time of its last decision, None when there are no more."""
    values = _span_values(queue, since, now, now) | {"slice": SLICE, "chance": None}
    condition, stratum = ESCALATED, "ai_decisions.reason_code"
    if queue.sample is not None:
        condition = f"{DRAWN[queue.sample.drawn]} AND uuid_hash_extended(id, :seed) >= :cut"
        stratum = STRATA[queue.sample.per]
        values["chance"] = queue.sample.share
        values |= {"seed": queue.sample.seed, "cut": _cut(queue.sample.share)}
        values |= _facts(queue.sample)
    query = sa.text(SLICE_OF.format(condition=condition, stratum=stratum))
    seen, last = (await connection.execute(query, values)).one()
    return last if seen == SLICE else None


async def _fill_day(
    connection: Connection, queue: Queue, sample: Sample, since: datetime, now: datetime
) -> None:
    """Draw from the first whole day after ``since``; an unfinished day would favour its morning."""
    midnight = since.replace(hour=0, minute=0, second=0, microsecond=0)
    day = midnight if midnight == since else midnight + timedelta(days=1)
    end = day + timedelta(days=1)
    if end + OVERLAP > now:
        return
    values = _span_values(queue, day, end, now) | {
        "seed": sample.seed,
        "each": sample.each,
    }
    query = DAY_OF.format(stratum=STRATA[sample.per], condition=DRAWN[sample.drawn])
    await connection.execute(sa.text(query), values | _facts(sample))
    await connection.execute(ADVANCE, {"queue": queue.id, "to": end})


def _span_values(queue: Queue, since: datetime, until: datetime, now: datetime) -> dict[str, object]:
    span = {"queue": queue.id, "since": since, "until": until, "now": now}
    return span | account_parameters(queue.accounts)


def _facts(sample: Sample) -> dict[str, object]:
    """The reasons that are never drawn, where silent decisions are."""
    return {} if sample.drawn is Drawn.SENT else {"facts": list(FACTS)}


def _cut(share: float) -> int:
    """The least drawn hash: a share of all signed 64-bit numbers is at or above it."""
    return min(2**63 - round(share * 2**64), 2**63 - 1)
