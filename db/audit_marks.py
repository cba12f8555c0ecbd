"""How a decision's stages ended and how far its draft was trusted, as conditions on the snapshot.

Three ways lead to a mark. What every twentieth decision has is found by walking back through time. What few
have at all is found by the index of marks. What some have, too few for a walk and too many for that index,
is found by walking through the rare ones alone, which have an index in the order of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from db.tables import RARE_STAGES, ai_decisions
from worker.model import StageOutcome

STAGES: Final = (
    "scope",
    "rules",
    "moderation",
    "history",
    "retrieval",
    "evidence",
    "generation",
    "rules_reply",
    "moderation_reply",
    "assessment",
)
"""The stages an event may pass, in order of travel."""
ANY_STAGE: Final = "*"

Condition: TypeAlias = sa.ColumnElement[bool]
MARKS: Final[sa.ColumnElement[list[str]]] = sa.literal_column("hushgate_marks(ai_decisions.snapshot_json)")
"""``stage:outcome`` of every stage that did not pass, and ``tier:low``; written as the index on it is."""
RARE: Final[Condition] = sa.literal_column(RARE_STAGES, sa.Boolean)
_RARELY_FLAGGED: Final = frozenset({"moderation", "moderation_reply", "rules_reply"})


class Tier(StrEnum):
    """How far a draft was trusted, as the policy said."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


def indexed(tier: Tier | None, stage_outcome: str | None) -> Condition | None:
    """The same by the index of marks; None when that knows nothing of it."""
    wanted = [_any_of(f"tier:{tier}")] if tier is not None else []
    stage, _, outcome = (stage_outcome or "").partition(":")
    if outcome not in ("", StageOutcome.PASSED):
        stages = STAGES if stage == ANY_STAGE else (stage,)
        wanted.append(_any_of(*(f"{each}:{outcome}" for each in stages)))
    elif wanted:
        wanted += looked_into(None, stage_outcome)
    return sa.and_(*wanted) if wanted else None


def rare(stage_outcome: str | None) -> bool:
    """Whether whatever has this mark is among the ``RARE``."""
    stage, _, outcome = (stage_outcome or "").partition(":")
    if outcome == StageOutcome.FLAGGED:
        return stage in _RARELY_FLAGGED
    return outcome in (StageOutcome.FAILED, StageOutcome.SKIPPED)


def looked_into(tier: Tier | None, stage_outcome: str | None) -> Iterator[Condition]:
    """The same, to be answered by looking into each decision on the way."""
    if tier is not None:
        yield ai_decisions.c.snapshot_json.contains({"assessment": {"tier": tier.value}})
    if stage_outcome is not None:
        stage, _, outcome = stage_outcome.partition(":")
        wanted = {"outcome": outcome} | ({} if stage == ANY_STAGE else {"stage": stage})
        yield ai_decisions.c.snapshot_json.contains({"stages": [wanted]})
        if rare(stage_outcome):
            yield RARE


def _any_of(*marks: str) -> Condition:
    return MARKS.bool_op("&&")(sa.cast(list(marks), ARRAY(sa.Text)))
