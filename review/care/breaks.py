"""Reminders of a break. Reading time is kept in a cookie of the browser and is not stored."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from starlette.responses import RedirectResponse, Response

from review.auth.session_start import local_path
from review.http.visit import Visit, set_cookie

READING_COOKIE: Final = "__Host-hushgate-reading"
STORED: Final = re.compile(r"(\d{1,12})\.(\d{1,12})\.(\d{1,12})", re.ASCII)
PAUSE_S: Final = 600
"""Seconds without a decision that count as a break; chosen, not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingStretch:
    """A stretch of reading without a break, as seconds since 1970.

    Attributes:
        since: the first decision that was opened.
        last: the newest one.
        reminded: when the last reminder was dismissed; 0: not yet.
    """

    since: int
    last: int
    reminded: int = 0


def reading_of(cookie: str, now: datetime) -> ReadingStretch:
    """The stretch that a cookie holds, continued now; a new one after a break or without a valid cookie."""
    second = int(now.timestamp())
    found = STORED.fullmatch(cookie)
    if found is None:
        return ReadingStretch(since=second, last=second)
    since, last, reminded = map(int, found.groups())
    if not since <= last <= second < last + PAUSE_S or reminded > second:
        return ReadingStretch(since=second, last=second)
    return ReadingStretch(since=since, last=second, reminded=reminded)


def minutes_to_remind(reading: ReadingStretch, after_min: int) -> int:
    """Minutes read without a break, when a reminder is due; else 0."""
    due = after_min and reading.last - max(reading.since, reading.reminded) >= after_min * 60
    return (reading.last - reading.since) // 60 if due else 0


def break_reminder(visit: Visit) -> int:
    """Minutes that this person has read without a break, when a reminder is due; else 0."""
    return minutes_to_remind(_reading(visit), _after_min(visit))


def keep_reading(visit: Visit, response: Response) -> Response:
    """The response with the stretch of reading in a cookie, for a person who is reminded."""
    if _after_min(visit):
        _store(response, _reading(visit))
    return response


async def dismiss_reminder(visit: Visit) -> Response:
    """Hide the reminder; the next is due after the same time again."""
    response = RedirectResponse(local_path(visit.field("back")), status_code=303)
    reading = _reading(visit)
    _store(response, replace(reading, reminded=reading.last))
    return response


def _after_min(visit: Visit) -> int:
    own = visit.person.break_after_min
    return visit.site.settings.break_after_min if own is None else own


def _reading(visit: Visit) -> ReadingStretch:
    return reading_of(visit.request.cookies.get(READING_COOKIE, ""), visit.now)


def _store(response: Response, reading: ReadingStretch) -> None:
    set_cookie(response, READING_COOKIE, f"{reading.since}.{reading.last}.{reading.reminded}")
