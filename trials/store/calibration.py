"""The reviewed decisions of samples, with what the system had measured of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from db.connection import Connection
from db.figures.agreement import selection_values
from db.figures.figure_sql import EXPRESSIONS, SampleDimension, assessed
from db.rows import Row, all_rows, from_row
from trials.pure.threshold_proposals import MEASURED, ReviewedMeasure
from trials.store.error_rates import NEWEST, ErrorSelection
from worker.model import DecisionKind
from worker.reasons import BLOCKED

MOST_READINGS: Final = 20_000
"""Newest reviews that are read."""
HARMFUL: Final = "MODERATION_MISSED"
"""The reason of a ruling that says that moderation should have stopped the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSample:
    """The readings of a period.

    Attributes:
        without_chance: reviews left out, because their chance of being drawn is not known.
    """

    readings: tuple[ReviewedMeasure, ...]
    without_chance: int


_ASSESSMENT: Final = "(ai_decisions.snapshot_json -> 'assessment')"
_READINGS: Final = f"""{NEWEST}
    SELECT ai_decisions.decision, ai_decisions.reason_code, ai_decisions.matched_rule,
           ai_decisions.created_at AS decided_at, newest.ruling = 'agree' AS agrees, newest.chance,
           newest.reason_code = '{HARMFUL}' AS harmful,
           coalesce({EXPRESSIONS[SampleDimension.POLICY]}, '') AS policy,
           CASE WHEN {assessed(_ASSESSMENT)} THEN ai_decisions.confidence END AS confidence,
           ai_decisions.snapshot_json -> 'metadata' -> 'labels' AS labels,
           jsonb_path_query_first(ai_decisions.snapshot_json,
               '$.stages[*] ? (@.stage == "moderation").detail.highest'::jsonpath) AS scores
    FROM newest JOIN ai_decisions
        ON ai_decisions.created_at = newest.decision_at AND ai_decisions.id = newest.decision_id
    WHERE newest.ruling <> 'unsure'
          AND (ai_decisions.decision = '{DecisionKind.RESPOND}' OR ai_decisions.reason_code = ANY (:reasons))
    ORDER BY newest.created_at DESC LIMIT :most
"""


async def calibration_sample(connection: Connection, selected: ErrorSelection) -> CalibrationSample:
    """The reviewed decisions of samples that say something about a threshold."""
    values = selection_values(selected.reviews) | {
        "before": selected.until,
        "reasons": sorted({*MEASURED, *BLOCKED}),
        "most": MOST_READINGS,
    }
    rows = await all_rows(connection, sa.text(_READINGS), values)
    usable = [row for row in rows if (row["chance"] or 0) > 0]
    return CalibrationSample(readings=tuple(map(_reading, usable)), without_chance=len(rows) - len(usable))


def _reading(row: Row) -> ReviewedMeasure:
    read = {"labels": _texts(row["labels"]), "scores": _scores(row["scores"])}
    return from_row(ReviewedMeasure, row | read | {"weight": 1 / row["chance"]})


def _texts(stored: object) -> Mapping[str, str]:
    held = stored if isinstance(stored, dict) else {}
    return {name: value for name, value in held.items() if isinstance(value, str)}


def _scores(stored: object) -> Mapping[str, float]:
    """Category -> score of the moderation API; a classifier's names have a colon."""
    held = stored if isinstance(stored, dict) else {}
    found = {name: each.get("score") for name, each in held.items() if isinstance(each, dict)}
    return {
        name: float(score)
        for name, score in found.items()
        if ":" not in name and isinstance(score, int | float) and not isinstance(score, bool)
    }
