"""What samples and error rates are divided by, as SQL on a row of ``ai_decisions``."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from db.figures.figure_sql import assessed

CONFIDENCE_BANDS: Final = 10


class SampleDimension(StrEnum):
    """A property of a decision that divides samples and error rates."""

    REASON = "reason_code"
    RULE = "matched_rule"
    POLICY = "policy"
    LANGUAGE = "language"
    CONFIDENCE = "confidence_band"


_ASSESSMENT: Final = "(ai_decisions.snapshot_json -> 'assessment')"
_BAND: Final = f"floor(least(ai_decisions.confidence, 0.9999) * {CONFIDENCE_BANDS})"


def _edge(band: str) -> str:
    return f"to_char(({band} / {CONFIDENCE_BANDS})::numeric, 'FM0.0')"


EXPRESSIONS: Final = {
    SampleDimension.REASON: "ai_decisions.reason_code",
    SampleDimension.RULE: "ai_decisions.matched_rule",
    SampleDimension.POLICY: f"nullif(split_part({_ASSESSMENT} ->> 'policy', '@', 1), '')",
    SampleDimension.LANGUAGE: "lower(nullif(ai_decisions.snapshot_json ->> 'language', ''))",
    SampleDimension.CONFIDENCE: (
        f"CASE WHEN {assessed(_ASSESSMENT)} THEN {_edge(_BAND)} || '-' || {_edge(f'({_BAND} + 1)')} END"
    ),
}
"""SQL of a dimension; null where a decision has none. A band of confidence reads ``0.6-0.7``."""
