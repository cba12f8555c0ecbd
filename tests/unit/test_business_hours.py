"""Whether an AI answers here at all: scope and business hours with their changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.samples import NOW, account, event
from worker import scope
from worker.business_hours import in_business_hours, local_time, next_opening, parse_ranges
from worker.model import Scope
from worker.reasons import Reason

WEEK = {"mon": "09:00-12:00, 13:00-17:00", "sat": "22:00-24:00", "sun": "00:00-02:00"}


def utc(text: str) -> datetime:
    """A moment."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("09:00-17:00", ((540, 1020),)),
        ("9:00 - 17:00", ((540, 1020),)),
        ("9:00–17:00", ((540, 1020),)),
        ("00:00-24:00", ((0, 1440),)),
        ("09:00-12:00,12:00-13:30", ((540, 720), (720, 810))),
    ],
)
def test_ranges_are_minutes_of_the_day(text: str, expected: tuple[tuple[int, int], ...]) -> None:
    """A range may end where the next one starts."""
    assert parse_ranges(text) == expected


@pytest.mark.parametrize(
    "text", ["9-17:00", "09:00", "17:00-09:00", "09:00-09:00", "09:00-24:01", "13:00-14:00, 09:00-10:00"]
)
def test_other_ranges_are_refused(text: str) -> None:
    """Malformed, empty, past midnight, or out of order."""
    with pytest.raises(ValueError, match="expected ranges such as"):
        parse_ranges(text)


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "Friday, 27 November 2026"),
        ("Asia/Tokyo", "Saturday, 28 November 2026, 01:03 (Asia/Tokyo)"),
    ],
)
def test_a_moment_is_told_in_the_account_s_time_zone(zone: str, expected: str) -> None:
    """Without a zone of its own the account may be anywhere, so the time is left out."""
    assert local_time(account(time_zone=zone), utc("2026-11-27T16:03:00")) == expected


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


OFF = {"ai_control_enabled": False, "ai_enabled_for_chats": False, "ai_enabled_for_comments": False}


@pytest.mark.parametrize(
    ("settings", "where", "reason"),
    [
        ({}, Scope.CHAT, None),
        ({}, Scope.COMMENT, None),
        ({"version": 0}, Scope.CHAT, Reason.UNKNOWN_ACCOUNT),
        ({"version": 0, **OFF}, Scope.COMMENT, Reason.UNKNOWN_ACCOUNT),
        (OFF, Scope.CHAT, Reason.AI_DISABLED),
        ({"ai_control_enabled": False}, Scope.COMMENT, Reason.AI_DISABLED),
        ({"ai_enabled_for_chats": False}, Scope.CHAT, Reason.CHATS_DISABLED),
        ({"ai_enabled_for_chats": False}, Scope.COMMENT, None),
        ({"ai_enabled_for_comments": False}, Scope.COMMENT, Reason.COMMENTS_DISABLED),
        ({"ai_enabled_for_comments": False}, Scope.CHAT, None),
    ],
)
def test_the_switches_decide_in_their_order(
    settings: dict[str, object], where: Scope, reason: Reason | None
) -> None:
    """The order is: account, the AI switch, chats or comments."""
    ending = scope.closed_ending(event(scope=where), account(**settings), NOW)

    assert (ending.reason_code if ending else None) == reason


@pytest.mark.parametrize(("age_s", "late"), [(-5.0, False), (0.0, False), (60.0, False), (60.001, True)])
def test_a_message_that_waited_gets_no_reply(age_s: float, late: bool) -> None:
    """The age counts from the time of writing."""
    now = NOW + timedelta(seconds=age_s)
    ending = scope.closed_ending(event(), account(reply_max_age_s=60.0), now)

    assert (ending is not None) == late
    assert ending is None or (ending.reason_code, ending.confidence) == (Reason.TOO_LATE, 1.0)


def test_a_backfill_gets_no_replies() -> None:
    """A message of twelve days ago is old, though it arrived now."""
    old = event(created_at=NOW - timedelta(days=12))
    ending = scope.closed_ending(old, account(), NOW)

    assert ending is not None
    assert ending.reason == (
        "GUARDRAIL_PRE_BLOCKED: written 1036800 s ago and arrived 0 s ago, reply_max_age_s is 86400"
    )


@pytest.mark.parametrize(("age_s", "late"), [(60.0, False), (60.001, True)])
def test_a_created_at_after_the_arrival_is_ignored(age_s: float, late: bool) -> None:
    """A publisher whose clock is a day ahead does not make its messages younger."""
    ahead = event(created_at=NOW + timedelta(days=1))
    ending = scope.closed_ending(ahead, account(reply_max_age_s=60.0), NOW + timedelta(seconds=age_s))

    assert (ending is not None) == late
