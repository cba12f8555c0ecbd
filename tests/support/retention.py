"""What tests of retention keep."""

from __future__ import annotations

from typing import Any

from db.retention.declared import RETENTION
from worker.settings import ErasureSettings

SWEPT = tuple(each.table for each in RETENTION if each.swept)
FOR_EVER = {
    "HUSHGATE_KEEP_KEYS_DAYS": 0,
    "HUSHGATE_KEEP_DEAD_LETTERS_DAYS": 0,
    "HUSHGATE_KEEP_DECISIONS_MONTHS": 0,
    "HUSHGATE_KEEP_MESSAGES_DAYS": 0,
    "HUSHGATE_KEEP_ACCESS_LOG_DAYS": 0,
    "HUSHGATE_KEEP_JOBS_DAYS": 0,
    "HUSHGATE_KEEP_APPEALS_DAYS": 0,
    "HUSHGATE_KEEP_RECORDINGS_DAYS": 3650,
}


def keeping(**changes: Any) -> ErasureSettings:
    """Settings that keep all they can for ever, with changes such as ``HUSHGATE_KEEP_KEYS_DAYS=1``."""
    return ErasureSettings.model_validate({"DATABASE_URL": "postgresql://unused"} | FOR_EVER | changes)
