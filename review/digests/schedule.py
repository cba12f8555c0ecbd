"""When the next digest is due: in the morning of the person's time zone."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from db.collaboration.digests import DigestPeriod

HOUR: Final = time(8)
MONDAY: Final = 0


def next_digest(period: DigestPeriod, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The next 8 o'clock, on any day or on a Monday; None with ``off``."""
    if period is DigestPeriod.OFF:
        return None
    day = after.astimezone(zone).date()
    while True:
        at = datetime.combine(day, HOUR, zone).astimezone(UTC)
        if at > after and (period is DigestPeriod.DAILY or day.weekday() == MONDAY):
            return at
        day += timedelta(days=1)
