"""A person's own profile: name, covered categories, shortcuts, sessions."""

from __future__ import annotations

import re
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import changes, sessions
from review.auth.credentials import NAME_CHARS
from review.auth.notices import load_notices
from review.content_covers import CATEGORIES
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.languages.choice import zone_names
from review.typed.problems import button_problem, length_problem

SESSION_HASH: Final = re.compile(r"[0-9a-f]{64}")


async def show_profile(visit: Visit) -> Response:
    """Name, preferences, password, sessions."""
    async with visit.store.reading() as connection:
        found = await sessions.list_sessions(connection, visit.person.person_id, now=visit.now)
        notices = await load_notices(visit, connection)
    return visit.render(
        "profile.html",
        categories=CATEGORIES,
        organisation=visit.site.settings.organisation_covers,
        required=visit.site.settings.covers_required,
        zones=sorted(zone_names()),
        sessions=found,
        notices=notices,
        current_session=sessions.token_hash(visit.token),
        saved="saved" in visit.request.query_params,
    )


async def save_profile(visit: Visit) -> Response:
    """Store name and preferences."""
    name = visit.field("name").strip()
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", length_problem(NAME_CHARS))
    covered = [str(each) for each in visit.form.getlist("covered")]
    nothing_chosen = not covered and not visit.site.settings.organisation_covers
    as_organisation = nothing_chosen or visit.field("covers") == "organisation"
    if unknown := sorted(set(covered) - set(CATEGORIES)):
        raise Refused(
            400,
            "Covered categories",
            _("Expected known categories, got “%(got)s”.") % {"got": unknown[0][:80]},
        )
    async with visit.store.writing() as connection:
        await changes.set_columns(
            connection,
            visit.person.person_id,
            name=name,
            covered=[] if as_organisation else [each for each in CATEGORIES if each in covered],
            own_covers=not as_organisation,
            keys_on="keys_on" in visit.form,
        )
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail={"changed": "own profile"})
    return visit.redirect("profile", "saved=1")


async def switch_shortcuts(visit: Visit) -> Response:
    """Switch keyboard shortcuts on or off: speech input would trigger them."""
    async with visit.store.writing() as connection:
        await changes.set_columns(connection, visit.person.person_id, keys_on="keys" in visit.form)
    return visit.redirect("home")


async def end_session(visit: Visit) -> Response:
    """End one session, or all others."""
    which, person_id = visit.field("session"), visit.person.person_id
    async with visit.store.writing() as connection:
        if which == "others":
            ended = await sessions.end_other_sessions(connection, person_id, visit.token)
        else:
            ended = int(await sessions.end_session_of(connection, person_id, _session_hash(which)))
        detail = {"changed": "own sessions", "sessions_ended": ended}
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    if not ended and which != "others":
        raise Refused(404, "No such session", "It has ended already.")
    return visit.redirect("profile", "saved=sessions")


async def recognise_sign_ins(visit: Visit) -> Response:
    """The person says that sign-ins on unknown browsers were theirs."""
    async with visit.store.writing() as connection:
        found = await sessions.recognise_sessions(connection, visit.person.person_id)
        detail = {"changed": "own sign-ins recognised", "sessions": found}
        await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    return visit.redirect("profile", "saved=sessions")


def _session_hash(text: str) -> bytes:
    if SESSION_HASH.fullmatch(text) is None:
        raise Refused(400, "Session", button_problem())
    return bytes.fromhex(text)
