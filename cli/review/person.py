"""A person as the commands on people find, change and print one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeAlias

import typer

from cli.exit_codes import ExitCode
from cli.options import who
from cli.output import emit, fail, print_message
from db.access_log import LogEntry, LoggedAction
from db.connection import Connection
from db.people import changes, records
from db.people.records import Person, RoleGrant
from review.auth.role_grants import GrantResult

LoginArgument: TypeAlias = Annotated[str, typer.Argument(help="Login of a person.")]
SHOWN_ONCE: Final = "the password is shown this once and must be replaced at sign-in"
REPLACED: Final = (
    "an administrator without that account may have known the password:"
    " it has ended, with sessions and API tokens"
)


async def found_person(connection: Connection, login: str) -> Person:
    """The person with this login; roles are locked until the transaction ends."""
    await changes.lock_roles(connection)
    found = await records.get_credentials(connection, login)
    if found is None:
        raise fail(
            f"login: expected a person that hushgate review list shows, got {login[:80]!r}",
            code=ExitCode.NEGATIVE,
        )
    return found.person


def people_entry(detail: dict[str, Any]) -> LogEntry:
    """The entry of the access log."""
    return LogEntry(action=LoggedAction.PEOPLE, person=who(), detail=detail)


def print_change(row: dict[str, Any], given: GrantResult) -> None:
    """Print the change, and a first password once."""
    if given.replaced:
        print_message(REPLACED, style="yellow")
    if given.password:
        row = row | {"first_password": given.password}
        print_message(SHOWN_ONCE, style="yellow")
    emit([row], list(row))


async def require_other_admin(
    connection: Connection, person: Person, *, without: Sequence[RoleGrant] | None = None
) -> None:
    """Return when a person administers every account also without these roles of a person, or without any.

    Raises:
        typer.Exit: this is the last one.
    """
    if await changes.is_last_admin(connection, person, without=without):
        raise fail(
            f"{person.login} is the last administrator of every account: add another one first",
            code=ExitCode.REJECTED,
        )
