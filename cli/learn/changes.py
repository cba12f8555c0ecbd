"""Changed settings on the command line: a stored candidate, or values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

import orjson
import typer

from cli.exit_codes import ExitCode
from cli.output import fail
from db.account_settings.accounts import is_used
from db.candidates.candidates import SettingsCandidate, checked_account, get_candidate
from db.pool import Pool
from worker.account_settings import SETTINGS
from worker.model import Account

CandidateId = Annotated[
    str | None,
    typer.Option("--candidate", help="Decide with this candidate; see `hushgate candidates`."),
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", help="Decide with this setting, as NAME=JSON, such as hold_max_s=60."),
]


def changes_of(texts: Sequence[str], *, option: str = "--set") -> dict[str, Any]:
    """The settings of ``--set`` or another option; a value that is no JSON is a text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in SETTINGS:
            raise fail(f"{option}: expected NAME=VALUE with the name of a setting, got {text!r}")
        try:
            found[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[name] = value
    return found


def id_of(option: str, text: str) -> UUID:
    """The id that an option or argument names."""
    try:
        return UUID(text)
    except ValueError as error:
        raise fail(f"{option}: expected an id, got {text!r}") from error


async def require_used(source: Pool, account: str, *, option: str = "account") -> None:
    """End the command when nothing is stored under the account's name: it is misspelt."""
    if not await is_used(source, account):
        expected = "expected an account with settings, decisions or documents"
        raise fail(f"{option}: {expected}, got {account!r}", code=ExitCode.NEGATIVE)


async def candidate_of(source: Pool, text: str) -> SettingsCandidate:
    """The candidate of ``--candidate``."""
    found = await get_candidate(source, id_of("--candidate", text))
    if found is None:
        raise fail(f"--candidate: no candidate {text}", code=ExitCode.NEGATIVE)
    return found


def with_changes(account: Account, changes: Mapping[str, Any]) -> Account:
    """The account with the settings of ``--set``.

    Raises:
        AccountRejected: they cannot be used.
    """
    return checked_account(account, changes)
