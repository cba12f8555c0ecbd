"""The list of people and their roles, for administrators; adding and inviting people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Final

from markupsafe import Markup
from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.connection import Connection
from db.people import changes, invitations, records
from db.people.records import Person, Role, RoleGrant
from review.access import Right, role_on
from review.auth import grant_limits, passwords, role_grants
from review.auth.credentials import LOGIN_CHARS, NAME_CHARS
from review.auth.role_grants import GrantResult
from review.auth.session_start import require_session
from review.http.visit import Refused, Visit, new_token
from review.languages import gettext as _
from review.typed.problems import length_problem


async def list_people(
    visit: Visit, *, login: str = "", given: GrantResult | None = None, link: str = ""
) -> Response:
    """The people and open invitations of the administrator's accounts; what ``login`` was given, if any."""
    administered = visit.accounts(Right.ADMIN)
    async with visit.store.reading() as connection:
        found = await records.list_people(connection, administered)
        invited = await invitations.list_invitations(connection, administered, now=visit.now)
    return visit.render(
        "people.html",
        rows=_with_roles(visit, found),
        invited=invited,
        administered=administered,
        roles=tuple(Role),
        login=login,
        given=given,
        link=link,
    )


def _with_roles(visit: Visit, found: Sequence[Person]) -> list[tuple[Person, Markup]]:
    """The people, each with the roles that the administrator sees, as text; hundreds have the same ones."""
    text = cache(role_on)
    visible = ((each, grant_limits.visible_roles(visit.person, each)) for each in found)
    return [(each, Markup(", ").join(map(text, grants))) for each, grants in visible]


async def add_person(visit: Visit) -> Response:
    """Add a person with a role, or give the role to a person who exists; without every account, invite."""
    login, grant = _login(visit), grant_of_form(visit)
    if not grant_limits.administers_every_account(visit.person):
        return await invite_person(visit, login, grant)
    name = visit.field("name").strip()
    if len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", _("Write at most %(most)s printable characters.") % {"most": NAME_CHARS})
    first = "" if visit.field("no_password") else role_grants.new_password()
    stored = await passwords.hash_password(first) if first else None
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        new = await records.add_person(
            connection,
            uuid7(),
            login=login,
            name=name,
            password_hash=stored,
            must_change_password=stored is not None,
            created_by=visit.person.login,
            given_by=visit.person.person_id if first else None,
        )
        found = await records.get_credentials(connection, login)
        if found is None:
            raise Refused(400, "Login", _("Write the login in one form of its letters."))
        given = await give_role(visit, connection, found.person, grant, changed="added" if new else "granted")
    return await list_people(visit, login=login, given=GrantResult(password=first) if new else given)


async def invite_person(visit: Visit, login: str, grant: RoleGrant) -> Response:
    """Invite this login, and show the link on the list of people."""
    link = await invite(visit, login, grant)
    return await list_people(visit, login=login, link=link)


async def give_role(
    visit: Visit, connection: Connection, person: Person, grant: RoleGrant, *, changed: str
) -> GrantResult:
    """Give a person a role, with its lines of the access log."""
    detail = {"changed": changed, "login": person.login, "role": grant.role.value}
    entry = visit.entry(LoggedAction.PEOPLE, detail=detail)
    return await role_grants.give_roles(connection, person, (grant,), entry=entry, now=visit.now)


def grant_of_form(visit: Visit) -> RoleGrant:
    """The role and the account in a form; 403 on an account that the administrator does not administer."""
    user_id, role = visit.field("account").strip(), visit.field("role")
    if role not in set(Role) or not user_id:
        raise Refused(400, "Role", _("Choose an account and a role."))
    if not grant_limits.may_grant(visit.person, user_id):
        raise Refused(403, "Not allowed", "You do not administer this account.")
    return RoleGrant(user_id=user_id, role=Role(role))


def _login(visit: Visit) -> str:
    login = visit.field("login").strip().lower()
    if not login or len(login) > LOGIN_CHARS or not login.isprintable():
        raise Refused(400, "Login", length_problem(LOGIN_CHARS))
    return login


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
