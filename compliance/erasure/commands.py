"""``hushgate erasure``: erase an author, a conversation or an account, with a signed receipt."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.options import settings_of, who, with_pool
from cli.output import emit, emit_json, fail, print_message, stdout_is_terminal
from compliance.erasure import records
from compliance.erasure.job import ErasureParts, run_erasure, signing_key
from compliance.erasure.receipt_commands import key, verify
from compliance.erasure.records import Erasure, ErasureHeld, ErasureKind, NewErasure
from db.access_log import LogEntry, LoggedAction
from db.pool import Pool
from tasks.shards.clients import connect
from worker.settings import ErasureSettings, OutgoingStreamSettings

app = typer.Typer(
    no_args_is_help=True,
    help="Erase an author, a conversation or an account: `request` counts what would be erased, `confirm`"
    " erases it, here or by a worker, `cancel` does not; `list`, `show`; `receipt` prints the signed receipt,"
    " `verify` checks one, `key` makes a key.",
)
COLUMNS: Final = ["id", "user_id", "kind", "phase", "requested_by", "requested_at", "finished_at"]
LOOK_S: Final = 1.0
ErasureArgument = Annotated[UUID, typer.Argument(help="The id of the erasure.")]


@app.command()
def request(
    account: Annotated[str, typer.Argument(help="The account.")],
    kind: Annotated[ErasureKind, typer.Argument(help="What is erased.")],
    subject: Annotated[
        str, typer.Argument(help="The id of the author or conversation; of an account its name.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; do not name the person.")],
) -> None:
    """Store a request and print what would be erased: rows by table, entries by stream.

    Nothing is erased yet.
    Needs REDIS_URL and DATABASE_URL, with the login of the database's owner. For example:

        hushgate erasure request corner-shop author a-17 --reason "letter of 3 May"
    """
    if kind is ErasureKind.ACCOUNT and subject != account:
        raise fail("subject: expected the account's name again, to be sure")
    new = NewErasure(user_id=account, kind=kind, subject=subject, reason=reason, requested_by=who())
    try:
        found = with_pool(lambda source: _request(source, new))
    except ErasureHeld:
        text = f"{kind.value}: under a legal hold (hushgate holds list --account {account})"
        raise fail(text, code=ExitCode.NEGATIVE) from None
    _show(found)


@app.command()
def confirm(
    erasure: ErasureArgument,
    queue: Annotated[
        bool, typer.Option("--queue", help="Let a worker do it, instead of this command.")
    ] = False,
) -> None:
    """Erase what was requested, for ever. An interrupted erasure is continued by a worker or a further run.

    Events that were published before and are not decided yet are waited for. For example:

        hushgate erasure confirm ERASURE_ID
    """
    found = with_pool(lambda source: _confirm(source, erasure, here=not queue))
    if found is None:
        raise fail(f"erasure: expected one that was counted and has not ended, got {erasure}",
                   code=ExitCode.NEGATIVE)  # fmt: skip
    _show(found)


@app.command()
def cancel(erasure: ErasureArgument) -> None:
    """Cancel a request that is not confirmed."""

    async def run(source: Pool) -> Erasure | None:
        found = await records.get_erasure(source, erasure)
        logged = _entry("cancelled", found.user_id if found else "", erasure)
        return await records.cancel_erasure(source, erasure, logged=logged)

    if (found := with_pool(run)) is None:
        raise fail(f"erasure: expected one that is not confirmed, got {erasure}", code=ExitCode.NEGATIVE)
    _show(found)


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
) -> None:
    """Print requests, newest first, with their phases."""
    accounts = None if account is None else (account,)
    found = with_pool(lambda source: records.list_erasures(source, accounts, limit=1000))
    emit([_row(each) for each in found], COLUMNS)


@app.command()
def show(erasure: ErasureArgument) -> None:
    """Print a request with its counts and its progress."""
    _show(_stored(erasure))


@app.command()
def receipt(erasure: ErasureArgument) -> None:
    """Print the receipt of an erasure that has ended, with its signature, as one JSON object."""
    found = _stored(erasure)
    if found.receipt is None:
        text = f"erasure: expected one that has ended, got one in phase {found.phase}"
        raise fail(text, code=ExitCode.NEGATIVE)
    emit_json({"receipt": found.receipt, "signature": found.signature})


app.command()(verify)
app.command()(key)


def _stored(erasure_id: UUID) -> Erasure:
    found = with_pool(lambda source: records.get_erasure(source, erasure_id))
    if found is None:
        raise fail(f"erasure: expected the id of a request, got {erasure_id}", code=ExitCode.NEGATIVE)
    return found


def _show(found: Erasure) -> None:
    counts = found.erased or found.preview or {}
    if not stdout_is_terminal():
        emit_json(_row(found) | {"preview": found.preview, "erased": found.erased})
        return
    emit([_row(found)], COLUMNS)
    emit([{"table_or_stream": name, "rows": rows} for name, rows in sorted(counts.items()) if rows],
         ["table_or_stream", "rows"])  # fmt: skip


def _row(found: Erasure) -> dict[str, Any]:
    return {name: getattr(found, name) for name in (*COLUMNS, "confirmed_by", "started_at")}


def _entry(change: str, user_id: str, erasure_id: UUID | None = None) -> LogEntry:
    detail = {"change": change} | ({"erasure": str(erasure_id)} if erasure_id else {})
    return LogEntry(action=LoggedAction.ERASURE, person=who(), user_id=user_id, detail=detail)


async def _request(source: Pool, new: NewErasure) -> Erasure:
    logged = _entry(f"requested: {new.kind.value}", new.user_id)
    stored = await records.add_erasure(source, new, datetime.now(UTC), logged=logged)
    return await _advanced(source, stored.id)


async def _confirm(source: Pool, erasure_id: UUID, *, here: bool) -> Erasure | None:
    found = await records.get_erasure(source, erasure_id)
    if found is None or found.finished_at is not None:
        return None
    if found.confirmed_at is None:
        logged = _entry("confirmed", found.user_id, erasure_id)
        if await records.confirm_erasure(source, erasure_id, who(), logged=logged) is None:
            return None
    return await _advanced(source, erasure_id, to_the_end=True) if here else found


async def _advanced(source: Pool, erasure_id: UUID, *, to_the_end: bool = False) -> Erasure:
    """Advance a request in this process; to the end, or until a person has to confirm it."""
    streams, key = settings_of(OutgoingStreamSettings), signing_key(settings_of(ErasureSettings))
    async with connect(streams.redis_url.get_secret_value()) as redis:
        parts = ErasureParts(pool=source, redis=redis, streams=streams, key=key, progress=_progress)
        while True:
            await run_erasure(parts, erasure_id)
            found = await records.get_erasure(source, erasure_id)
            assert found is not None  # requests are never deleted
            if found.finished_at is not None or not to_the_end:
                return found
            await asyncio.sleep(LOOK_S)


def _progress(erasure: Erasure) -> None:
    print_message(f"{erasure.phase.replace('_', ' ')} ...", style="dim")
