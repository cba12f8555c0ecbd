"""A person's API tokens: made, shown once, revoked."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db import access_log
from db.access_log import LoggedAction
from db.people import api_tokens, sessions
from review.auth.api_tokens import MOST_DAYS, SHOWN_CHARS, new_api_token
from review.http.visit import Refused, Visit

NAME_CHARS = 100


async def show_tokens(visit: Visit) -> Response:
    """The API tokens, without their secret part."""
    return await _page(visit)


async def add_token(visit: Visit) -> Response:
    """Make an API token and show it, this once.

    Raises:
        Refused: 400; 401 when the session ended meanwhile.
    """
    name, days = str(visit.form.get("name", "")).strip(), _days(str(visit.form.get("days", "")))
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", f"Expected 1 to {NAME_CHARS} printable characters, got {len(name)}.")
    token = new_api_token()
    async with visit.store.writing() as connection:
        if not await sessions.lock_session(connection, visit.token):
            raise Refused(401, "Sign in first", "Your session has ended.")
        await api_tokens.store_token(
            connection,
            uuid7(),
            visit.person.person_id,
            token,
            name=name,
            prefix=token[:SHOWN_CHARS],
            now=visit.now,
            expires_at=visit.now + timedelta(days=days),
        )
        detail = {"changed": "made", "prefix": token[:SHOWN_CHARS], "days": days}
        await access_log.append_entry(connection, visit.entry(LoggedAction.TOKEN, detail=detail))
    return await _page(visit, token=token)


async def revoke_token(visit: Visit) -> Response:
    """Revoke an API token.

    Raises:
        Refused: 404.
    """
    try:
        token_id = UUID(str(visit.form.get("token_id", "")))
    except ValueError:
        raise Refused(400, "API token", "Expected one of the listed API tokens.") from None
    async with visit.store.writing() as connection:
        done = await api_tokens.revoke_token(connection, visit.person.person_id, token_id, now=visit.now)
        detail = {"changed": "revoked", "token_id": str(token_id)}
        await access_log.append_entry(connection, visit.entry(LoggedAction.TOKEN, detail=detail))
    if not done:
        raise Refused(404, "No such API token", "You have no such API token, or it was revoked already.")
    return visit.redirect("tokens")


def _days(text: str) -> int:
    days = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 0
    if not 1 <= days <= MOST_DAYS:
        raise Refused(400, "Days", f"Expected a number from 1 to {MOST_DAYS}, got {text[:40]!r}.")
    return days


async def _page(visit: Visit, token: str = "") -> Response:
    async with visit.store.reading() as connection:
        found = await api_tokens.list_tokens(connection, visit.person.person_id)
    return visit.render("tokens.html", tokens=found, new=token, most_days=MOST_DAYS, now=visit.now)
