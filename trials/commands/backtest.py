"""``hushgate trials backtest``: what changed settings would have done to the decisions of the last days."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.accounts.store_account import login
from cli.exit_codes import ExitCode
from cli.options import database_url, own_connections
from cli.output import emit_json, fail, print_message, progress_bar, screen, stdout_is_terminal, table
from db.access_log import LoggedAction
from db.account_settings.accounts import current_account
from trials.commands.chosen import SavedViewName, filters_of_view, ids_of_filters
from trials.commands.shared import (
    CandidateId,
    Changes,
    changes_of,
    log_shell,
    own_candidate,
    require_used,
)
from trials.jobs.backtest_job import backtest_of_ids, run_backtest
from trials.pure.replay.groups import GroupCount, group_counts
from trials.store.backtest_examples import load_examples
from trials.store.backtests import Backtest, begin_backtest
from trials.store.candidates import candidate_account, checked_account

DAYS: Final = 7.0
COLUMNS: Final = ("group", "decisions", "share", "reviewed", "overturned")
EXAMPLE_COLUMNS: Final = ("group", "decision_id", "before", "after")
TEXT_COLUMNS: Final = ("group", "message", "reply", "reply_now", "after", "why")


def backtest(
    account: Annotated[str, typer.Option("--account", "-a", help="The account (user_id).")],
    days: Annotated[
        float | None, typer.Option(min=0.001, max=366, help="Days until now; 7 without --view.")
    ] = None,
    view: SavedViewName = None,
    candidate: CandidateId = None,
    changes: Changes = None,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Processes that decide.")] = 2,
    full: Annotated[
        bool, typer.Option("--full", help="Decide every event again, also where nothing can change.")
    ] = False,
    texts: Annotated[
        bool, typer.Option("--texts", help="Show each example's message, its reply then and now, and why.")
    ] = False,
) -> None:
    """Decide the events of the last days again with changed settings, and count what would be different.

    Nothing is sent or asked: decisions that need new answers of a model are counted. `overturned` is how many
    of the reviewed decisions people had overturned: of newly_stopped and newly_released the more the better.
    A run that was killed continues when the same command runs again; one of a view begins again. Examples:

        hushgate trials backtest --account acme --days 30 --set 'flagged_keywords=["casino"]'

        hushgate trials backtest --account acme --candidate 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
    if bool(candidate) == bool(changes):
        raise fail("--set: expected it or --candidate, got both or neither")
    if view is not None and days is not None:
        raise fail("--days: expected none with --view, whose filters name the time")
    ids = None
    if view is not None:
        ids = sorted(ids_of_filters(filters_of_view(view, account=account)))
    asked = changes_of(changes or [])
    try:
        found, examples = asyncio.run(
            _run(account, days or DAYS, candidate, asked, processes, full=full, ids=ids, texts=texts)
        )
    except KeyboardInterrupt:
        again = "begins again" if ids is not None else "continues"
        print_message(f"interrupted; the same command {again}", style="dim")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _print(found, examples, EXAMPLE_COLUMNS if not texts else TEXT_COLUMNS, chosen=ids is not None)


async def _run(
    user_id: str,
    days: float,
    candidate: str | None,
    asked: Mapping[str, Any],
    processes: int,
    *,
    full: bool,
    ids: Sequence[UUID] | None,
    texts: bool,
) -> tuple[Backtest, Sequence[Mapping[str, Any]]]:
    """The backtest, and its examples with texts where they are wanted."""
    url, now = database_url(), datetime.now(UTC)
    async with own_connections(url) as source:
        await require_used(source, user_id, option="--account")
        version = (await current_account(source, user_id)).version
        if candidate:
            stored = await own_candidate(source, user_id, candidate)
            await candidate_account(source, stored)
            asked, version = stored.changes, stored.base_version
        else:
            checked_account(await current_account(source, user_id), asked)
        values: dict[str, Any] = {
            "base_version": version,
            "changes": asked,
            "created_by": login(),
        }
        if ids is None:
            begun = await begin_backtest(
                source, user_id, since=now - timedelta(days=days), until=now, **values
            )
        else:
            begun = backtest_of_ids(user_id, ids, now=now, **values)
        stored_as = {"backtest": str(begun.backtest_id)} if ids is None else {}
        detail = {**stored_as, "decisions": begun.total}
        await log_shell(source, LoggedAction.REVEAL, user_id, detail)
        with progress_bar() as bar:
            task = bar.add_task("deciding again", total=begun.total, completed=begun.done)
            found = await run_backtest(
                source,
                url,
                begun,
                now=lambda: datetime.now(UTC),
                processes=processes,
                full=full,
                ids=ids,
                progress=lambda each: bar.update(task, completed=each.done),
            )
        if not texts:
            return found, found.examples
        return found, [asdict(each) for each in await load_examples(source, found)]


def _print(
    found: Backtest, examples: Sequence[Mapping[str, Any]], columns: Sequence[str], *, chosen: bool
) -> None:
    """A backtest of ``chosen`` decisions is not stored and has no range."""
    counts = found.counts
    rows = [_row(each) for each in group_counts(counts, found.done)]
    more = {"waits": counts.get("waits", 0), "usd": counts.get("usd", 0.0)}
    if not stdout_is_terminal():
        stored = {"backtest_id": found.backtest_id, "since": found.since, "until": found.until}
        emit_json({**({} if chosen else stored), "decisions": found.done, "groups": rows, **more,
                   "examples": list(examples)})  # fmt: skip
        return
    screen.print(table(rows, COLUMNS))
    if examples:
        screen.print(table(examples, columns, title="Examples"))
    print_message(
        f"{found.done} decisions; {more['waits']:+d} for people; asking again would cost about"
        f" {more['usd']:.4f} USD",
        style="dim",
    )


def _row(found: GroupCount) -> dict[str, Any]:
    return {
        "group": found.name,
        "decisions": found.decisions,
        "share": found.share,
        "reviewed": found.reviewed or 0,
        "overturned": found.overturned,
    }
