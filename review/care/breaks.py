"""The break reminder: after a long time of reviewing, to the reviewer alone, and it can be dismissed."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import UUID

from starlette.responses import Response

from db.review_store import AsyncConnection
from db.reviews.streaks import streak_start
from review.access import Right
from review.http.visit import Visit, set_cookie

COOKIE: Final = "hushgate_break"
DISMISSED: Final = "dismissed"


async def break_minutes(visit: Visit, connection: AsyncConnection) -> int:
    """Minutes of reviewing without a pause; 0 while no break is due, or it was dismissed or switched off."""
    after_s, cookies = visit.site.settings.break_s, visit.request.cookies
    if not after_s or not visit.person.break_reminder or not visit.may(Right.REVIEW):
        return 0
    if cookies.get(COOKIE) == DISMISSED:
        return 0
    after = timedelta(seconds=after_s)
    start = await streak_start(connection, visit.person.person_id, now=visit.now, at_least=after)
    return 0 if start is None else round((visit.now - start).total_seconds() / 60)


async def dismiss_break(visit: Visit) -> Response:
    """Hide the reminder in this browser until as much time has passed again."""
    response = visit.redirect("home")
    with suppress(ValueError):
        response = visit.redirect("decision", decision_id=UUID(visit.field("decision")))
    set_cookie(response, COOKIE, DISMISSED, max_age=int(visit.site.settings.break_s) or None)
    return response
