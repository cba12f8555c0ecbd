"""``hushgate repair``: breaches of conservation, found and put right by name."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.options import database_url, own_connections, settings_of, stream_settings, time_of, who
from cli.output import emit, fail, print_message
from db.repair.model import Breach, FoundBreach
from tasks.repair.context import RepairContext
from tasks.repair.kinds import BESIDE_SUMS, BY_NAME, KINDS, SUMS, Kind, find_all
from tasks.repair.kinds import repair as put_right
from tasks.repair.marks import Emptied
from tasks.repair.sends import lost_replies
from tasks.shards.clients import close, connect
from worker.settings.retention import RetentionSettings

COLUMNS: Final = ("breach", "subject", "account", "found", "repair", "state")
LAST_MOMENTS: Final = timedelta(seconds=10)
LEFT_OUT: Final = ". Without --since, what was sent before is left out"
SECOND_LOOK_S: Final = 1.0
"""A breach that lasts so long is no change in progress."""


def repair(
    fix: Annotated[
        Breach | None, typer.Option("--fix", help="Repair this kind; needs --yes.", show_default=False)
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Repair; without it, only print what would be repaired.")
    ] = False,
    subject: Annotated[
        list[str] | None, typer.Option("--subject", help="Only these, as the report names them; repeatable.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Look at rows since this time or age; by default 6d.", show_default=False),
    ] = None,
    older_than: Annotated[
        float, typer.Option(min=0, max=1e9, help="Leave out rows and entries younger than so many seconds.")
    ] = 60.0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most breaches of each kind.")] = 1000,
) -> None:
    """Report entries, decisions, replies, escalations and retractions: missing, stored twice or stuck.

    Without --fix nothing is changed. Each breach is looked at twice; workers may run. A repair checks again,
    adds a line to the access log and logs `breach_repaired`. --fix needs the owner of the database. Exit 1
    when a breach is found, or left. Examples:

        hushgate repair

        hushgate repair --fix reply-not-on-stream --yes
    """
    start = time_of("--since", since or "6d")
    if start is None:
        raise fail("--since: expected a time or an age")
    age = timedelta(seconds=older_than)
    rows, emptied = asyncio.run(
        _run(fix, start, age, limit, yes=yes, subjects=subject, is_chosen=since is not None)
    )
    if emptied is not None:
        print_message(emptied_words(emptied) + ("" if since else LEFT_OUT))
    emit(rows, COLUMNS)
    if not rows:
        print_message("no breach found", style="dim")
    elif fix is not None and all(row["breach"] != fix for row in rows):
        text = f"--fix {fix}: not checked, as other breaches change this sum; repair the other breaches first"
        raise fail(text, code=ExitCode.NEGATIVE)
    elif fix is not None and not yes:
        raise fail(f"--fix {fix}: {len(rows)} would be repaired; add --yes", code=ExitCode.NEGATIVE)
    counts = Counter(row["breach"] for row in rows if row["breach"] not in SUMS)
    if cut := [name for name, count in counts.items() if count >= limit]:
        print_message(f"{', '.join(cut)}: only the first {limit}; repeat the command, or raise --limit")
    if cut or any(row["state"] != "repaired" for row in rows):
        raise typer.Exit(ExitCode.NEGATIVE)


async def _run(
    fix: Breach | None,
    since: datetime,
    older_than: timedelta,
    limit: int,
    *,
    yes: bool,
    subjects: Sequence[str] | None,
    is_chosen: bool,
) -> tuple[list[dict[str, Any]], Emptied | None]:
    settings = stream_settings()
    redis = connect(settings.redis_url.get_secret_value())
    kinds = KINDS if fix is None or fix in SUMS else (BY_NAME[fix],)
    try:
        async with own_connections(database_url()) as source:
            context = RepairContext(
                pool=source, redis=redis, settings=settings, now=datetime.now(UTC), since=_kept(since),
                older_than=older_than, limit=limit, person=who(), is_chosen=is_chosen,
            )  # fmt: skip
            _, emptied = await lost_replies(context)
            found = await _twice(context, kinds)
            chosen = _chosen(found, fix, subjects)
            mine = [each for each in chosen if each.breach is fix]
            done = await put_right(context, BY_NAME[fix], mine) if fix and yes else frozenset()
    finally:
        await close(redis)
    return [_row(each, BY_NAME[each.breach], repaired=each.subject in done) for each in chosen], emptied


def emptied_words(emptied: Emptied) -> str:
    """The entries that were lost, and how to send those that readers may not have read."""
    since = (emptied.newest - LAST_MOMENTS).isoformat(timespec="seconds").replace("+00:00", "Z")
    return (
        f"Redis came back empty at {emptied.at:%Y-%m-%dT%H:%M:%SZ}: {emptied.unmarked} replies sent before"
        " have no mark. Publish the events of that time again from their source: those already decided are"
        " recognised. To send the replies of the last moments again: hushgate repair"
        f" --since {since} --fix reply-not-on-stream"
    )


def _chosen(
    found: Sequence[FoundBreach], fix: Breach | None, subjects: Sequence[str] | None
) -> list[FoundBreach]:
    """The named breaches; for a sum, the other breaches, which prevent the check of the sum."""
    others = [each for each in found if each.breach not in SUMS | BESIDE_SUMS]
    if fix in SUMS and others:
        return others
    named = [each for each in found if fix is None or each.breach is fix]
    return [each for each in named if not subjects or each.subject in subjects]


def _kept(since: datetime) -> datetime:
    """The start, moved past the period in which retention may have deleted rows of some tables only."""
    days = settings_of(RetentionSettings).keep.keys_days
    return max(since, datetime.now(UTC) - timedelta(days=days - 1)) if days else since


async def _twice(context: RepairContext, kinds: Sequence[Kind]) -> list[FoundBreach]:
    """The breaches that two looks found."""
    first = await find_all(context, kinds)
    if not first:
        return []
    await asyncio.sleep(SECOND_LOOK_S)
    wrong = {each.breach for each in first}
    again = {
        (each.breach, each.subject)
        for each in await find_all(context, [k for k in kinds if k.breach in wrong])
    }
    return [each for each in first if (each.breach, each.subject) in again]


def _row(each: FoundBreach, kind: Kind, *, repaired: bool) -> dict[str, Any]:
    return {
        "breach": each.breach.value,
        "subject": each.subject,
        "account": each.account,
        "found": each.found,
        "repair": kind.repair,
        "state": "repaired" if repaired else "found",
    }
