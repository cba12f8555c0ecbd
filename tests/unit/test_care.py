"""Covers of the organisation, and when a reminder of a break is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pydantic import ValidationError

from db.people.records import Person
from review.care.breaks import PAUSE_S, ReadingStretch, minutes_to_remind, reading_of
from review.care.organisation_covers import with_organisation_covers
from worker.settings import ReviewSettings

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
SECOND = int(NOW.timestamp())


def settings(**given: str) -> ReviewSettings:
    """Settings with these variables."""
    needed = {"DATABASE_URL": "postgresql://u@127.0.0.1/x", "REDIS_URL": "redis://127.0.0.1/0"}
    return ReviewSettings.model_validate(needed | given)


def person(*covered: str, own: bool) -> Person:
    """A person with these covers."""
    return Person(person_id=uuid4(), login="a", name="A", covered=covered, own_covers=own)


@pytest.mark.parametrize(
    ("own", "covered", "required", "expected"),
    [
        (False, (), "false", {"hate", "violence"}),
        (True, (), "false", set()),
        (True, ("sexual",), "false", {"sexual"}),
        (True, ("sexual",), "true", {"sexual", "hate", "violence"}),
        (True, ("hate",), "true", {"hate", "violence"}),
    ],
)
def test_the_organisation_covers_for_who_chose_nothing(
    own: bool, covered: tuple[str, ...], required: str, expected: set[str]
) -> None:
    """And for everybody where it requires that; nobody is kept from covering more."""
    site = settings(HUSHGATE_REVIEW_COVERS="hate, violence", HUSHGATE_REVIEW_COVERS_REQUIRED=required)
    found = with_organisation_covers(person(*covered, own=own), site).covered

    assert set(found) == expected
    assert len(found) == len(expected)


def test_an_unknown_category_is_refused() -> None:
    """The message names the known ones."""
    with pytest.raises(ValidationError, match="self-harm/intent"):
        settings(HUSHGATE_REVIEW_COVERS="hate,spam")


def test_a_reminder_is_due_after_the_time_without_a_break_and_again_after_it_was_dismissed() -> None:
    """A pause begins a new stretch."""
    cookie = f"{SECOND}.{SECOND}.0"
    reading = ReadingStretch(since=SECOND, last=SECOND)
    due = []
    for minute in range(1, 100):
        reading = reading_of(cookie, NOW + timedelta(minutes=minute))
        if found := minutes_to_remind(reading, 45):
            due.append(found)
            reading = ReadingStretch(since=reading.since, last=reading.last, reminded=reading.last)
        cookie = f"{reading.since}.{reading.last}.{reading.reminded}"

    assert due == [45, 90]
    assert minutes_to_remind(reading, 0) == 0
    assert (
        reading_of(cookie, NOW + timedelta(minutes=99, seconds=PAUSE_S)).since == SECOND + 99 * 60 + PAUSE_S
    )


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "x",
        "1.2",
        "1.2.3.4",
        f"{SECOND + 5}.{SECOND + 5}.0",
        f"5.{SECOND}.{SECOND + 9}",
        f"{SECOND}.1.0",
        "٣.٣.٣",
    ],
)
def test_a_false_cookie_begins_anew(cookie: str) -> None:
    """Whatever a browser sends."""
    assert reading_of(cookie, NOW) == ReadingStretch(since=SECOND, last=SECOND)
