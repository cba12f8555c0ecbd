"""The page of a sign-in link, and the form that uses the link."""

from __future__ import annotations

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import records, sign_ins
from review.auth.session_start import start_session
from review.http.visit import Refused, Visit


async def confirm_sign_in(visit: Visit) -> Response:
    """A page with a button: opening the link, as mail scanners do, does not use it up."""
    return visit.render("sign_in_link.html", token=visit.request.query_params.get("token", ""))


async def use_sign_in_link(visit: Visit) -> Response:
    """Sign in, and end the link.

    Raises:
        Refused: 410 when it was used, has expired or never existed.
    """
    token = str(visit.form.get("token", ""))
    async with visit.store.writing() as connection:
        person_id = await sign_ins.take_link(connection, token, now=visit.now)
        person = await records.get_person(connection, person_id) if person_id is not None else None
    if person is None or person.disabled:
        await visit.log(LoggedAction.SIGN_IN_REFUSED, detail={"way": "link"})
        raise Refused(
            410,
            "This link does not work",
            "It works once, for 15 minutes. Ask for another one, or sign in with your password.",
        )
    return await start_session(visit, person, way="link")
