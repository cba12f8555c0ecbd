"""Who may do what where: people and their roles, for administrators."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from starlette.responses import Response
from uuid_utils.compat import uuid7

from db import access_log, people, people_changes, sign_ins
from db.access_log import Action
from db.jobs import Transaction
from db.people import EVERY_ACCOUNT, Grant, Person, Role
from review.access import Right
from review.people import giving, granting, passwords
from review.people.giving import Given
from review.web import Refused, Visit

LOGIN_CHARS: Final = 200
NAME_CHARS: Final = 100
Deed: TypeAlias = Callable[[Visit, Transaction, Person], Awaitable[dict[str, Any]]]


async def listed(visit: Visit) -> Response:
    """The people of the administrator's accounts."""
    return await _list(visit)


async def show(visit: Visit) -> Response:
    """One person."""
    async with visit.store.reading() as connection:
        person = await _person(visit, connection)
        known = await giving.known_to_a_stranger(connection, person, person.accounts)
        gave = await people.with_password_of(connection, person.person_id) if person.disabled else ()
    theirs = [each for each in gave if granting.sees(visit.person, each)]
    return _one(visit, person, known_to_a_stranger=known, gave=theirs)


async def add(visit: Visit) -> Response:
    """Add somebody with a role, or give the role to somebody who is there.

    Raises:
        Refused: 400 or 403.
    """
    login, name = _login(visit), str(visit.form.get("name", "")).strip()
    wanted = _grant(visit)
    if len(name) > NAME_CHARS or not name.isprintable():
        raise Refused(400, "Name", f"Expected at most {NAME_CHARS} printable characters.")
    first = "" if visit.form.get("no_password") else giving.new_password()
    stored = await passwords.hashed(first) if first else None
    async with visit.store.writing() as connection:
        await people_changes.hold(connection)
        new = await people.add(
            connection,
            uuid7(),
            login=login,
            name=name,
            password_hash=stored,
            must_change_password=stored is not None,
            created_by=visit.person.login,
            given_by=visit.person.person_id if first else None,
        )
        found = await people.by_login(connection, login)
        if found is None:
            raise Refused(400, "Login", "Expected one that the database keeps as it is.")
        given = await _give(visit, connection, found.person, wanted, changed="added" if new else "granted")
    return await _list(visit, login=login, given=Given(password=first) if new else given)


async def grant(visit: Visit) -> Response:
    """Give a role."""
    async with visit.store.writing() as connection:
        await people_changes.hold(connection)
        person, wanted = await _person(visit, connection), _grant(visit)
        given = await _give(visit, connection, person, wanted, changed="granted")
        after = await people.by_id(connection, person.person_id)
    if given.replaced and after is not None:
        return _one(visit, after, given=given)
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def revoke(visit: Visit) -> Response:
    """Take a role away; the last administrator of every account keeps theirs."""
    async with visit.store.writing() as connection:
        await people_changes.hold(connection)
        person, unwanted = await _person(visit, connection), _grant(visit)
        if unwanted.user_id == EVERY_ACCOUNT and unwanted.role is Role.ACCOUNT_ADMIN:
            await _not_the_last(connection, person)
        if not await people_changes.revoke(connection, person.person_id, unwanted):
            raise Refused(409, "No such role", "It was taken away already.")
        detail = {"changed": "revoked", "login": person.login, "role": unwanted.role.value}
        await access_log.add(connection, visit.entry(Action.PEOPLE, user_id=unwanted.user_id, detail=detail))
        left = await people.by_id(connection, person.person_id)
    if left is None or not granting.sees(visit.person, left):
        return visit.redirect("people")
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def manage(visit: Visit) -> Response:
    """Disable, enable, sign out everywhere, unlock, or give a new first password.

    Raises:
        Refused: 400, 403, 404 or 409.
    """
    what, given = str(visit.form.get("what", "")), Given()
    async with visit.store.writing() as connection:
        await people_changes.hold(connection)
        person = await _person(visit, connection)
        if not granting.may_manage(visit.person, person):
            raise Refused(
                403, "Not allowed", "This person has roles beyond the accounts that you administer."
            )
        if what == "password":
            _may_have_password(visit, person)
            given = await _new_password(visit, connection, person)
        elif (deed := DEEDS.get(what)) is not None:
            detail = await deed(visit, connection, person) | {"login": person.login}
            await access_log.add_for(connection, visit.entry(Action.PEOPLE, detail=detail), person.accounts)
        else:
            raise Refused(400, "What to do", f"Expected one of {', '.join([*DEEDS, 'password'])}.")
        after = await people.by_id(connection, person.person_id)
    if given.password and after is not None:
        return _one(visit, after, given=given)
    return visit.redirect("person", "saved=1", person_id=person.person_id)


