"""``hushgate review list``, ``grant`` and so on: the people of the review pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

import typer
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from cli.exit_codes import ExitCode
from cli.output import emit, fail, print_message
from cli.review_settings import review_url, stored, who, with_store
from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.people import (
    api_tokens,
    changes,
    records,
    sign_ins,
)
from db.people.records import (
    EVERY_ACCOUNT,
    Person,
    Role,
    RoleGrant,
)
from review.auth import passwords, sign_in_links
from review.people import role_grants
from review.people.role_grants import GrantResult

LoginArgument: TypeAlias = Annotated[str, typer.Argument(help="Login of a person.")]
Roles: TypeAlias = Annotated[list[Role], typer.Option("--role", help="May be repeated.")]
AccountOption: TypeAlias = Annotated[
    str, typer.Option("--account", help="On this account (user_id); * is every account.")
]
PersonChange: TypeAlias = Callable[[AsyncConnection, Person], Awaitable[dict[str, Any]]]
SHOWN_ONCE: Final = "the password is shown this once and must be replaced at sign-in"
MAY_KNOW: Final = (
    "this person may know the passwords of people they added or invited;"
    " hushgate review reset-password ends that"
)
REPLACED: Final = (
    "an administrator without that account may have known the password:"
    " it has ended, with sessions and API tokens"
)


def add_person(
    login: Annotated[str, typer.Argument(help="Login; an e-mail address where people sign in by OIDC.")],
    role: Roles,
    account: AccountOption = EVERY_ACCOUNT,
    name: Annotated[str, typer.Option(help="Name that colleagues see.")] = "",
    no_password: Annotated[
        bool, typer.Option("--no-password", help="The person signs in by OpenID Connect or by a link only.")
    ] = False,
) -> None:
    """Add a person, and print the first password, once.

    A person who exists gets the further roles. The password is replaced when an administrator without that
    account may know it. For example:

        hushgate review add-person kim@example.org --role reviewer --account corner-shop
    """
    if not (login := login.strip().lower()) or len(login) > 200 or not login.isprintable():
        raise fail(f"login: expected 1 to 200 printable characters, got {login[:40]!r}")
    password = "" if no_password else role_grants.new_password()
    grants = tuple(RoleGrant(user_id=account, role=each) for each in role)
    given = stored(lambda connection: _add(connection, login, name, password, grants))
    row = {"login": login, "account": account, "roles": ", ".join(role)}
    _show(row, given)


def list_people(
    account: Annotated[str | None, typer.Option(help="Only people who have a role on this account.")] = None,
) -> None:
    """Print all people with their roles."""
    wanted = None if account is None else (account,)
    found = stored(lambda connection: records.list_people(connection, wanted))
    emit((_row(each) for each in found), ["login", "name", "roles", "state"])


def grant(login: LoginArgument, role: Roles, account: AccountOption = EVERY_ACCOUNT) -> None:
    """Give roles on one account, or on all.

    A password that an administrator without that account may know is replaced, and printed, once.
    For example:

        hushgate review grant kim@example.org --role lead --account corner-shop
    """
    grants = tuple(RoleGrant(user_id=account, role=each) for each in role)

    async def run(connection: AsyncConnection) -> tuple[str, GrantResult]:
        person = await _found(connection, login)
        return person.login, await _give(connection, person, grants, changed="granted")

    found, given = stored(run)
    _show({"login": found, "changed": "granted", "account": account, "roles": list(role)}, given)


def revoke(login: LoginArgument, role: Roles, account: AccountOption = EVERY_ACCOUNT) -> None:
    """Take roles away, and end the person's API tokens; not from the last administrator of every account.

    For example:

        hushgate review revoke kim@example.org --role lead --account corner-shop
    """

    async def run(connection: AsyncConnection) -> dict[str, Any]:
        person = await _found(connection, login)
        if account == EVERY_ACCOUNT and Role.ACCOUNT_ADMIN in role:
            await _not_the_last(connection, person)
        for each in role:
            if not await changes.revoke_role(
                connection, person.person_id, RoleGrant(user_id=account, role=each)
            ):
                raise fail(
                    f"--role: expected a role that {login} has on {account}, got {each.value}",
                    code=ExitCode.NEGATIVE,
                )
        ended = await api_tokens.revoke_all_tokens(connection, person.person_id, now=datetime.now(UTC))
        roles = [each.value for each in role]
        detail: dict[str, Any] = {
            "changed": "revoked",
            "login": person.login,
            "roles": roles,
            "keys_revoked": ended,
        }
        await access_log.append_entries_for_accounts(connection, _line(detail), (account,))
        return {"login": person.login, "account": account} | detail

    row = stored(run)
    emit([row], list(row))


def disable(login: LoginArgument) -> None:
    """End a person's access, sessions, API tokens and invitations. Prints whose passwords they may know."""
    gave: list[Person] = []

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        await _not_the_last(connection, person)
        await changes.disable_person(connection, person.person_id, now=datetime.now(UTC))
        gave.extend(await records.people_knowing_password(connection, person.person_id))
        ended = await changes.revoke_access(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "disabled"} | ended

    _changed(login, change)
    if gave:
        print_message(f"{MAY_KNOW}: {', '.join(each.login for each in gave)}", style="yellow")


