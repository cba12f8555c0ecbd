"""One's keys for the JSON face: made, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db import access_log, api_tokens, sessions
from db.access_log import Action
from review.people.keys import MOST_DAYS, SHOWN_CHARS, new_key
from review.web import Refused, Visit

NAME_CHARS = 100


async def show(visit: Visit) -> Response:
    """The keys, without their secret part."""
    return await _page(visit)


async def add(visit: Visit) -> Response:
    """Make a key and show it, this once.

    Raises:
        Refused: 400; 401 when the session ended meanwhile.
    """
    name, days = str(visit.form.get("name", "")).strip(), _days(str(visit.form.get("days", "")))
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", f"Expected 1 to {NAME_CHARS} printable characters, got {len(name)}.")
    key = new_key()
    async with visit.store.writing() as connection:
        if not await sessions.hold(connection, visit.token):
            raise Refused(401, "Sign in first", "Your session has ended.")
        await api_tokens.add(
            connection,
            uuid7(),
            visit.person.person_id,
            key,
            name=name,
            prefix=key[:SHOWN_CHARS],
            now=visit.now,
            expires_at=visit.now + timedelta(days=days),
        )
        detail = {"changed": "made", "prefix": key[:SHOWN_CHARS], "days": days}
        await access_log.add(connection, visit.entry(Action.TOKEN, detail=detail))
    return await _page(visit, key=key)


async def revoke(visit: Visit) -> Response:
    """End a key.

    Raises:
        Refused: 404.
    """
    try:
        token_id = UUID(str(visit.form.get("token_id", "")))
    except ValueError:
        raise Refused(400, "Key", "Expected one of the listed keys.") from None
    async with visit.store.writing() as connection:
        done = await api_tokens.revoke(connection, visit.person.person_id, token_id, now=visit.now)
        detail = {"changed": "revoked", "token_id": str(token_id)}
        await access_log.add(connection, visit.entry(Action.TOKEN, detail=detail))
    if not done:
        raise Refused(404, "No such key", "You have no such key, or it was revoked already.")
    return visit.redirect("tokens")


def _days(text: str) -> int:
    days = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
    if not 1 <= days <= MOST_DAYS:
        raise Refused(400, "Days", f"Expected a number from 1 to {MOST_DAYS}, got {text[:40]!r}.")
    return days


async def _page(visit: Visit, key: str = "") -> Response:
    async with visit.store.reading() as connection:
        found = await api_tokens.of_person(connection, visit.person.person_id)
    return visit.render("tokens.html", tokens=found, key=key, most_days=MOST_DAYS, now=visit.now)