async def _disable(visit: Visit, connection: Transaction, person: Person) -> dict[str, Any]:
    if person.person_id == visit.person.person_id:
        raise Refused(409, "That is you", "Somebody else has to disable you.")
    await _not_the_last(connection, person)
    await people_changes.disable(connection, person.person_id, now=visit.now)
    ended = await people_changes.cast_out(connection, person.person_id, now=visit.now)
    return {"changed": "disabled"} | ended


async def _enable(_: Visit, connection: Transaction, person: Person) -> dict[str, Any]:
    await people_changes.enable(connection, person.person_id)
    return {"changed": "enabled"}


async def _sign_out(visit: Visit, connection: Transaction, person: Person) -> dict[str, Any]:
    ended = await people_changes.cast_out(connection, person.person_id, now=visit.now)
    return {"changed": "signed out"} | ended


async def _unlock(_: Visit, connection: Transaction, person: Person) -> dict[str, Any]:
    return {"changed": "unlocked", "tries": await sign_ins.forget_tries(connection, person.login)}


async def _give(
    visit: Visit, connection: Transaction, person: Person, wanted: Grant, *, changed: str
) -> Given:
    detail = {"changed": changed, "login": person.login, "role": wanted.role.value}
    line = visit.entry(Action.PEOPLE, detail=detail)
    return await giving.give_roles(
        connection, person, (wanted,), giver=visit.person, line=line, now=visit.now
    )


async def _new_password(visit: Visit, connection: Transaction, person: Person) -> Given:
    given = Given(password=giving.new_password())
    line = visit.entry(Action.PEOPLE, detail={"changed": "password reset", "login": person.login})
    await giving.give_password(connection, person, given.password, line=line, now=visit.now)
    return given


DEEDS: Final[dict[str, Deed]] = {
    "disable": _disable,
    "enable": _enable,
    "sign_out": _sign_out,
    "unlock": _unlock,
}


def _may_have_password(visit: Visit, person: Person) -> None:
    """Refuse a second way in for somebody who signs in elsewhere and would not notice it."""
    if not person.has_password and visit.accounts(Right.ADMIN) is not None:
        raise Refused(
            403,
            "Not allowed",
            "They sign in elsewhere: only an administrator of every account adds a password.",
        )


async def _not_the_last(connection: Transaction, person: Person) -> None:
    if await people_changes.admins(connection) == (person.person_id,):
        raise Refused(
            409,
            "The last administrator",
            f"{person.login} is the last one who administers every account. Make another one first.",
        )


async def _person(visit: Visit, connection: Transaction) -> Person:
    nobody = Refused(404, "Not found", "There is nobody like that on your accounts.")
    try:
        person_id = UUID(visit.request.path_params["person_id"])
    except ValueError:
        raise nobody from None
    person = await people.by_id(connection, person_id)
    if person is None or not granting.sees(visit.person, person):
        raise nobody
    return person


def _grant(visit: Visit) -> Grant:
    user_id, role = str(visit.form.get("account", "")).strip(), str(visit.form.get("role", ""))
    if role not in set(Role) or not user_id:
        raise Refused(400, "Role", f"Expected an account and one of {', '.join(Role)}.")
    if not granting.may_grant(visit.person, user_id):
        raise Refused(403, "Not allowed", "You administer other accounts than this one.")
    return Grant(user_id=user_id, role=Role(role))


def _login(visit: Visit) -> str:
    login = str(visit.form.get("login", "")).strip().lower()
    if not login or len(login) > LOGIN_CHARS or not login.isprintable():
        raise Refused(400, "Login", f"Expected 1 to {LOGIN_CHARS} printable characters.")
    return login


async def _list(visit: Visit, *, login: str = "", given: Given | None = None) -> Response:
    mine = visit.accounts(Right.ADMIN)
    async with visit.store.reading() as connection:
        found = await people.listed(connection, mine)
    rows = [(each, granting.shown(visit.person, each)) for each in found]
    return visit.render("people.html", rows=rows, mine=mine, roles=tuple(Role), login=login, given=given)


def _one(
    visit: Visit,
    person: Person,
    *,
    given: Given | None = None,
    known_to_a_stranger: bool = False,
    gave: Sequence[Person] = (),
) -> Response:
    return visit.render(
        "person.html",
        person=person,
        grants=granting.shown(visit.person, person),
        mine=visit.accounts(Right.ADMIN),
        roles=tuple(Role),
        may_manage=granting.may_manage(visit.person, person),
        may_grant=lambda user_id: granting.may_grant(visit.person, user_id),
        saved=visit.request.query_params.get("saved", "") != "",
        given=given,
        known_to_a_stranger=known_to_a_stranger,
        gave=gave,
    )
