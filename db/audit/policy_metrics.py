"""Metrics of an account's policies, as the source designs require them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from db.audit.filters import COUNTED, Filters, account_conditions, filter_conditions
from db.connection import Connection
from db.rows import all_rows
from db.tables import ai_decisions
from worker.assessment.policies.designs import DESIGNS
from worker.model import Action

_KEPT: Final = ai_decisions.c.snapshot_json
_ASSESSMENT: Final = _KEPT["assessment"]
_POLICY: Final = sa.func.split_part(_ASSESSMENT["policy"].astext, "@", 1).label("policy")
_REJECTION: Final = ai_decisions.c.rejection_reason


async def policy_metrics(connection: Connection, filters: Filters) -> tuple[dict[str, Any], ...]:
    """One row a policy: Guardrail's four figures, its rejections, for ``validators`` also Validation's seven.

    Rates are shares 0..1; ``improvement_rate`` is of the rechecks, ``rejection_rate`` of assessments, with
    early refusals, the others are of the assessed replies, with drafts without an answer. ``test_mode_held``
    counts replies that were sent in test mode and would not be sent at once without it.
    """
    conditions = [
        sa.func.jsonb_typeof(_ASSESSMENT) == "object",
        *account_conditions(filters),
        *filter_conditions(filters),
    ]
    figures = sa.select(_POLICY, *_counts()).where(*conditions).group_by(_POLICY).order_by(_POLICY)
    number = sa.func.count().label("number")
    reasons = (
        sa.select(_POLICY, _REJECTION, number)
        .where(*conditions, _REJECTION.is_not(None))
        .group_by(_POLICY, _REJECTION)
        .order_by(_POLICY, number.desc(), _REJECTION)
    )
    rejections: dict[str, dict[str, int]] = defaultdict(dict)
    for row in await all_rows(connection, reasons):
        rejections[row["policy"]][row["rejection_reason"]] = row["number"]
    rows = await all_rows(connection, figures)
    return tuple(_figures(row, rejections[row["policy"]]) for row in rows)


def _counts() -> tuple[sa.ColumnElement[Any], ...]:
    record, rechecked = _ASSESSMENT["diagnostics"], _KEPT["rechecked"]
    intended = _ASSESSMENT["intended_action"].astext
    improved = rechecked[1].astext.cast(sa.Float) > rechecked[0].astext.cast(sa.Float)
    confidence = sa.func.avg(_ASSESSMENT["confidence"].astext.cast(sa.Float))
    return (
        sa.func.count().label("assessments"),
        _count(sa.true()).label("replies"),
        confidence.filter(COUNTED).label("confidence"),
        _count(ai_decisions.c.reason_code == "FALLBACK_SENT").label("fallbacks"),
        _count(record["passed"].astext == "false").label("failed"),
        _count(record["uncertainty_expressed"].astext == "true").label("doubts"),
        _count(ai_decisions.c.decision == "escalate").label("escalated"),
        _count(sa.func.jsonb_typeof(rechecked) == "array").label("rechecks"),
        _count(improved).label("improved"),
        _count(intended.is_not(None)).label("test_mode"),
        _count(intended != Action.SEND.value).label("test_mode_held"),
    )


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.count().filter(COUNTED, condition)


def _figures(row: dict[str, Any], rejections: Mapping[str, int]) -> dict[str, Any]:
    rechecks, replies = row["rechecks"], row["replies"]
    design = DESIGNS.get(row["policy"])
    rejected = sum(rejections.values())
    return {
        "policy": row["policy"],
        "replies": replies,
        "avg_confidence_score": row["confidence"],
        "recheck_rate": rechecks / replies if replies else None,
        "improvement_rate": row["improved"] / rechecks if rechecks else None,
        "escalation_rate": row["escalated"] / replies if replies else None,
        "test_mode_replies": row["test_mode"],
        "test_mode_held": row["test_mode_held"],
        "assessments": row["assessments"],
        "rejections": rejected,
        "rejection_rate": rejected / row["assessments"],
        "rejections_by_reason": {
            reason: {"count": number, "share": number / rejected} for reason, number in rejections.items()
        },
        **(design.metrics(row) if design else {}),
    }
