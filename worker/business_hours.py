"""Business hours of an account: when its people answer."""

from __future__ import annotations

import re
from calendar import day_name, month_name
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from worker.model import Account, Weekday

Ranges: TypeAlias = "tuple[tuple[int, int], ...]"
"""Start and end of each range in minutes of the day; the end is outside."""
RANGE: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d) ?[-–] ?([01]?\d|2[0-4]):([0-5]\d)")
DAY_MIN: Final = 24 * 60
WEEKDAYS: Final = tuple(Weekday)
FURTHEST_OPENING_DAYS: Final = 366
EXPECTED_RANGES: Final = "expected ranges such as 09:00-12:00, 13:00-17:00; past midnight is the next day's"


def parse_ranges(text: str) -> Ranges:
    """The ranges of one day; empty for an empty text.

    Raises:
        ValueError: a range is malformed, ends before it starts, or starts before the last one ends.
    """
    found: list[tuple[int, int]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = RANGE.fullmatch(part)
        if match is None:
            raise ValueError(EXPECTED_RANGES)
        hours, minutes, end_hours, end_minutes = map(int, match.groups())
        start, end = hours * 60 + minutes, end_hours * 60 + end_minutes
        if not start < end <= DAY_MIN or (found and start < found[-1][1]):
            raise ValueError(EXPECTED_RANGES)
        found.append((start, end))
    return tuple(found)


def checked_ranges(text: str) -> str:
    """The text; raises ``ValueError`` as ``parse_ranges`` does."""
    parse_ranges(text)
    return text


def checked_time_zone(name: str) -> str:
    """The name; raises ``ValueError`` when no time zone has it."""
    if find_zone(name) is None:
        raise ValueError("expected an IANA time zone such as Europe/Berlin")
    return name


def checked_date(text: str) -> str:
    """The text of a date; raises ``ValueError`` for another text."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.isoformat() != text:
        raise ValueError("expected a date such as 2026-12-25")
    return text


def find_zone(name: str) -> ZoneInfo | None:
    """The IANA time zone of this name, or None."""
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):  # malformed, unknown, or a directory such as "Europe"
        return None


def local_time(account: Account, at: datetime) -> str:
    """A moment in the account's time zone, in English: "Friday, 27 November 2026, 22:03 (Europe/Berlin)".

    Without a time in UTC: it is the default, so the account may be elsewhere.
    """
    return _moment(account.time_zone, at.replace(second=0, microsecond=0))


@lru_cache(maxsize=256)
def _moment(time_zone: str, minute: datetime) -> str:
    local = minute.astimezone(find_zone(time_zone) or UTC)
    day = f"{day_name[local.weekday()]}, {local.day} {month_name[local.month]} {local.year}"
    return day if time_zone == "UTC" else f"{day}, {local:%H:%M} ({time_zone})"


def in_business_hours(account: Account, now: datetime) -> bool:
    """Whether the account's people answer at this moment.

    Without business hours always, but for holidays. Unreadable hours, and a time zone that this machine does
    not know, as its data may be older than that of the machine that stored it, count as always open.
    """
    zone = find_zone(account.time_zone)
    if zone is None:
        return True
    local = now.astimezone(zone)
    if local.date().isoformat() in account.holidays:
        return False
    try:
        return not account.business_hours or _within(account.business_hours, local)
    except ValueError:  # stored past our checks
        return True


def next_opening(account: Account, now: datetime) -> datetime:
    """When the account's people answer next: now within business hours, and where no opening is found."""
    zone = find_zone(account.time_zone)
    if zone is None or in_business_hours(account, now):
        return now
    today = now.astimezone(zone).date()
    try:
        for day in (today + timedelta(days=each) for each in range(FURTHEST_OPENING_DAYS)):
            for start_min in _openings(account, day):
                local = datetime(day.year, day.month, day.day, *divmod(start_min, 60), tzinfo=zone)
                if (opening := local.astimezone(UTC)) > now:
                    return opening
    except ValueError:  # stored past our checks
        pass
    return now


def _openings(account: Account, day: date) -> tuple[int, ...]:
    """The minutes of a day at which business hours begin."""
    if day.isoformat() in account.holidays:
        return ()
    if not account.business_hours:
        return (0,)
    ranges = parse_ranges(account.business_hours.get(WEEKDAYS[day.weekday()], ""))
    return tuple(start for start, _ in ranges)


def _within(hours: Mapping[str, str], local: datetime) -> bool:
    minute = local.hour * 60 + local.minute
    ranges = parse_ranges(hours.get(WEEKDAYS[local.weekday()], ""))
    return any(start <= minute < end for start, end in ranges)
