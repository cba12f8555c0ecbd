"""``hushgate review list``, ``grant`` and so on: who may use the review pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

import typer
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from cli.output import complain, emit, fail
from cli.review_settings import review_settings, stored, who, with_store
from db import access_log, people, people_changes, sign_ins
from db.access_log import Action, Entry
from db.people import EVERY_ACCOUNT, Grant, Person, Role
from review.people import giving, links, passwords
from review.people.giving import Given

Login: TypeAlias = Annotated[str, typer.Argument(help="Login of a person.")]
Roles: TypeAlias = Annotated[list[Role], typer.Option("--role", help="May be repeated.")]
Account: TypeAlias = Annotated[
    str, typer.Option("--account", help="On this account (user_id); * is every account.")
]
Change: TypeAlias = Callable[[AsyncConnection, Person], Awaitable[dict[str, Any]]]
SHOWN_ONCE: Final = "the password is shown this once and has to be replaced at sign-in"
MAY_KNOW: Final = "they may know passwords that they gave; hushgate review reset-password ends that"
REPLACED: Final = (
    "their password was given by somebody who does not administer that account:"
    " it has ended, with sessions and keys"
)


def add_person(
    login: Annotated[str, typer.Argument(help="Login; an e-mail address where people sign in by OIDC.")],
    role: Roles,
    account: Account = EVERY_ACCOUNT,
    name: Annotated[str, typer.Option(help="As colleagues see it.")] = "",
    no_password: Annotated[
        bool, typer.Option("--no-password", help="They sign in by OIDC or by link only.")
    ] = False,
) -> None:
    """Add somebody, and print the first password they sign in with, once.

    Somebody who is there already gets the further roles, and keeps their password unless it was given by
    somebody who does not administer that account. For example:

        hushgate review add-person kim@example.org --role reviewer --account corner-shop
    """
    if not (login := login.strip().lower()) or len(login) > 200 or not login.isprintable():
        raise fail(f"login: expected 1 to 200 printable characters, got {login[:40]!r}")
    password = "" if no_password else giving.new_password()
    grants = tuple(Grant(user_id=account, role=each) for each in role)
    given = stored(lambda connection: _add(connection, login, name, password, grants))
    row = {"login": login, "account": account, "roles": ", ".join(role)}
    _show(row, given)


def list_people(
    account: Annotated[str | None, typer.Option(help="Only who has a role on this account.")] = None,
) -> None:
    """Everybody, with their roles."""
    wanted = None if account is None else (account,)
    found = stored(lambda connection: people.listed(connection, wanted))
    emit((_row(each) for each in found), ["login", "name", "roles", "state"])


def grant(login: Login, role: Roles, account: Account = EVERY_ACCOUNT) -> None:
    """Give roles on one account, or on all.

    A password that was given by somebody who does not administer that account is replaced, and printed, once.
    """
    grants = tuple(Grant(user_id=account, role=each) for each in role)

    async def run(connection: AsyncConnection) -> tuple[str, Given]:
        person = await _found(connection, login)
        return person.login, await _give(connection, person, grants, changed="granted")

    found, given = stored(run)
    _show({"login": found, "changed": "granted", "account": account, "roles": list(role)}, given)


def revoke(login: Login, role: Roles, account: Account = EVERY_ACCOUNT) -> None:
    """Take roles away. The last administrator of every account stays."""

    async def run(connection: AsyncConnection) -> dict[str, Any]:
        person = await _found(connection, login)
        if account == EVERY_ACCOUNT and Role.ACCOUNT_ADMIN in role:
            await _not_the_last(connection, person)
        for each in role:
            if not await people_changes.revoke(
                connection, person.person_id, Grant(user_id=account, role=each)
            ):
                raise fail(f"--role: expected a role that {login} has on {account}, got {each.value}")
        detail = {"changed": "revoked", "login": person.login, "roles": [each.value for each in role]}
        await access_log.add_for(connection, _line(detail), (account,))
        return {"login": person.login, "account": account} | detail

    row = stored(run)
    emit([row], list(row))


def disable(login: Login) -> None:
    """Let somebody in no more; their sessions and tokens end at once. Names whose passwords they gave."""
    gave: list[Person] = []

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        await _not_the_last(connection, person)
        await people_changes.disable(connection, person.person_id, now=datetime.now(UTC))
        gave.extend(await people.with_password_of(connection, person.person_id))
        ended = await people_changes.cast_out(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "disabled"} | ended

    _changed(login, change)
    if gave:
        complain(f"{MAY_KNOW}: {', '.join(each.login for each in gave)}", style="yellow")


def enable(login: Login) -> None:
    """Let somebody in again."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        await people_changes.enable(connection, person.person_id)
        return {"changed": "enabled"}

    _changed(login, change)


