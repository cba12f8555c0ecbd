"""A link that signs one person in, once: the page with its button, and the button."""

from __future__ import annotations

from starlette.responses import Response

from db import people, sign_ins
from db.access_log import Action
from review.people.entering import enter
from review.web import Refused, Visit


async def ask(visit: Visit) -> Response:
    """A page with a button: whoever only looks at a link, such as a mail scanner, does not use it up."""
    return visit.render("sign_in_link.html", token=visit.request.query_params.get("token", ""))


async def use(visit: Visit) -> Response:
    """Sign in, and end the link.

    Raises:
        Refused: 410 when it was used, is too old or never was.
    """
    token = str(visit.form.get("token", ""))
    async with visit.store.writing() as connection:
        person_id = await sign_ins.take_link(connection, token, now=visit.now)
        person = await people.by_id(connection, person_id) if person_id is not None else None
    if person is None or person.disabled:
        await visit.log(Action.SIGN_IN_REFUSED, detail={"way": "link"})
        raise Refused(
            410,
            "This link does not work",
            "It works once and for a quarter of an hour. Ask for another one, or sign in with your password.",
        )
    return await enter(visit, person, way="link")
