"""``hushgate trials backtest``: what changed settings would have done to the decisions of the last days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from cli.exit_codes import ExitCode
from cli.options import database_url
from cli.output import emit_json, fail, print_message, progress_bar, screen, stdout_is_terminal, table
from db.access_log import LoggedAction
from db.pool import Pool
from trials.commands.chosen_decisions import SavedViewName, filters_of_view, ids_of_filters
from trials.commands.shared import (
    CandidateId,
    Changes,
    actor,
    changes_of,
    log_shell,
    require_used,
    run,
    tried_settings,
)
from trials.jobs.backtest_job import run_backtest
from trials.pure.replay.groups import GroupCount, group_counts
from trials.pure.trial import Trial
from trials.store.backtests import backtest_of_ids, begin_backtest, examples_with

DAYS: Final = 7.0
COLUMNS: Final = ("group", "decisions", "share", "reviewed", "overturned", "called_wrong")
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
    of the reviewed decisions people had overturned: of newly_stopped and newly_released the more the better;
    `called_wrong` is how many replies customers call wrong.
    A run that was killed continues when the same command runs again; one of a view begins again. Examples:

        hushgate trials backtest --account acme --days 30 --set 'flagged_keywords=["casino"]'

        hushgate trials backtest --account acme --candidate 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
    if bool(candidate) == bool(changes):
        raise fail("--set: expected it or --candidate, got both or neither")
    if view is not None and days is not None:
        raise fail("--days: expected none with --view, whose filters name the time")
    ids = None if view is None else sorted(ids_of_filters(filters_of_view(view, account=account)))
    asked, span = changes_of(changes or []), timedelta(days=days or DAYS)

    async def work(source: Pool) -> tuple[Trial, Sequence[Mapping[str, Any]]]:
        """The backtest, and its examples with texts where they are wanted."""
        await require_used(source, account, option="--account")
        tried, settings = await tried_settings(source, account, candidate, asked)
        by = actor()
        if ids is None:
            begun = await begin_backtest(source, tried, by.now - span, by)
        else:
            begun = backtest_of_ids(tried, len(ids), by.now)
        stored_as = {"backtest": str(begun.trial_id)} if ids is None else {}
        detail = {**stored_as, "decisions": begun.plan["total"]}
        await log_shell(source, LoggedAction.REVEAL, account, detail)
        with progress_bar() as bar:
            task = bar.add_task("deciding again", total=begun.plan["total"], completed=begun.done)
            found = await run_backtest(
                source,
                database_url(),
                begun,
                now=lambda: datetime.now(UTC),
                processes=processes,
                full=full,
                ids=ids,
                progress=lambda each: bar.update(task, completed=each.done),
            )
        if not texts:
            return found, found.examples
        return found, [
            asdict(each) for each in await examples_with(source, account, found.examples, settings)
        ]

    try:
        found, examples = run(work)
    except KeyboardInterrupt:
        again = "begins again" if ids is not None else "continues"
        print_message(f"interrupted; the same command {again}", style="dim")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    _print(found, examples, EXAMPLE_COLUMNS if not texts else TEXT_COLUMNS)


def _print(found: Trial, examples: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """A backtest of chosen decisions is not stored and has no range."""
    counts = found.counts
    rows = [_row(each) for each in group_counts(counts, found.done)]
    more = {"waits": counts.get("waits", 0), "usd": counts.get("usd", 0.0)}
    if not stdout_is_terminal():
        stored = {"backtest_id": found.trial_id, "since": found.since, "until": found.until}
        emit_json({**(stored if found.since else {}), "decisions": found.done, "groups": rows, **more,
                   "examples": list(examples)})  # fmt: skip
        return
    screen.print(table(rows, COLUMNS))
    if examples:
        screen.print(table(examples, columns, title="Examples"))
    print_message(
        f"{found.done} decisions; {more['waits']:+d} messages for people to answer; asking again would cost"
        f" about {more['usd']:.4f} USD by known prices",
        style="dim",
    )


def _row(found: GroupCount) -> dict[str, Any]:
    return {
        "group": found.name,
        "decisions": found.decisions,
        "share": found.share,
        "reviewed": found.reviewed or 0,
        "overturned": found.overturned,
        "called_wrong": found.called_wrong,
    }
