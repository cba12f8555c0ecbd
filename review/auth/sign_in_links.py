"""Links that sign one person in, once: making one, its page, and its use."""

from __future__ import annotations

from datetime import datetime

from starlette.responses import Response

from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.people import records, sign_ins
from db.review_store import Store
from review.auth.session_start import start_session
from review.http.visit import Refused, Visit, new_token
from review.languages import gettext as _


async def new_sign_in_link(
    store: Store, login: str, *, review_url: str, now: datetime, made_by: str
) -> str | None:
    """A URL that signs this person in, once, within 15 minutes; None without such a person."""
    token = new_token()
    async with store.writing() as connection:
        found = await records.get_credentials(connection, login)
        if found is None or found.person.disabled:
            return None
        await sign_ins.add_link(connection, token, found.person.person_id, now=now)
        detail = {"changed": "sign-in link", "login": found.person.login}
        entry = LogEntry(action=LoggedAction.PEOPLE, person=made_by, detail=detail)
        await access_log.append_entries_for_accounts(connection, entry, found.person.accounts)
    return f"{review_url.rstrip('/')}/sign-in/link?token={token}"


async def confirm_sign_in(visit: Visit) -> Response:
    """A page with a button: opening the link, as mail scanners do, does not use it up."""
    return visit.render("sign_in_link.html", token=visit.request.query_params.get("token", ""))


async def use_sign_in_link(visit: Visit) -> Response:
    """Sign in and end the link; 410 when it was used, has expired or never existed."""
    async with visit.store.writing() as connection:
        person_id = await sign_ins.take_link(connection, visit.field("token"), now=visit.now)
        person = await records.get_person(connection, person_id) if person_id is not None else None
    if person is None or person.disabled:
        await visit.log(LoggedAction.SIGN_IN_REFUSED, detail={"way": "link"})
        text = _("It works once, for 15 minutes. Ask for another one, or sign in with your password.")
        raise Refused(410, "This link does not work", text)
    return await start_session(visit, person, method="link")
