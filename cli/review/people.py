"""``hushgate review list``, ``disable`` and so on: the people of the review pages and their access."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

import typer

from cli.exit_codes import ExitCode
from cli.options import settings_of, who
from cli.output import emit, fail, print_message
from cli.review.person import LoginArgument, found_person, people_entry, print_change, require_other_admin
from cli.review.roles import add_person, grant, revoke
from cli.review.store import stored, with_store
from db import access_log
from db.access_log import LogEntry, LoggedAction
from db.connection import Connection
from db.people import changes, records, second_factors, sign_ins
from db.people.api_tokens import TokenScope
from db.people.records import Person
from review.auth import role_grants, sign_in_links
from review.auth.api_tokens import MOST_DAYS, store_new_token
from review.auth.credentials import NAME_CHARS
from review.auth.role_grants import GrantResult
from worker.settings import SiteSettings

PersonChange: TypeAlias = Callable[[Connection, Person], Awaitable[dict[str, Any]]]
MAY_KNOW: Final = (
    "this person may know the passwords of people they added or invited;"
    " hushgate review reset-password ends that"
)


def list_people(
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="Only people who have a role on this account.")
    ] = None,
) -> None:
    """Print all people with their roles."""
    accounts = None if account is None else (account,)
    people = stored(lambda connection: records.list_people(connection, accounts))
    emit((_row(each) for each in people), ["login", "name", "roles", "state"])


def disable(login: LoginArgument) -> None:
    """End a person's access, sessions, API tokens and invitations. Prints whose passwords they may know."""
    gave: list[Person] = []

    async def change(connection: Connection, person: Person) -> dict[str, Any]:
        await require_other_admin(connection, person)
        await changes.disable_person(connection, person.person_id, now=datetime.now(UTC))
        gave.extend(await records.people_knowing_password(connection, person.person_id))
        ended = await changes.revoke_access(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "disabled"} | ended

    _changed(login, change)
    if gave:
        print_message(f"{MAY_KNOW}: {', '.join(each.login for each in gave)}", style="yellow")


def enable(login: LoginArgument) -> None:
    """Give a disabled person access again."""

    async def change(connection: Connection, person: Person) -> dict[str, Any]:
        await changes.enable_person(connection, person.person_id)
        return {"changed": "enabled"}

    _changed(login, change)


def reset_password(login: LoginArgument) -> None:
    """Print a new first password, once; the person's sessions and API tokens end."""
    password = role_grants.new_password()

    async def run(connection: Connection) -> str:
        person = await found_person(connection, login)
        line = people_entry({"changed": "password reset", "login": person.login})
        await role_grants.give_password(connection, person, password, entry=line, now=datetime.now(UTC))
        return person.login

    print_change({"login": stored(run), "changed": "password reset"}, GrantResult(password=password))


def unlock(login: LoginArgument) -> None:
    """End the wait after too many wrong passwords."""

    async def change(connection: Connection, person: Person) -> dict[str, Any]:
        return {"changed": "unlocked", "tries": await sign_ins.forget_tries(connection, person.login)}

    _changed(login, change)


def remove_second_factor(login: LoginArgument) -> None:
    """Remove a second factor whose device and recovery codes are lost; the password alone signs in then."""

    async def change(connection: Connection, person: Person) -> dict[str, Any]:
        removed = await second_factors.remove_factor(connection, person.person_id)
        return {"changed": "second factor removed" if removed else "nothing: there is no second factor"}

    _changed(login, change)


def sign_out(login: LoginArgument) -> None:
    """End all sessions and API tokens of a person."""

    async def change(connection: Connection, person: Person) -> dict[str, Any]:
        ended = await changes.revoke_access(connection, person.person_id, now=datetime.now(UTC))
        return {"changed": "signed out"} | ended

    _changed(login, change)


def sign_in_link(login: LoginArgument) -> None:
    """Print an address that signs a person in, once, within 15 minutes."""
    url = settings_of(SiteSettings).review_url
    found = with_store(
        lambda store: sign_in_links.new_sign_in_link(
            store, login, review_url=url, now=datetime.now(UTC), made_by=who()
        )
    )
    if found is None:
        raise fail(f"login: expected a person who may sign in, got {login[:80]!r}", code=ExitCode.NEGATIVE)
    emit([{"login": login.lower(), "link": found}], ["login", "link"])


def add_token(
    login: LoginArgument,
    scope: Annotated[list[TokenScope], typer.Option("--scope", help="May be repeated.")],
    name: Annotated[str, typer.Option(help="Name on the person's page of tokens.")] = "command line",
    days: Annotated[int, typer.Option(min=1, max=MOST_DAYS, help="Days until it ends.")] = 90,
    fail_open: Annotated[
        bool, typer.Option("--fail-open", help="With --scope check: a check that could not be made allows.")
    ] = False,
) -> None:
    """Print a new API token of a person, once.

    It may do what the person may do, within its scopes. For example:

        hushgate review add-token bot@example.org --scope publish --scope check
    """
    if not (name := name.strip()) or len(name) > NAME_CHARS or not name.isprintable():
        raise fail(f"--name: expected 1 to {NAME_CHARS} printable characters, got {name[:40]!r}")
    if fail_open and TokenScope.CHECK not in scope:
        raise fail(f"--fail-open: expected --scope check, got {', '.join(sorted(set(scope)))}")

    async def run(connection: Connection) -> tuple[str, Person]:
        person = await _enabled_person(connection, login)
        now = datetime.now(UTC)
        token, detail = await store_new_token(
            connection,
            person.person_id,
            name=name,
            lasts=timedelta(days=days),
            scopes=frozenset(scope),
            fail_open=fail_open,
            now=now,
        )
        entry = LogEntry(action=LoggedAction.TOKEN, person=who(), detail=detail | {"login": person.login})
        await access_log.append_entries_for_accounts(connection, entry, person.accounts)
        return token, person

    token, person = stored(run)
    print_message("the token is shown this once", style="yellow")
    if not person.accounts:
        print_message(f"{person.login} has no role: the token may do nothing", style="yellow")
    row = {"login": person.login, "token": token, "scopes": sorted(set(scope)), "days": days}
    emit([row], list(row))


async def _enabled_person(connection: Connection, login: str) -> Person:
    person = await found_person(connection, login)
    if person.disabled:
        expected = "login: expected a person who may sign in"
        raise fail(f"{expected}, got {person.login}, who is disabled", code=ExitCode.REJECTED)
    return person


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command("add-person")(add_person)
    app.command("list")(list_people)
    several = (grant, revoke, disable, enable, reset_password, unlock, remove_second_factor, sign_out)
    for command in (*several, sign_in_link, add_token):
        app.command()(command)


def _changed(login: str, change: PersonChange) -> None:
    async def run(connection: Connection) -> dict[str, Any]:
        person = await found_person(connection, login)
        detail = await change(connection, person) | {"login": person.login}
        await access_log.append_entries_for_accounts(connection, people_entry(detail), person.accounts)
        return {"login": person.login} | detail

    row = stored(run)
    emit([row], list(row))


def _row(person: Person) -> dict[str, Any]:
    state = "disabled" if person.disabled else "first password" if person.must_change_password else "active"
    roles = [f"{each.role.value} on {each.user_id}" for each in person.grants]
    return {"login": person.login, "name": person.name, "roles": roles, "state": state}
