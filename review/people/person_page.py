"""The page of one person: roles given and taken away, access ended, a new first password."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from starlette.responses import Response

from db import access_log
from db.access_log import LoggedAction
from db.connection import Connection
from db.people import api_tokens, changes, records, second_factors, sign_ins
from db.people.records import Person, Role, RoleGrant
from review.access import Right
from review.auth import grant_limits, role_grants
from review.auth.role_grants import GrantResult
from review.http.visit import Refused, Visit
from review.languages import gettext as _
from review.people.people_page import give_role, grant_of_form, invite_person
from review.typed.problems import button_problem

PersonEdit: TypeAlias = Callable[[Visit, Connection, Person], Awaitable[dict[str, Any]]]


async def show_person(visit: Visit) -> Response:
    """One person; who may know passwords is for administrators of every account."""
    async with visit.store.reading() as connection:
        person = await _person(visit, connection)
        if not grant_limits.administers_every_account(visit.person):
            return _page(visit, person)
        known = await role_grants.giver_lacks_account(connection, person, person.accounts)
        may_know_passwords_of = (
            await records.people_knowing_password(connection, person.person_id) if person.disabled else ()
        )
    return _page(visit, person, giver_lacks_account=known, may_know_passwords_of=may_know_passwords_of)


async def grant_role(visit: Visit) -> Response:
    """Give a role; without every account, invite to accounts where the person has no role yet."""
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        person, grant = await _person(visit, connection), grant_of_form(visit)
        if invited := await _needs_invitation(visit, connection, person, grant):
            given, after = GrantResult(), None
        else:
            given = await give_role(visit, connection, person, grant, changed="granted")
            after = await records.get_person(connection, person.person_id)
    if invited:
        return await invite_person(visit, person.login, grant)
    if given.replaced and after is not None:
        return _page(visit, after, given=given)
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def revoke_role(visit: Visit) -> Response:
    """Take a role away, and end API tokens; not from the last administrator of every account."""
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        person, unwanted = await _person(visit, connection), grant_of_form(visit)
        await _not_the_last(connection, person, without=(unwanted,))
        if not await changes.revoke_role(connection, person.person_id, unwanted):
            raise Refused(409, "No such role", "It was taken away already.")
        detail = {"changed": "revoked", "login": person.login, "role": unwanted.role.value}
        await visit.log(LoggedAction.PEOPLE, connection=connection, user_id=unwanted.user_id, detail=detail)
        await _end_tokens(visit, connection, person)
        left = await records.get_person(connection, person.person_id)
    if left is None or not grant_limits.may_see(visit.person, left):
        return visit.redirect("people")
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def manage_person(visit: Visit) -> Response:
    """Disable, enable, sign out everywhere, unlock, or give a new first password.

    For administrators of every account: no refusal depends on roles beyond one's own accounts.
    """
    if not grant_limits.administers_every_account(visit.person):
        raise Refused(403, "Not allowed", "Administrators of every account manage passwords and access.")
    what, given = visit.field("what"), GrantResult()
    async with visit.store.writing() as connection:
        await changes.lock_roles(connection)
        person = await _person(visit, connection)
        if what == "password":
            given = await _new_password(visit, connection, person)
        elif (change := CHANGES.get(what)) is not None:
            detail = await change(visit, connection, person) | {"login": person.login}
            entry = visit.entry(LoggedAction.PEOPLE, detail=detail)
            await access_log.append_entries_for_accounts(connection, entry, person.accounts)
        else:
            raise Refused(400, "What to do", button_problem())
        after = await records.get_person(connection, person.person_id)
    if given.password and after is not None:
        return _page(visit, after, given=given)
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def _disable(visit: Visit, connection: Connection, person: Person) -> dict[str, Any]:
    if person.person_id == visit.person.person_id:
        raise Refused(409, "That is you", "Another administrator has to disable you.")
    await _not_the_last(connection, person)
    await changes.disable_person(connection, person.person_id, now=visit.now)
    ended = await changes.revoke_access(connection, person.person_id, now=visit.now)
    return {"changed": "disabled"} | ended


async def _enable(_: Visit, connection: Connection, person: Person) -> dict[str, Any]:
    await changes.enable_person(connection, person.person_id)
    return {"changed": "enabled"}


async def _sign_out(visit: Visit, connection: Connection, person: Person) -> dict[str, Any]:
    ended = await changes.revoke_access(connection, person.person_id, now=visit.now)
    return {"changed": "signed out"} | ended


async def _unlock(_: Visit, connection: Connection, person: Person) -> dict[str, Any]:
    return {"changed": "unlocked", "tries": await sign_ins.forget_tries(connection, person.login)}


async def _remove_factor(_: Visit, connection: Connection, person: Person) -> dict[str, Any]:
    if not await second_factors.remove_factor(connection, person.person_id):
        raise Refused(409, "No second factor", "The person has none, or it was removed already.")
    return {"changed": "second factor removed"}


async def _needs_invitation(visit: Visit, connection: Connection, person: Person, grant: RoleGrant) -> bool:
    """Whether only the person can accept: on a new account, or with a password a stranger may know."""
    if grant_limits.administers_every_account(visit.person):
        return False
    if grant.user_id not in person.accounts:
        return True
    return await role_grants.giver_lacks_account(connection, person, (grant.user_id,))


async def _end_tokens(visit: Visit, connection: Connection, person: Person) -> None:
    """End API tokens, but none that reads other administrators' accounts; logged without an account."""
    if not grant_limits.may_grant_all_of(visit.person, person):
        return
    ended = await api_tokens.revoke_all_tokens(connection, person.person_id, now=visit.now)
    detail = {"changed": "API tokens revoked", "login": person.login, "keys_revoked": ended}
    await visit.log(LoggedAction.PEOPLE, connection=connection, detail=detail)


async def _new_password(visit: Visit, connection: Connection, person: Person) -> GrantResult:
    given = GrantResult(password=role_grants.new_password())
    entry = visit.entry(LoggedAction.PEOPLE, detail={"changed": "password reset", "login": person.login})
    await role_grants.give_password(connection, person, given.password, entry=entry, now=visit.now)
    return given


CHANGES: Final[dict[str, PersonEdit]] = {
    "disable": _disable,
    "enable": _enable,
    "sign_out": _sign_out,
    "unlock": _unlock,
    "remove_factor": _remove_factor,
}


async def _not_the_last(
    connection: Connection, person: Person, *, without: Sequence[RoleGrant] | None = None
) -> None:
    if await changes.is_last_admin(connection, person, without=without):
        last = _("%(login)s is the last administrator of every account. Add another one first.")
        text = last % {"login": person.login}
        raise Refused(409, "The last administrator", text)


async def _person(visit: Visit, connection: Connection) -> Person:
    missing = Refused(404, "Not found", "No person on your accounts has this address.")
    person = await records.get_person(connection, visit.path_id("person_id", missing))
    if person is None or not grant_limits.may_see(visit.person, person):
        raise missing
    return person


def _page(
    visit: Visit,
    person: Person,
    *,
    given: GrantResult | None = None,
    giver_lacks_account: bool = False,
    may_know_passwords_of: Sequence[Person] = (),
) -> Response:
    return visit.render(
        "person.html",
        person=person,
        grants=grant_limits.visible_roles(visit.person, person),
        administered=visit.accounts(Right.ADMIN),
        roles=tuple(Role),
        may_grant=lambda user_id: grant_limits.may_grant(visit.person, user_id),
        saved="saved" in visit.request.query_params,
        given=given,
        giver_lacks_account=giver_lacks_account,
        may_know_passwords_of=may_know_passwords_of,
    )