def enable(login: LoginArgument) -> None:
    """Give a disabled person access again."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        await changes.enable_person(connection, person.person_id)
        return {"changed": "enabled"}

    _changed(login, change)


def reset_password(login: LoginArgument) -> None:
    """Print a new first password, once; the person's sessions and API tokens end."""
    password = role_grants.new_password()

    async def run(connection: AsyncConnection) -> str:
        person = await _found(connection, login)
        line = _line({"changed": "password reset", "login": person.login})
        await role_grants.give_password(connection, person, password, entry=line, now=datetime.now(UTC))
        return person.login

    _show({"login": stored(run), "changed": "password reset"}, GrantResult(password=password))


def unlock(login: LoginArgument) -> None:
    """End the wait after too many wrong passwords."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        return {"changed": "unlocked", "tries": await sign_ins.forget_tries(connection, person.login)}

    _changed(login, change)


def sign_out(login: LoginArgument) -> None:
    """End all sessions and API tokens of a person."""

    async def change(connection: AsyncConnection, person: Person) -> dict[str, Any]:
        ended = await changes.revoke_access(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "signed out"} | ended

    _changed(login, change)


def sign_in_link(login: LoginArgument) -> None:
    """Print an address that signs a person in, once, within 15 minutes."""
    url = review_url()
    found = with_store(
        lambda store: sign_in_links.new_sign_in_link(
            store, login, review_url=url, now=datetime.now(UTC), made_by=who()
        )
    )
    if found is None:
        raise fail(f"login: expected a person who may sign in, got {login[:80]!r}", code=ExitCode.NEGATIVE)
    emit([{"login": login.lower(), "link": found}], ["login", "link"])


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("add-person")(add_person)
    app.command("list")(list_people)
    for command in (grant, revoke, disable, enable, reset_password, unlock, sign_out, sign_in_link):
        app.command()(command)


async def _add(
    connection: AsyncConnection, login: str, name: str, password: str, grants: tuple[RoleGrant, ...]
) -> GrantResult:
    await changes.lock_roles(connection)
    new = await records.add_person(
        connection,
        uuid7(),
        login=login,
        name=name,
        password_hash=await passwords.hash_password(password) if password else None,
        must_change_password=password != "",
        created_by=who(),
    )
    person = await _found(connection, login)
    given = await _give(connection, person, grants, changed="added" if new else "granted")
    return GrantResult(password=password) if new else given


async def _give(
    connection: AsyncConnection, person: Person, grants: tuple[RoleGrant, ...], *, changed: str
) -> GrantResult:
    detail = {"changed": changed, "login": person.login, "roles": [each.role.value for each in grants]}
    return await role_grants.give_roles(
        connection, person, grants, entry=_line(detail), now=datetime.now(UTC)
    )


def _changed(login: str, change: PersonChange) -> None:
    async def run(connection: AsyncConnection) -> dict[str, Any]:
        person = await _found(connection, login)
        detail = await change(connection, person) | {"login": person.login}
        await access_log.append_entries_for_accounts(connection, _line(detail), person.accounts)
        return {"login": person.login} | detail

    row = stored(run)
    emit([row], list(row))


def _line(detail: dict[str, Any]) -> LogEntry:
    return LogEntry(action=LoggedAction.PEOPLE, person=who(), detail=detail)


def _show(row: dict[str, Any], given: GrantResult) -> None:
    if given.replaced:
        print_message(REPLACED, style="yellow")
    if given.password:
        row = row | {"first_password": given.password}
        print_message(SHOWN_ONCE, style="yellow")
    emit([row], list(row))


async def _found(connection: AsyncConnection, login: str) -> Person:
    await changes.lock_roles(connection)
    found = await records.get_credentials(connection, login)
    if found is None:
        raise fail(
            f"login: expected a person that hushgate review list shows, got {login[:80]!r}",
            code=ExitCode.NEGATIVE,
        )
    return found.person


async def _not_the_last(connection: AsyncConnection, person: Person) -> None:
    if await changes.list_admins(connection) == (person.person_id,):
        raise fail(
            f"{person.login} is the last administrator of every account: add another one first",
            code=ExitCode.REJECTED,
        )


def _row(person: Person) -> dict[str, str]:
    state = "disabled" if person.disabled else "first password" if person.must_change_password else "active"
    roles = ", ".join(f"{each.role.value} on {each.user_id}" for each in person.grants)
    return {"login": person.login, "name": person.name, "roles": roles, "state": state}
