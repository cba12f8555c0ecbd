"""``hushgate review add-person``, ``grant`` and ``revoke``: the roles of people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypeAlias

import typer
from uuid_utils.compat import uuid7

from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import emit, fail
from cli.review.person import LoginArgument, found_person, people_entry, print_change, require_other_admin
from cli.review.store import stored
from db import access_log
from db.connection import Connection
from db.people import api_tokens, changes, records
from db.people.records import EVERY_ACCOUNT, Person, Role, RoleGrant
from review.auth import passwords, role_grants
from review.auth.role_grants import GrantResult

Roles: TypeAlias = Annotated[list[Role], typer.Option("--role", help="May be repeated.")]
AccountOption: TypeAlias = Annotated[
    str, typer.Option("--account", "-a", help="On this account (user_id); * is every account.")
]


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
    row = {"login": login, "account": account, "roles": list(role)}
    print_change(row, given)


def grant(login: LoginArgument, role: Roles, account: AccountOption = EVERY_ACCOUNT) -> None:
    """Give roles on one account, or on all.

    A password that an administrator without that account may know is replaced, and printed, once.
    For example:

        hushgate review grant kim@example.org --role lead --account corner-shop
    """
    grants = tuple(RoleGrant(user_id=account, role=each) for each in role)

    async def run(connection: Connection) -> tuple[str, GrantResult]:
        person = await found_person(connection, login)
        return person.login, await _give(connection, person, grants, changed="granted")

    found, given = stored(run)
    print_change({"login": found, "changed": "granted", "account": account, "roles": list(role)}, given)


def revoke(login: LoginArgument, role: Roles, account: AccountOption = EVERY_ACCOUNT) -> None:
    """Take roles away, and end the person's API tokens; not from the last administrator of every account.

    For example:

        hushgate review revoke kim@example.org --role lead --account corner-shop
    """

    async def run(connection: Connection) -> dict[str, Any]:
        person = await found_person(connection, login)
        unwanted = [RoleGrant(user_id=account, role=each) for each in role]
        await require_other_admin(connection, person, without=unwanted)
        for each in unwanted:
            if not await changes.revoke_role(connection, person.person_id, each):
                raise fail(
                    f"--role: expected a role that {login} has on {account}, got {each.role.value}",
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
        await access_log.append_entries_for_accounts(connection, people_entry(detail), (account,))
        return {"login": person.login, "account": account} | detail

    row = stored(run)
    emit([row], list(row))


async def _add(
    connection: Connection, login: str, name: str, password: str, grants: tuple[RoleGrant, ...]
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
    person = await found_person(connection, login)
    given = await _give(connection, person, grants, changed="added" if new else "granted")
    return GrantResult(password=password) if new else given


async def _give(
    connection: Connection, person: Person, grants: tuple[RoleGrant, ...], *, changed: str
) -> GrantResult:
    detail = {"changed": changed, "login": person.login, "roles": [each.role.value for each in grants]}
    return await role_grants.give_roles(
        connection, person, grants, entry=people_entry(detail), now=datetime.now(UTC)
    )
