"""How the policies of an account fared: the figures that the source designs ask to be watched."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from db.audit.filters import ASSESSED, Filters, account_conditions, filter_conditions
from db.rows import all_rows
from db.tables import ai_decisions
from worker.assessment.policies.validator_metrics import ValidatorCounts, metrics_from_counts
from worker.model import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsFilter:
    """Which decisions are counted; None means any."""

    user_id: str | None
    since: datetime | None
    until: datetime | None


async def policy_metrics(connection: AsyncConnection, span: MetricsFilter) -> tuple[dict[str, Any], ...]:
    """One row a policy: Guardrail's four figures, for ``validators`` also Validation's seven.

    Rates are shares 0..1; ``improvement_rate`` is of the rechecks, the others are of the assessed replies.
    ``test_mode_held`` counts replies that were sent in test mode and would not be sent at once without it.
    """
    filters = Filters(since=span.since, until=span.until, user_id=span.user_id)
    kept = ai_decisions.c.snapshot_json
    found = kept["assessment"]
    record, rechecked = found["diagnostics"], kept["rechecked"]
    intended = found["intended_action"].astext
    policy = sa.func.split_part(found["policy"].astext, "@", 1).label("policy")
    improved = rechecked[1].astext.cast(sa.Float) > rechecked[0].astext.cast(sa.Float)
    query = (
        sa.select(
            policy,
            sa.func.count().label("replies"),
            sa.func.avg(found["confidence"].astext.cast(sa.Float)).label("confidence"),
            _count(ai_decisions.c.reason_code == "FALLBACK_SENT").label("fallbacks"),
            _count(record["passed"].astext == "false").label("failed"),
            _count(record["uncertainty_expressed"].astext == "true").label("doubts"),
            _count(ai_decisions.c.decision == "escalate").label("escalated"),
            _count(sa.func.jsonb_typeof(rechecked) == "array").label("rechecks"),
            _count(improved).label("improved"),
            _count(intended.is_not(None)).label("test_mode"),
            _count(intended != Action.SEND.value).label("test_mode_held"),
        )
        .where(ASSESSED, *account_conditions(filters), *filter_conditions(filters))
        .group_by(policy)
        .order_by(policy)
    )
    return tuple(_figures(row) for row in await all_rows(connection, query))


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.count().filter(condition)


def _figures(row: dict[str, Any]) -> dict[str, Any]:
    rechecks, replies = row["rechecks"], row["replies"]
    counts = ValidatorCounts(**{name: row[name] for name in ValidatorCounts.__slots__})
    seven = asdict(metrics_from_counts(counts)) if row["policy"] == "validators" else {}
    return {
        "policy": row["policy"],
        "replies": replies,
        "avg_confidence_score": row["confidence"],
        "recheck_rate": rechecks / replies,
        "improvement_rate": row["improved"] / rechecks if rechecks else None,
        "escalation_rate": row["escalated"] / replies,
        "test_mode_replies": row["test_mode"],
        "test_mode_held": row["test_mode_held"],
        **seven,
    }
