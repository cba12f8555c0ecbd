"""What people decide about their own pages: name, covered categories, keys, where they are signed in."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from db import access_log, people_changes, sessions
from db.access_log import Action
from review.web import Refused, Visit
from worker.moderation import CATEGORIES

NAME_CHARS = 100
HASH_BYTES = 32


async def show(visit: Visit) -> Response:
    """Name, habits, password, sessions."""
    idle = timedelta(seconds=visit.site.settings.review_idle_s)
    async with visit.store.reading() as connection:
        found = await sessions.of_person(connection, visit.person.person_id, now=visit.now, idle=idle)
    here = sessions.digest(visit.token)
    return visit.render(
        "profile.html",
        categories=CATEGORIES,
        sessions=found,
        here=here,
        saved=visit.request.query_params.get("saved", "") != "",
    )


async def save(visit: Visit) -> Response:
    """Store name and habits.

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
        await people_changes.set_habits(
            connection,
            visit.person.person_id,
            name=name,
            covered=[each for each in CATEGORIES if each in covered],
            keys_on=visit.form.get("keys_on") is not None,
        )
        await access_log.add(connection, visit.entry(Action.PEOPLE, detail={"changed": "own profile"}))
    return visit.redirect("profile", "saved=1")


async def end_session(visit: Visit) -> Response:
    """End one session, or all others.

    Raises:
        Refused: 400 or 404.
    """
    which, mine = str(visit.form.get("session", "")), visit.person.person_id
    async with visit.store.writing() as connection:
        if which == "others":
            ended = await sessions.end_others(connection, mine, visit.token)
        else:
            ended = int(await sessions.end_one(connection, mine, _hash(which)))
        detail = {"changed": "own sessions", "sessions_ended": ended}
        await access_log.add(connection, visit.entry(Action.PEOPLE, detail=detail))
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