def reset_password(login: Login) -> None:
    """Print a new first password, once; the person is signed out everywhere, and their keys end."""
    password = giving.new_password()

    async def run(connection: AsyncConnection) -> str:
        person = await _found(connection, login)
        line = _line({"changed": "password reset", "login": person.login})
        await giving.give_password(connection, person, password, line=line, now=datetime.now(UTC))
        return person.login

    _show({"login": stored(run), "changed": "password reset"}, Given(password=password))


def unlock(login: Login) -> None:
    """End the wait after too many wrong passwords."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        return {"changed": "unlocked", "tries": await sign_ins.forget_tries(connection, person.login)}

    _changed(login, change)


def sign_out(login: Login) -> None:
    """Sign somebody out everywhere; their keys end too."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        ended = await people_changes.cast_out(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "signed out"} | ended

    _changed(login, change)


def sign_in_link(login: Login) -> None:
    """Print an address that signs somebody in, once, within a quarter of an hour."""
    url = review_settings().review_url
    found = with_store(
        lambda store: links.sign_in_link(store, login, review_url=url, now=datetime.now(UTC), made_by=who())
    )
    if found is None:
        raise fail(f"login: expected somebody who may sign in, got {login[:80]!r}")
    emit([{"login": login.lower(), "link": found}], ["login", "link"])


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("add-person")(add_person)
    app.command("list")(list_people)
    for command in (grant, revoke, disable, enable, reset_password, unlock, sign_out, sign_in_link):
        app.command()(command)


async def _add(
    connection: AsyncConnection, login: str, name: str, password: str, grants: tuple[Grant, ...]
) -> Given:
    await people_changes.hold(connection)
    new = await people.add(
        connection,
        uuid7(),
        login=login,
        name=name,
        password_hash=await passwords.hashed(password) if password else None,
        must_change_password=password != "",
        created_by=who(),
    )
    person = await _found(connection, login)
    given = await _give(connection, person, grants, changed="added" if new else "granted")
    return Given(password=password) if new else given


async def _give(
    connection: AsyncConnection, person: Person, grants: tuple[Grant, ...], *, changed: str
) -> Given:
    detail = {"changed": changed, "login": person.login, "roles": [each.role.value for each in grants]}
    return await giving.give_roles(
        connection, person, grants, giver=None, line=_line(detail), now=datetime.now(UTC)
    )


def _changed(login: str, change: Change) -> None:
    async def run(connection: AsyncConnection) -> dict[str, Any]:
        person = await _found(connection, login)
        detail = await change(connection, person) | {"login": person.login}
        await access_log.add_for(connection, _line(detail), person.accounts)
        return {"login": person.login} | detail

    row = stored(run)
    emit([row], list(row))


def _line(detail: dict[str, Any]) -> Entry:
    return Entry(action=Action.PEOPLE, person=who(), detail=detail)


def _show(row: dict[str, Any], given: Given) -> None:
    if given.replaced:
        complain(REPLACED, style="yellow")
    if given.password:
        row = row | {"first_password": given.password}
        complain(SHOWN_ONCE, style="yellow")
    emit([row], list(row))


async def _found(connection: AsyncConnection, login: str) -> Person:
    await people_changes.hold(connection)
    found = await people.by_login(connection, login)
    if found is None:
        raise fail(f"login: expected somebody that hushgate review list shows, got {login[:80]!r}")
    return found.person


async def _not_the_last(connection: AsyncConnection, person: Person) -> None:
    if await people_changes.admins(connection) == (person.person_id,):
        raise fail(f"{person.login} is the last administrator of every account: make another one first")


def _row(person: Person) -> dict[str, str]:
    state = "disabled" if person.disabled else "first password" if person.must_change_password else "active"
    roles = ", ".join(f"{each.role.value} on {each.user_id}" for each in person.grants)
    return {"login": person.login, "name": person.name, "roles": roles, "state": state}
