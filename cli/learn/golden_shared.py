"""What the commands of golden sets share: a set by its name, the reader in the access log, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import typer

from cli.accounts.store_account import login
from cli.exit_codes import ExitCode
from cli.options import database_url, own_connections
from cli.output import fail
from db.access_log import LogEntry, LoggedAction, append_entry
from db.candidates import golden_sets
from db.candidates.golden_records import GoldenSet, GoldenStep
from db.pool import Pool, checkout
from worker.evaluation.items import GoldenRejected

Value = TypeVar("Value")
GoldenAccount = Annotated[str, typer.Argument(help="The account (user_id).")]
SetName = Annotated[str, typer.Argument(metavar="SET", help="Name of the set.")]


async def found_set(source: Pool, account: str, name: str) -> GoldenSet:
    """The set of a name; the command ends when there is none."""
    if (golden := await golden_sets.find_set(source, account, name)) is None:
        raise fail(f"set: {account} has no golden set {name!r}", code=ExitCode.NEGATIVE)
    return golden


async def log_reading(source: Pool, golden: GoldenSet, items: int) -> None:
    """Write to the access log who read sealed texts."""
    detail = {"golden_set": golden.name, "items": items}
    entry = LogEntry(action=LoggedAction.REVEAL, person=login(), user_id=golden.user_id, detail=detail)
    async with checkout(source) as connection:
        await append_entry(connection, entry)


def step_now() -> GoldenStep:
    """A change by the user of this shell."""
    return GoldenStep(made_by=login(), now=datetime.now(UTC))


def run_golden(work: Callable[[Pool], Awaitable[Value]]) -> Value:
    """What ``work`` returns for connections of this shell; a refusal ends the command with its message."""

    async def run() -> Value:
        async with own_connections(database_url()) as source:
            return await work(source)

    try:
        return asyncio.run(run())
    except GoldenRejected as error:
        raise fail(str(error), code=ExitCode.REJECTED) from None
