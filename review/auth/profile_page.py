"""A person's own profile: name, covered categories, shortcuts, sessions."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.people import changes, sessions
from review.http.visit import Refused, Visit
from worker.moderation import CATEGORIES

NAME_CHARS = 100
HASH_BYTES = 32


async def show_profile(visit: Visit) -> Response:
    """Name, preferences, password, sessions."""
    idle = timedelta(seconds=visit.site.settings.review_idle_s)
    async with visit.store.reading() as connection:
        found = await sessions.list_sessions(connection, visit.person.person_id, now=visit.now, idle=idle)
    here = sessions.token_hash(visit.token)
    return visit.render(
        "profile.html",
        categories=CATEGORIES,
        sessions=found,
        here=here,
        saved=visit.request.query_params.get("saved", "") != "",
    )


async def save_profile(visit: Visit) -> Response:
    """Store name and preferences.

    Raises:
        Refused: 400.
    """
    name = str(visit.form.get("name", "")).strip()
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(
            400, "Name", f"Expected 1 to {NAME_CHARS} printable characters, got {len(name)} characters."
        )
    covered = [str(each) for each in visit.form.getlist("covered")]
    if unknown := sorted(set(covered) - set(CATEGORIES)):
        raise Refused(400, "Covered categories", f"Expected known categories, got {unknown[0][:80]!r}.")
    async with visit.store.writing() as connection:
        await changes.set_preferences(
            connection,
            visit.person.person_id,
            name=name,
            covered=[each for each in CATEGORIES if each in covered],
            keys_on=visit.form.get("keys_on") is not None,
        )
        await access_log.append_entry(
            connection, visit.entry(LoggedAction.PEOPLE, detail={"changed": "own profile"})
        )
    return visit.redirect("profile", "saved=1")


async def end_session(visit: Visit) -> Response:
    """End one session, or all others.

    Raises:
        Refused: 400 or 404.
    """
    which, mine = str(visit.form.get("session", "")), visit.person.person_id
    async with visit.store.writing() as connection:
        if which == "others":
            ended = await sessions.end_other_sessions(connection, mine, visit.token)
        else:
            ended = int(await sessions.end_session_of(connection, mine, _hash(which)))
        detail = {"changed": "own sessions", "sessions_ended": ended}
        await access_log.append_entry(connection, visit.entry(LoggedAction.PEOPLE, detail=detail))
    if not ended and which != "others":
        raise Refused(404, "No such session", "It has ended already.")
    return visit.redirect("profile", "saved=sessions")


def _hash(text: str) -> bytes:
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != HASH_BYTES:
        raise Refused(400, "Session", "Expected one of the listed sessions or 'others'.")
    return found
