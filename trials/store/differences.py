"""Decisions that a trial would have ended otherwise: of shadows they are stored, filtered and queued."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import sqlalchemy as sa

from db.audit.snapshot_filters import Condition
from db.connection import Connection
from db.pool import Pool, checkout, fetch_dicts
from db.rows import rows_as
from db.tables import ai_decisions
from trials.tables import shadow_results
from worker.model import DecisionKind

OF_DECISION: Final = """
    SELECT shadow_id AS trial_id, decision_id, kind, before_code, decision, reason_code, reason,
        matched_rule, reply
    FROM shadow_results WHERE decision_id = %s ORDER BY shadow_id DESC
"""
ADD_TO_QUEUES: Final = """
    INSERT INTO queue_items (queue_id, decision_id, decision_at, user_id, stratum)
    SELECT q.id, r.decision_id, r.decision_at, r.user_id, ''
    FROM queues q JOIN shadow_results r ON r.shadow_id = %(shadow)s
    WHERE q.definition ->> 'shadow' = %(shadow)s::text AND q.closed_at IS NULL
        AND (%(ids)s::uuid[] IS NULL OR r.decision_id = ANY(%(ids)s))
    ON CONFLICT DO NOTHING
"""
"""Adds differences of a shadow, all without ``ids``, to the open queues that were opened for it."""
REVIEWED: Final = """
    SELECT decision_id, state FROM review_states
    WHERE decision_id = ANY(%s) AND state IN ('agree', 'overturn')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDifference:
    """A decision that changed settings would have ended otherwise, or that needs new answers.

    Attributes:
        kind: a ``trials.pure.replay.difference.DifferenceKind``, or ``needs_answers``.
        trial_id: the shadow that stored the difference; None before.
        before, before_code: decision and reason code as stored; all that follows is the candidate's, and
            empty where it needs new answers.
        reply: sealed; None also for an equal reply.
        usd: what the stored decision cost, US dollars.
    """

    decision_id: UUID
    kind: str
    before_code: str
    decision: str
    reason_code: str
    reason: str
    matched_rule: str | None
    reply: str | None
    trial_id: UUID | None = None
    before: str = ""
    usd: float = 0.0

    @property
    def waits(self) -> int:
        """How many more messages wait for people: 1, 0 or -1."""
        if not self.decision:
            return 0
        return (self.decision == DecisionKind.ESCALATE) - (self.before == DecisionKind.ESCALATE)


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


async def differences_of_decision(connection: Connection, decision_id: UUID) -> tuple[TrialDifference, ...]:
    """What shadows would have done with a decision, the newest shadow first."""
    return await rows_as(connection, TrialDifference, OF_DECISION, (decision_id,))


async def fill_queues_of(source: Pool, shadow_id: UUID) -> None:
    """Add every difference of a shadow to the open queues that were opened for it."""
    async with checkout(source) as connection:
        await connection.execute(ADD_TO_QUEUES, {"shadow": shadow_id, "ids": None})


async def reviewed_states(source: Pool, ids: Sequence[UUID]) -> dict[UUID, str]:
    """What people said of decisions: ``agree`` or ``overturn``; the others are left out."""
    rows = await fetch_dicts(source, REVIEWED, (list(ids),))
    return {row["decision_id"]: row["state"] for row in rows}
