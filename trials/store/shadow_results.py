"""What a shadow looks at next, and what it found: stored with its position in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from db.audit.snapshot_filters import Condition
from db.connection import Connection
from db.identifiers import uuid_at
from db.pool import Pool, checkout, fetch_rows
from db.tables import ai_decisions
from trials.store.findings import TrialFinding
from trials.store.shadow_queues import add_to_queues
from trials.store.shadows import Shadow
from trials.tables import shadow_results

NEXT: Final = """
    SELECT created_at, id FROM ai_decisions
    WHERE user_id = %(user_id)s AND created_at >= %(reached_at)s
        AND (created_at, id) > (%(reached_at)s, %(reached_id)s) AND created_at < %(before)s
    ORDER BY created_at, id LIMIT %(most)s
"""
SPENT: Final = """
    SELECT coalesce(sum(day_decisions), 0), coalesce(sum(day_usd), 0) FROM shadows
    WHERE user_id = %s AND day = %s
"""
MOVE: Final = """
    UPDATE shadows SET reached_at = %(to_at)s, reached_id = %(to_id)s, counts = %(counts)s, day = %(day)s,
        day_decisions = %(day_decisions)s, day_usd = %(day_usd)s, usd = usd + %(usd)s
    WHERE id = %(id)s AND state = 'running' AND reached_at = %(from_at)s AND reached_id = %(from_id)s
    RETURNING id
"""
STORE: Final = """
    INSERT INTO shadow_results (id, shadow_id, decision_id, candidate_id, user_id, conversation_id, author_id,
        decision_at, kind, before_code, decision, reason_code, reason, matched_rule, reply)
    SELECT f.id, %(shadow_id)s, r.decision_id, %(candidate_id)s, r.user_id, r.conversation_id, r.author_id,
        r.created_at, f.kind, f.before_code, f.decision, f.reason_code, f.reason, f.matched_rule, f.reply
    FROM jsonb_to_recordset(%(found)s) AS f (id uuid, decision_id uuid, kind text, before_code text,
        decision text, reason_code text, reason text, matched_rule text, reply text)
    JOIN recordings r ON r.decision_id = f.decision_id AND r.user_id = %(user_id)s
    ON CONFLICT (decision_id, shadow_id) DO NOTHING
"""
"""Of a decision whose recording was erased meanwhile, nothing is stored."""
OF_DECISION: Final = """
    SELECT decision_id, shadow_id, candidate_id, kind, before_code, decision, reason_code, reason,
        matched_rule, reply
    FROM shadow_results WHERE decision_id = %s ORDER BY shadow_id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowFilter:
    """Decisions that a candidate in shadow would have ended otherwise.

    Attributes:
        kind: as ``trials.pure.replay.difference.DifferenceKind``; None: any difference.
    """

    candidate_id: UUID
    kind: str | None = None

    def condition(self) -> Condition:
        """The condition on a decision."""
        found = sa.select(shadow_results.c.decision_at, shadow_results.c.decision_id).where(
            shadow_results.c.candidate_id == self.candidate_id
        )
        if self.kind is not None:
            found = found.where(shadow_results.c.kind == self.kind)
        return sa.tuple_(ai_decisions.c.created_at, ai_decisions.c.id).in_(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A decision by time and id: where a shadow is."""

    at: datetime
    decision_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFinding:
    """A finding with the shadow that made it."""

    shadow_id: UUID
    candidate_id: UUID
    decision_id: UUID
    kind: str
    before_code: str
    decision: str
    reason_code: str
    reason: str
    matched_rule: str | None
    reply: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowProgress:
    """What a shadow did with the decisions up to a place.

    Attributes:
        counts: group -> decisions, to be added.
        decided: decisions that count for the budget of the day.
    """

    to: Place
    counts: Mapping[str, int]
    findings: Sequence[TrialFinding] = ()
    decided: int = 0
    usd: float = 0.0


async def next_decisions(source: Pool, shadow: Shadow, *, before: datetime, most: int) -> tuple[Place, ...]:
    """The next decisions of the account that were made ``before``, the oldest first."""
    values = {
        "user_id": shadow.user_id,
        "reached_at": shadow.reached_at,
        "reached_id": shadow.reached_id,
        "before": before,
        "most": most,
    }
    return tuple(Place(at=at, decision_id=each) for at, each in await fetch_rows(source, NEXT, values))


async def spent_today(source: Pool, user_id: str, day: date) -> tuple[int, float]:
    """Decisions and US dollars of all shadows of an account on a day."""
    ((decisions, usd),) = await fetch_rows(source, SPENT, (user_id, day))
    return int(decisions), float(usd)


async def store_progress(source: Pool, shadow: Shadow, done: ShadowProgress, day: date) -> bool:
    """Move a shadow on, with its findings; False when it was stopped or moved meanwhile."""
    same_day = shadow.day == day
    groups = shadow.counts.keys() | done.counts.keys()
    values: dict[str, Any] = {
        "id": shadow.shadow_id,
        "from_at": shadow.reached_at,
        "from_id": shadow.reached_id,
        "to_at": done.to.at,
        "to_id": done.to.decision_id,
        "counts": Jsonb({each: shadow.counts.get(each, 0) + done.counts.get(each, 0) for each in groups}),
        "day": day,
        "day_decisions": (shadow.day_decisions if same_day else 0) + done.decided,
        "day_usd": (shadow.day_usd if same_day else 0.0) + done.usd,
        "usd": done.usd,
    }
    async with checkout(source) as connection, connection.transaction():
        if await (await connection.execute(MOVE, values)).fetchone() is None:
            return False
        if done.findings:
            await connection.execute(STORE, _finding_values(shadow, done.findings, done.to.at))
            await add_to_queues(connection, shadow.shadow_id, [each.decision_id for each in done.findings])
    return True


async def findings_of_decision(connection: Connection, decision_id: UUID) -> tuple[StoredFinding, ...]:
    """What shadows would have done with a decision; ``reply`` is sealed."""
    cursor = connection.cursor(row_factory=class_row(StoredFinding))
    return tuple(await (await cursor.execute(OF_DECISION, (decision_id,))).fetchall())


def _finding_values(shadow: Shadow, findings: Sequence[TrialFinding], at: datetime) -> dict[str, Any]:
    rows = [
        asdict(each) | {"id": str(uuid_at(at)), "decision_id": str(each.decision_id)} for each in findings
    ]
    return {
        "shadow_id": shadow.shadow_id,
        "candidate_id": shadow.candidate_id,
        "user_id": shadow.user_id,
        "found": Jsonb(rows),
    }
