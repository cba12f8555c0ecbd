"""An invitation's link: a signed-in person accepts it, a new person chooses a password.

The page is the same whether the login exists or not: the inviter has the link, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import unquote, urlencode, urlsplit

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db import access_log
from db.access_log import LoggedAction
from db.connection import Connection
from db.people import changes, invitations, records, sessions, sign_ins
from db.people.invitations import Invitation
from db.people.records import Person
from review.auth import credentials, passwords, role_grants
from review.auth.credentials import NAME_CHARS, WINDOW, delay_s
from review.auth.session_start import require_session
from review.http.visit import SESSION_COOKIE, Refused, Visit, drop_cookie
from review.languages import gettext as _
from review.services.openid_provider import Identity

CLOSED: Final = Refused(
    410,
    "This invitation does not work",
    "It was accepted or withdrawn, is older than seven days, or never was. Ask for another one.",
)
MORE_PER_INVITER: Final = 15
"""Free attempts for all invitations of one inviter, beyond those for one: a team may join at once."""


async def show_invitation(visit: Visit) -> Response:
    """The role, and how to accept it."""
    return await _page(visit, await _open_invitation(visit))


async def accept_invitation(visit: Visit) -> Response:
    """Give the role to the signed-in person, who must have the invited login."""
    found, person = await _open_invitation(visit), visit.person
    if person.login != found.login:
        raise Refused(409, "Another login", "Sign in with the login that was invited.")
    problem = _problem(visit, login=person.login, name=person.name)
    if problem and await _must_choose(visit, found):
        return await _page(visit, found, status=400, problem=problem)
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        await require_session(visit, connection)
        if await invitations.accept_invitation(connection, _token(visit), now=visit.now) is None:
            raise CLOSED
        stored = None
        if await role_grants.giver_lacks_account(connection, person, (found.wanted.user_id,)):
            stored = await _end_known_password(visit, connection)
        await _give_role(visit, connection, person, found)
    response = visit.redirect("profile", "saved=1")
    if stored is not None:
        credentials.remember_device(response, person, stored)
    return response


async def join(visit: Visit) -> Response:
    """Create the person with the chosen password unless the login exists; the answer is the same for both.

    The person then signs in and accepts. The inviter has had the link, too, and may have chosen the password:
    the inviter counts as its giver.
    """
    if not visit.site.settings.passwords_enabled:
        raise Refused(404, "Not found", "Passwords are switched off.")
    found, name = await _open_invitation(visit), visit.field("name").strip()
    problem = _problem(visit, login=found.login, name=name)
    if len(name) > NAME_CHARS or not name.isprintable():
        expected = _("Name: expected at most %(most)s printable characters.")
        problem = expected % {"most": NAME_CHARS}
    if problem:
        return await _page(visit, found, status=400, problem=problem, name=name)
    await _count_attempt(visit, found)
    stored = await passwords.hash_password(visit.field("new"))
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        if await invitations.get_invitation(connection, _token(visit), now=visit.now) is None:
            raise CLOSED
        created = await _create(connection, found, name=name, password_hash=stored)
        action = LoggedAction.SIGN_IN_REFUSED if created is None else LoggedAction.PEOPLE
        detail = {"way": "invitation", "login": found.login, "invited_by": found.inviter}
        if created is not None:
            detail |= {"changed": "password chosen at an invitation"}
        await visit.log(action, connection=connection, detail=detail)
        if visit.signed_in is not None:
            await sessions.end_session(connection, visit.token)
            await visit.log(LoggedAction.SIGN_OUT, connection=connection)
    response = visit.redirect("sign_in", urlencode({"next": visit.url("invitation", token=_token(visit))}))
    drop_cookie(response, SESSION_COOKIE)
    return response


async def join_by_identity(
    visit: Visit, connection: Connection, identity: Identity, next_page: str
) -> Person | None:
    """Create the person that the identity provider names, who comes from an invitation of this login."""
    parts = urlsplit(next_page).path.split("/")
    if len(parts) != 3 or parts[1] != "invitation":
        return None
    token = unquote(parts[2])
    await changes.lock_roles(connection)
    found = await invitations.get_invitation(connection, token, now=visit.now)
    if found is None or found.login != identity.email.lower():
        return None
    if await records.get_credentials(connection, found.login) is not None:
        return None
    if await invitations.accept_invitation(connection, token, now=visit.now) is None:
        return None
    person = await _create(connection, found, name="", password_hash=None)
    if person is None:
        raise CLOSED
    await _give_role(visit, connection, person, found)
    await changes.link_identity(connection, person.person_id, identity.issuer, identity.subject)
    return person


async def _open_invitation(visit: Visit) -> Invitation:
    async with visit.store.reading() as connection:
        found = await invitations.get_invitation(connection, _token(visit), now=visit.now)
    if found is None:
        raise CLOSED
    return found


def _token(visit: Visit) -> str:
    return str(visit.request.path_params["token"])


async def _count_attempt(visit: Visit, found: Invitation) -> None:
    """Count a chosen password like a wrong one, for the invitation and its inviter, until one is accepted."""
    mine, inviters = _counters(found)
    since, device = visit.now - WINDOW, "inviter"  # a device: the address is counted once
    async with visit.store.writing() as connection:
        tries = await sign_ins.count_tries(connection, mine, device="", address=visit.network, since=since)
        others = await sign_ins.count_tries(
            connection, inviters, device=device, address=visit.network, since=since
        )
        others = replace(others, in_a_row=others.in_a_row - MORE_PER_INVITER)
        wait = max(
            delay_s(tries, now=visit.now, known_device=False),
            delay_s(others, now=visit.now, known_device=True),
        )
        if wait:
            raise credentials.too_many_attempts(wait)
        await sign_ins.record_try(connection, mine, device="", address=visit.network, now=visit.now)
        await sign_ins.record_try(connection, inviters, device=device, address=visit.network, now=visit.now)


def _counters(found: Invitation) -> tuple[str, str]:
    """The names under which attempts for an invitation, and for all of its inviter, are counted."""
    return f"invitation {found.invitation_id}", f"inviter {found.invited_by}"


async def _create(
    connection: Connection, found: Invitation, *, name: str, password_hash: str | None
) -> Person | None:
    """The new person, without a role; None when the login exists."""
    person_id = uuid7()
    new = await records.add_person(
        connection,
        person_id,
        login=found.login,
        name=name,
        password_hash=password_hash,
        must_change_password=False,
        created_by=found.inviter,
        given_by=found.invited_by if password_hash else None,
    )
    return await records.get_person(connection, person_id) if new else None


async def _give_role(visit: Visit, connection: Connection, person: Person, found: Invitation) -> None:
    grant = found.wanted
    await records.grant_role(connection, person.person_id, grant, granted_by=found.inviter)
    detail = {"changed": "invitation accepted", "login": person.login, "role": grant.role.value}
    detail |= {"invited_by": found.inviter}
    entry = visit.entry(LoggedAction.PEOPLE, user_id=grant.user_id, detail=detail, person=person)
    await access_log.append_entry(connection, entry)
    for counted in _counters(found):
        await sign_ins.forget_tries(connection, counted)


async def _must_choose(visit: Visit, found: Invitation) -> bool:
    """Whether a person without the account may know the password, so that a new password is needed."""
    if _signs_in_elsewhere(visit):
        return False
    async with visit.store.reading() as connection:
        return await role_grants.giver_lacks_account(connection, visit.person, (found.wanted.user_id,))


async def _end_known_password(visit: Visit, connection: Connection) -> str | None:
    """Replace the password by the chosen one and return its hash, or by none for the identity provider."""
    person, stored = visit.person, None
    if not _signs_in_elsewhere(visit):
        if _problem(visit, login=person.login, name=person.name):
            raise Refused(409, "Changed meanwhile", "Open the link again.")
        stored = await passwords.hash_password(visit.field("new"))
    await changes.store_own_password(connection, person, stored)
    ended = await changes.end_other_ways_in(connection, person.person_id, visit.token, now=visit.now)
    detail = {"changed": "own password"} | ended
    await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)
    return stored


def _signs_in_elsewhere(visit: Visit) -> bool:
    return visit.person.elsewhere and visit.site.provider is not None


def _problem(visit: Visit, *, login: str, name: str) -> str:
    breached = visit.site.settings.breached_passwords
    return passwords.new_password_problem(
        visit.field("new"), visit.field("again"), login=login, name=name, breached=breached
    )


async def _page(
    visit: Visit, found: Invitation, *, status: int = 200, problem: str = "", name: str = ""
) -> Response:
    invited = visit.signed_in is not None and visit.signed_in.login == found.login
    return visit.render(
        "invitation.html",
        status=status,
        invitation=found,
        token=_token(visit),
        invited=invited,
        must_choose=invited and await _must_choose(visit, found),
        problem=problem,
        name=name,
        least=passwords.LEAST_CHARS,
    )
