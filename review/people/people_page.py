"""The list of people and their roles, for administrators; adding and inviting people."""

from __future__ import annotations

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db.access_log import LoggedAction
from db.connection import Connection
from db.people import changes, invitations, records
from db.people.records import Person, Role, RoleGrant
from review.access import Right
from review.auth import grant_limits, passwords, role_grants
from review.auth.credentials import LOGIN_CHARS, NAME_CHARS
from review.auth.role_grants import GrantResult
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.people import invitation_links
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
        rows=[(each, grant_limits.visible_roles(visit.person, each)) for each in found],
        invited=invited,
        administered=administered,
        roles=tuple(Role),
        login=login,
        given=given,
        link=link,
    )


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
    link = await invitation_links.invite(visit, login, grant)
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
