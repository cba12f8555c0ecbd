"""``hushgate holds``: what no sweep and no erasure may delete."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.options import time_of, who, with_pool
from cli.output import emit, fail
from compliance.erasure import legal_holds
from compliance.erasure.legal_holds import (
    REASON_CHARS,
    HoldKind,
    HoldRefused,
    LegalHold,
    NewHold,
    placed_detail,
)
from db.access_log import LogEntry, LoggedAction
from db.pool import Pool

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
    by, end, now = who(), time_of("--until", until), datetime.now(UTC)
    if end is not None and end <= now:
        raise fail(f"--until: expected a time that is not over, such as 2027-06-30, got {until!r}")
    new = NewHold(user_id=account, kind=kind, subject=subject, reason=reason.strip(), placed_by=by, until=end)
    logged = LogEntry(action=LoggedAction.HOLD, person=by, user_id=account, detail=placed_detail(new))
    try:
        placed = with_pool(lambda source: legal_holds.place_hold(source, new, now, logged=logged))
    except HoldRefused as problem:
        raise fail(str(problem)) from None
    emit([asdict(placed.hold) | {"decisions": placed.decisions}], [*COLUMNS, "decisions"])


@app.command("list")
def list_(
    account: Annotated[str | None, typer.Option("--account", "-a", help="Only of this account.")] = None,
    ended: Annotated[bool, typer.Option("--ended", help="Also those that have ended.")] = False,
) -> None:
    """Print the holds in force, newest first."""
    accounts = None if account is None else (account,)
    found = with_pool(lambda source: legal_holds.list_holds(source, accounts, with_ended=ended))
    emit([asdict(each) for each in found], COLUMNS)


@app.command()
def release(hold: Annotated[UUID, typer.Argument(help="The id of the hold.")]) -> None:
    """Release a hold: the next sweep deletes what is old enough."""

    async def run(source: Pool) -> LegalHold | None:
        found = await legal_holds.get_hold(source, hold)
        if found is None:
            return None
        logged = LogEntry(
            action=LoggedAction.HOLD, person=who(), user_id=found.user_id, detail={"released": str(hold)}
        )
        return await legal_holds.release_hold(source, hold, who(), datetime.now(UTC), logged=logged)

    if (released := with_pool(run)) is None:
        raise fail(f"hold: expected one that is not released, got {hold}", code=ExitCode.NEGATIVE)
    emit([asdict(released)], COLUMNS)
