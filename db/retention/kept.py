"""What says how long a table is kept, and from when its rows are due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final, assert_never

from worker.settings.retention import RetentionSettings

MONTH_DAYS: Final = 31


class KeptBy(StrEnum):
    """What decides how long rows are kept.

    Attributes:
        DAYS: a setting in days.
        MONTHS: a setting in months; whole months of the audit go together.
        ROW: the time in the row itself, which a setting of the account or a fixed time has set.
        OTHER: another part of Hushgate deletes its rows; ``why`` says which and when.
        FOR_EVER: nothing does; ``why`` gives the reason.
    """

    DAYS = "days"
    MONTHS = "months"
    ROW = "row"
    OTHER = "other"
    FOR_EVER = "for_ever"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRetention:
    """One table.

    Attributes:
        setting: the field of ``Kept`` that says how long; empty where none does.
        why: what a person should know beside the setting.
    """

    table: str
    kept_by: KeptBy
    setting: str = ""
    why: str = ""

    @property
    def swept(self) -> bool:
        """Whether the sweep deletes its rows."""
        return self.kept_by in {KeptBy.DAYS, KeptBy.MONTHS, KeptBy.ROW}

    @property
    def has_limit(self) -> bool:
        """Whether a setting says how long its rows are kept, which the owner's database then enforces."""
        return self.kept_by in {KeptBy.DAYS, KeptBy.MONTHS}

    def keep_days(self, settings: RetentionSettings) -> int | None:
        """How many days its rows are kept at least; None: for ever."""
        number = int(getattr(settings.keep, self.setting))
        return number * (MONTH_DAYS if self.kept_by is KeptBy.MONTHS else 1) or None

    def limit(self, settings: RetentionSettings, now: datetime) -> datetime | None:
        """Rows older than this time are due; None: no row is due."""
        match self.kept_by:
            case KeptBy.DAYS:
                days = int(getattr(settings.keep, self.setting))
                return now - timedelta(days=days) if days else None
            case KeptBy.MONTHS:
                months = int(getattr(settings.keep, self.setting))
                first = (now - timedelta(days=MONTH_DAYS * months)).date().replace(day=1)
                return datetime.combine(first, time(), UTC) if months else None
            case KeptBy.ROW:
                return now
            case KeptBy.OTHER | KeptBy.FOR_EVER:
                return None
            case _:
                assert_never(self.kept_by)


def days(table: str, setting: str, why: str = "") -> TableRetention:
    """Rows are kept as many days as the setting says."""
    return TableRetention(table=table, kept_by=KeptBy.DAYS, setting=setting, why=why)


def with_audit(table: str, why: str = "") -> TableRetention:
    """Rows are kept as long as the decisions."""
    return TableRetention(
        table=table, kept_by=KeptBy.MONTHS, setting="decisions_months", why=why or "with the audit"
    )


def row(table: str, why: str) -> TableRetention:
    """A time in the row says how long the row is kept."""
    return TableRetention(table=table, kept_by=KeptBy.ROW, why=why)


def other(table: str, why: str) -> TableRetention:
    """Another part of Hushgate deletes the rows."""
    return TableRetention(table=table, kept_by=KeptBy.OTHER, why=why)


def for_ever(table: str, why: str) -> TableRetention:
    """Nothing deletes the rows."""
    return TableRetention(table=table, kept_by=KeptBy.FOR_EVER, why=why)
