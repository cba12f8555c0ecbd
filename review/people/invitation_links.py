"""Invitations as an account's administrator makes and withdraws them: the login is never looked up."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from starlette.responses import Response

from db.access_log import LoggedAction
from db.people import invitations
from db.people.records import RoleGrant
from review.access import Right
from review.auth.session_start import require_session
from review.http.visit import Refused, Visit, new_token
from review.languages import gettext as _

PER_HOUR: Final = 60
"""Invitations that one person may make in an hour."""


async def invite(visit: Visit, login: str, grant: RoleGrant) -> str:
    """Store an invitation and return its link; what is known about the login changes nothing."""
    token = new_token()
    async with visit.store.writing() as connection:
        await require_session(visit, connection)
        since = visit.now - timedelta(hours=1)
        person_id = visit.person.person_id
        if await invitations.count_invitations(connection, person_id, since=since) >= PER_HOUR:
            made = _("You have made %(num)s invitations within an hour. Try again later.")
            text = made % {"num": PER_HOUR}
            raise Refused(429, "Too many invitations", text, retry_after_s=600)
        await invitations.add_invitation(
            connection, token, login=login, wanted=grant, invited_by=person_id, now=visit.now
        )
        detail = {"changed": "invited", "login": login, "role": grant.role.value}
        await visit.log(LoggedAction.PEOPLE, connection=connection, user_id=grant.user_id, detail=detail)
    return visit.site.settings.review_url.rstrip("/") + visit.url("invitation", token=token)


async def withdraw(visit: Visit) -> Response:
    """End an open invitation to an account that the person administers."""
    missing = Refused(404, "Not found", "No open invitation to your accounts has this address.")
    invitation_id = visit.path_id("invitation_id", missing)
    async with visit.store.writing() as connection:
        mine = visit.accounts(Right.ADMIN)
        found = await invitations.withdraw_invitation(connection, invitation_id, mine, now=visit.now)
        if found is None:
            raise missing
        user_id, role = found.wanted.user_id, found.wanted.role.value
        detail = {"changed": "invitation withdrawn", "login": found.login, "role": role}
        await visit.log(LoggedAction.PEOPLE, connection=connection, user_id=user_id, detail=detail)
    return visit.redirect("people")
