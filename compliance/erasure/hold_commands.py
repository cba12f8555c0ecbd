"""``hushgate holds``: what no sweep and no erasure may delete."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.accounts.store_account import login
from cli.exit_codes import ExitCode
from cli.options import database_url, own_connections, time_of
from cli.output import emit, fail
from compliance.erasure import legal_holds
from compliance.erasure.legal_holds import REASON_CHARS, HoldKind, HoldRefused, LegalHold, NewHold, PlacedHold
from db.access_log import LogEntry, LoggedAction

app = typer.Typer(
    no_args_is_help=True,
    help="Legal holds on decisions, conversations and authors: `place`, `list`, `release`. No sweep and no"
    " erasure deletes what is held.",
)
COLUMNS: Final = [
    "id", "user_id", "kind", "subject", "reason", "until", "placed_by", "placed_at", "released_by",
]  # fmt: skip


@app.command()
def place(
    account: Annotated[str, typer.Argument(help="The account.")],
    kind: Annotated[HoldKind, typer.Argument(help="What the hold is on.")],
    subject: Annotated[str, typer.Argument(help="The id of the decision, conversation or author.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; stored, and shown to administrators.")],
    until: Annotated[
        str | None, typer.Option("--until", help="When it ends, such as 2027-06-30; else when released.")
    ] = None,
) -> None:
    """Keep the rows of a decision, a conversation or an author, also those that are stored later.

    Prints how many decisions it covers now, 10000 at most.
    For example:

        hushgate holds place corner-shop author a-17 --reason "case 2026/41" --until 2027-06-30
    """
    if not 0 < len(reason.strip()) <= REASON_CHARS:
        raise fail(f"reason: expected 1 to {REASON_CHARS} characters")
    by, end = login(), time_of("--until", until)
    new = NewHold(user_id=account, kind=kind, subject=subject, reason=reason.strip(), placed_by=by, until=end)
    try:
        placed = asyncio.run(_place(new))
    except HoldRefused as problem:
        raise fail(str(problem)) from None
    emit([_row(placed.hold) | {"decisions": placed.decisions}], [*COLUMNS, "decisions"])


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also those that have ended.")] = False,
) -> None:
    """Print the holds in force, newest first."""
    emit([_row(each) for each in asyncio.run(_list(account, ended))], COLUMNS)


@app.command()
def release(hold: Annotated[UUID, typer.Argument(help="The id of the hold.")]) -> None:
    """Release a hold: the next sweep deletes what is old enough."""
    released = asyncio.run(_release(hold))
    if released is None:
        raise fail(f"hold: expected one that is not released, got {hold}", code=ExitCode.NEGATIVE)
    emit([_row(released)], COLUMNS)


def _row(hold: LegalHold) -> dict[str, Any]:
    return asdict(hold)


async def _place(new: NewHold) -> PlacedHold:
    detail = {"placed": new.kind.value, "until": None if new.until is None else new.until.isoformat()}
    logged = LogEntry(action=LoggedAction.HOLD, person=new.placed_by, user_id=new.user_id, detail=detail)
    async with own_connections(database_url()) as source:
        return await legal_holds.place_hold(source, new, datetime.now(UTC), logged=logged)


async def _release(hold_id: UUID) -> LegalHold | None:
    async with own_connections(database_url()) as source:
        found = await legal_holds.get_hold(source, hold_id)
        if found is None:
            return None
        detail = {"released": str(hold_id)}
        logged = LogEntry(action=LoggedAction.HOLD, person=login(), user_id=found.user_id, detail=detail)
        return await legal_holds.release_hold(source, hold_id, login(), datetime.now(UTC), logged=logged)


async def _list(account: str | None, ended: bool) -> tuple[LegalHold, ...]:  # an option
    async with own_connections(database_url()) as source:
        return await legal_holds.list_holds(source, None if account is None else (account,), with_ended=ended)
