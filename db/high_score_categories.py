"""The moderation categories with a high score, for lists that do not read snapshots."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONPATH

from db.tables import ai_decisions

PATH: Final = "$.stages[*].detail.highest.keyvalue() ? (@.value.score >= 0.5).key"
HOT_CATEGORIES: Final[sa.Label[Any]] = sa.func.jsonb_path_query_array(
    ai_decisions.c.snapshot_json, sa.cast(PATH, JSONPATH)
).label("hot_categories")
"""A column for ``sa.select``, read by ``review.content_covers``. 0.5 is ``content_covers.SCORE_FROM``."""
