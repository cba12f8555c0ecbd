"""What the commands of trials share: settings to try, sets by name, connections, and who asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar
from uuid import UUID

import orjson
import typer

from cli.exit_codes import ExitCode
from cli.options import who, with_pool
from cli.output import fail
from db.access_log import LogEntry, LoggedAction, append_entry
from db.account_settings.accounts import current_account, is_used
from db.identifiers import parsed_id
from db.pool import Pool, checkout
from trials.pure.evaluation.items import GoldenRejected, GoldenSet
from trials.store import golden_sets
from trials.store.candidates import (
    Actor,
    SettingsCandidate,
    TrialRefused,
    TriedSettings,
    candidate_account,
    checked_account,
    get_candidate,
)
from worker.account_settings import SETTINGS, AccountRejected
from worker.model import Account

CandidateId = Annotated[
    str | None,
    typer.Option("--candidate", help="Decide with this candidate; see `hushgate trials candidates`."),
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
            near = get_close_matches(name, SETTINGS, n=1)
            such = f" such as {near[0]}" if near else ""
            raise fail(f"{option}: expected NAME=VALUE with the name of a setting{such}, got {text!r}")
        try:
            found[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[name] = value
    return found


def id_of(option: str, text: str) -> UUID:
    """The id that an option or argument names."""
    if (found := parsed_id(text)) is None:
        raise fail(f"{option}: expected an id, got {text!r}")
    return found


async def require_used(source: Pool, account: str, *, option: str = "account") -> None:
    """End the command when nothing is stored under the account's name, which is then misspelt."""
    if not await is_used(source, account):
        expected = "expected an account with settings, decisions or documents"
        raise fail(f"{option}: {expected}, got {account!r}", code=ExitCode.NEGATIVE)


async def candidate_of(source: Pool, text: str) -> SettingsCandidate:
    """The candidate of ``--candidate``."""
    found = await get_candidate(source, id_of("--candidate", text))
    if found is None:
        raise fail(f"--candidate: no candidate {text}", code=ExitCode.NEGATIVE)
    return found


Value = TypeVar("Value")
GoldenAccount = Annotated[str, typer.Argument(help="The account (user_id).")]
SetName = Annotated[str, typer.Argument(metavar="SET", help="Name of the set.")]


def check_used(account: str | None, *, option: str = "account") -> None:
    """``require_used`` before a command reads lists; None is every account."""
    if account is not None:
        run(lambda source: require_used(source, account, option=option))


async def found_set(source: Pool, account: str, name: str) -> GoldenSet:
    """The golden set of a name; the command ends for an unknown name."""
    if (golden := await golden_sets.find_set(source, account, name)) is None:
        raise fail(f"set: {account} has no golden set {name!r}", code=ExitCode.NEGATIVE)
    return golden


async def log_reading(source: Pool, golden: GoldenSet, items: int) -> None:
    """Write to the access log who read sealed texts."""
    detail = {"golden_set": golden.name, "items": items}
    await log_shell(source, LoggedAction.REVEAL, golden.user_id, detail)


def run(work: Callable[[Pool], Awaitable[Value]], *, refused: ExitCode = ExitCode.REJECTED) -> Value:
    """What ``work`` returns for connections of this shell; a refusal ends the command with its message."""
    try:
        return with_pool(work)
    except (TrialRefused, AccountRejected, GoldenRejected) as error:
        raise fail(str(error), code=refused) from None


def run_step(work: Callable[[Pool], Awaitable[Value]]) -> Value:
    """Run a step of a trial: a refusal is an answer, not a wrong input."""
    return run(work, refused=ExitCode.NEGATIVE)


def actor(reason: str = "") -> Actor:
    """The user of this shell, now."""
    return Actor(made_by=who(), reason=reason, now=datetime.now(UTC))


async def tried_settings(
    source: Pool, user_id: str, candidate: str | None, changes: Mapping[str, Any]
) -> tuple[TriedSettings, Account]:
    """What ``--candidate`` or changes of ``--set`` try, without either nothing, and the account with it.

    Raises:
        AccountRejected: the settings cannot be used, or change nothing.
    """
    if candidate is None:
        base = await current_account(source, user_id)
        tried = TriedSettings(user_id=user_id, base_version=base.version, changes=changes)
        return tried, checked_account(base, changes) if changes else base
    found = await candidate_of(source, candidate)
    if found.user_id != user_id:
        raise fail(f"--candidate: expected one of {user_id}, got one of {found.user_id}")
    return found.tried, await candidate_account(source, found)


async def log_shell(source: Pool, action: LoggedAction, user_id: str, detail: dict[str, Any]) -> None:
    """Write to the access log what the user of this shell did or read."""
    entry = LogEntry(action=action, person=who(), user_id=user_id, detail=detail)
    async with checkout(source) as connection:
        await append_entry(connection, entry)
