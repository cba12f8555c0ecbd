"""Business hours: ranges, time zones with their changes of the clock, and holidays."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.samples import account
from worker.business_hours import in_business_hours, next_opening, parse_ranges

WEEK = {"mon": "09:00-12:00, 13:00-17:00", "sat": "22:00-24:00", "sun": "00:00-02:00"}


def utc(text: str) -> datetime:
    """A moment."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("09:00-17:00", ((540, 1020),)),
        ("00:00-24:00", ((0, 1440),)),
        ("09:00-12:00,12:00-13:30", ((540, 720), (720, 810))),
    ],
)
def test_ranges_are_minutes_of_the_day(text: str, expected: tuple[tuple[int, int], ...]) -> None:
    """A range may end where the next one starts."""
    assert parse_ranges(text) == expected


@pytest.mark.parametrize(
    "text", ["9:00-17:00", "09:00", "17:00-09:00", "09:00-09:00", "09:00-24:01", "13:00-14:00, 09:00-10:00"]
)
def test_other_ranges_are_refused(text: str) -> None:
    """Malformed, empty, past midnight, or out of order."""
    with pytest.raises(ValueError, match="expected ranges such as"):
        parse_ranges(text)


@pytest.mark.parametrize(
    ("now", "zone", "open_then"),
    [
        ("2026-11-23T08:59:59", "UTC", False),  # a Monday
        ("2026-11-23T09:00:00", "UTC", True),
        ("2026-11-23T12:00:00", "UTC", False),
        ("2026-11-23T16:59:59", "UTC", True),
        ("2026-11-23T08:00:00", "Europe/Berlin", True),
        ("2026-07-20T07:00:00", "Europe/Berlin", True),  # a Monday in summer
        ("2026-07-20T06:59:00", "Europe/Berlin", False),
        ("2026-11-22T17:30:00", "Asia/Tokyo", False),  # Monday, 02:30
        ("2026-11-23T02:30:00", "Asia/Tokyo", True),  # Monday, 11:30
        ("2026-11-21T23:30:00", "UTC", True),
        ("2026-11-22T01:30:00", "UTC", True),
        ("2026-11-24T10:00:00", "UTC", False),  # a day that is not listed
        ("2026-12-28T10:00:00", "UTC", False),  # a holiday
        ("2026-12-27T23:30:00", "Asia/Tokyo", False),  # the same holiday, there
        ("2026-11-23T03:00:00", "No/Such", True),
    ],
)
def test_hours_are_those_of_the_account_s_own_clock(now: str, zone: str, open_then: bool) -> None:
    """Weekday, time and holiday are local; an unknown zone counts as open."""
    owner = account(business_hours=WEEK, time_zone=zone, holidays=("2026-12-28",))

    assert in_business_hours(owner, utc(now)) is open_then


@pytest.mark.parametrize(
    ("settings", "open_then"),
    [({}, True), ({"holidays": ("2026-11-23",)}, False), ({"business_hours": {"mon": "whenever"}}, True)],
)
def test_an_account_without_readable_hours_is_always_open(settings: dict[str, Any], open_then: bool) -> None:
    """But for its holidays."""
    assert in_business_hours(account(**settings), utc("2026-11-23T03:00:00")) is open_then


@pytest.mark.parametrize(
    ("now", "settings", "expected"),
    [
        ("2026-11-23T10:00:00", {}, "2026-11-23T10:00:00"),
        ("2026-11-23T12:30:00", {}, "2026-11-23T13:00:00"),
        ("2026-11-23T17:00:00", {}, "2026-11-28T22:00:00"),
        ("2026-11-23T17:00:00", {"holidays": ["2026-11-28"]}, "2026-11-29T00:00:00"),
        ("2026-11-23T17:00:00", {"time_zone": "Europe/Berlin"}, "2026-11-28T21:00:00"),
        ("2026-03-29T10:00:00", {"time_zone": "Europe/Berlin"}, "2026-03-30T07:00:00"),  # summer time
        ("2026-11-23T17:00:00", {"business_hours": {}}, "2026-11-23T17:00:00"),
        (
            "2026-11-23T17:00:00",
            {"business_hours": {}, "holidays": ["2026-11-23", "2026-11-24"]},
            "2026-11-25T00:00:00",
        ),
        ("2026-11-23T17:00:00", {"business_hours": {"mon": ""}}, "2026-11-23T17:00:00"),
        ("2026-11-23T17:00:00", {"business_hours": {"mon": "", "tue": "9-5"}}, "2026-11-23T17:00:00"),
        ("2026-11-23T17:00:00", {"time_zone": "Nowhere"}, "2026-11-23T17:00:00"),
    ],
)
def test_the_next_opening(now: str, settings: dict[str, Any], expected: str) -> None:
    """Now within hours, else the start of the next range; now where none is found or readable."""
    shop = account(**{"business_hours": WEEK, "time_zone": "UTC"} | settings)

    assert next_opening(shop, utc(now)) == utc(expected)
