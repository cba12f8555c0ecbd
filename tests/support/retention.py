"""What tests of retention keep."""

from __future__ import annotations

from typing import Any

from db.retention.declared import RETENTION
from worker.settings import ErasureSettings

SWEPT = tuple(each.table for each in RETENTION if each.swept)
FOR_EVER = {
    "keys_days": 0,
    "dead_letters_days": 0,
    "decisions_months": 0,
    "messages_days": 0,
    "access_log_days": 0,
    "jobs_days": 0,
    "appeals_days": 0,
    "recordings_days": 3650,
}


def keeping(**changes: Any) -> ErasureSettings:
    """Settings that keep all they can for ever, with changes such as ``keys_days=1``."""
    return ErasureSettings.model_validate(
        {"DATABASE_URL": "postgresql://unused", "HUSHGATE_KEEP": FOR_EVER | changes}
    )
