"""Stage outcomes and tiers, as conditions on the snapshot.

A label is ``stage:outcome`` or ``tier:low``. Frequent labels, on one decision in twenty or more, are found by
a backward scan over time, and rare labels by the index of labels. Those in between are found by a scan of
only the ``RARE`` decisions, which have an index in the order of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from db.tables import RARE_STAGES, ai_decisions
from worker.model import STAGES, Stage, StageOutcome, Tier

ANY_STAGE: Final = "*"

Condition: TypeAlias = sa.ColumnElement[bool]
LABELS: Final[sa.ColumnElement[list[str]]] = sa.literal_column("hushgate_marks(ai_decisions.snapshot_json)")
"""``stage:outcome`` of every stage that did not pass, and ``tier:low``; the expression of its index."""
RARE: Final[Condition] = sa.literal_column(RARE_STAGES, sa.Boolean)
_RARELY_FLAGGED: Final = frozenset({Stage.MODERATION, Stage.MODERATION_REPLY, Stage.RULES_REPLY})


def indexed_condition(tier: Tier | None, stage_outcome: str | None) -> Condition | None:
    """The condition that uses the index of labels; None when that index does not have them."""
    parts = [_any_of(f"tier:{tier}")] if tier is not None else []
    stage, _, outcome = (stage_outcome or "").partition(":")
    if outcome not in ("", StageOutcome.PASSED):
        stages = STAGES if stage == ANY_STAGE else (stage,)
        parts.append(_any_of(*(f"{each}:{outcome}" for each in stages)))
    elif parts:
        parts += scan_conditions(None, stage_outcome)
    return sa.and_(*parts) if parts else None


def is_rare(stage_outcome: str | None) -> bool:
    """Whether every decision with this label is among the ``RARE``."""
    stage, _, outcome = (stage_outcome or "").partition(":")
    if outcome == StageOutcome.FLAGGED:
        return stage in _RARELY_FLAGGED
    return outcome in (StageOutcome.FAILED, StageOutcome.SKIPPED)


def scan_conditions(tier: Tier | None, stage_outcome: str | None) -> Iterator[Condition]:
    """The conditions that a scan tests on each snapshot."""
    if tier is not None:
        yield ai_decisions.c.snapshot_json.contains({"assessment": {"tier": tier.value}})
    if stage_outcome is not None:
        stage, _, outcome = stage_outcome.partition(":")
        parts = {"outcome": outcome} | ({} if stage == ANY_STAGE else {"stage": stage})
        yield ai_decisions.c.snapshot_json.contains({"stages": [parts]})
        if is_rare(stage_outcome):
            yield RARE


def _any_of(*labels: str) -> Condition:
    return LABELS.bool_op("&&")(sa.cast(list(labels), ARRAY(sa.Text)))
