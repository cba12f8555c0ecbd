"""``hushgate trials replay``: decisions made again from what was recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from cli.exit_codes import ExitCode
from cli.optional import WithFilters
from cli.options import database_url, own_connections, settings_of, who
from cli.output import emit_json, fail, print_message, progress_bar, screen, stdout_is_terminal, table
from db.access_log import LogEntry, LoggedAction
from db.model_servers.stored import with_stored_servers
from db.pool import Pool
from trials.commands.chosen_decisions import SavedViewName, chosen_ids
from trials.commands.shared import (
    CandidateId,
    Changes,
    candidate_of,
    changes_of,
    log_shell,
    tried_settings,
)
from trials.jobs.model_calls import Budget, cost_of, live_ports
from trials.pure.replay.groups import ReplayState
from trials.store.recordings import StoredDecision, load_decisions
from trials.store.replayed_answers import ReplayDelivery, SendResult, is_released
from trials.store.replaying import ReplayedDecision, Replayer
from worker.settings import Settings
from worker.settings.prices import price_table

CHUNK: Final = 200
COLUMNS: Final = ("id", "result", "before", "after", "why")


def run(
    context: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of decisions; none: those of the filters.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="A file of ids, one a line, or NDJSON.")] = None,
    view: SavedViewName = None,
    candidate: CandidateId = None,
    changes: Changes = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the models what the recordings have no answer to; it costs.")
    ] = False,
    budget_usd: Annotated[
        float | None, typer.Option(min=0.000001, help="With --live: end when this is spent, US dollars.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most decisions of filters or view.")] = 1000,
    deliver: Annotated[
        bool, typer.Option("--deliver", help="Send replies that would go out and did not; with --yes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --deliver: send them.")] = False,
) -> None:
    """Decide again what was decided, from the recorded answers; without --deliver nothing is sent or stored.

    With the settings of its time a decision ends the same, bit for bit; a difference is a defect. With a
    candidate or --set the differences are what the change would have done. A request that was not made then
    is not guessed: the decision is counted as needs_answers, or asked with --live. Examples:

        hushgate trials replay 01a20047-0dfa-71d7-8e88-c1d4329d1fb5

        hushgate trials replay --account acme --since 7d --set 'flagged_keywords=["casino"]'

        hushgate trials replay --view "sent last week" --candidate 01a20047-0dfa-71d7-8e88-c1d4329d1fb5

    --deliver --yes sends each newly released reply once, as an answer that you approved: not to a message
    that is too old, deleted or answered, nor where people own the conversation or it has newer messages.
    """
    if yes and not deliver:
        raise fail("--yes: expected it with --deliver only")
    if candidate and changes:
        raise fail("--candidate: expected it without --set, got both")
    if budget_usd is not None and not live:
        raise fail("--budget-usd: expected it with --live only")
    wanted = chosen_ids(context, ids or [], file, view, limit)
    asked = changes_of(changes or [])
    counts: Counter[str] = Counter()
    try:
        released = asyncio.run(
            _replay(wanted, candidate, asked, counts, live=live, budget_usd=budget_usd, sends=yes)
        )
    except KeyboardInterrupt:
        unsent = "" if yes else "; nothing was stored or sent"
        print_message(f"cancelled after {counts.total()} of {len(wanted)}{unsent}", style="dim")
        print_message(_summary(counts))
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    print_message(_summary(counts))
    if deliver and not yes:
        raise fail(f"--deliver: expected --yes too, to send {released} replies; nothing was sent")
    if counts["differs"] or counts["not_found"]:
        raise typer.Exit(ExitCode.NEGATIVE)


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()) if number) or "no decision"


async def _replay(
    wanted: Sequence[UUID],
    candidate: str | None,
    asked: dict[str, Any],
    counts: Counter[str],
    *,
    live: bool,
    budget_usd: float | None,
    sends: bool,
) -> int:
    """Make the decisions again and count them in ``counts``; what was made is shown after Ctrl-C too.

    How many of them have a reply that did not go out.
    """
    released = 0
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(own_connections(database_url()))
        replayer = Replayer(source=source)
        changes = (await candidate_of(source, candidate)).changes if candidate else asked
        delivery = ReplayDelivery(source=source, changes=changes)
        if live:
            settings = await with_stored_servers(settings_of(Settings), source)
            if budget_usd is not None:
                _require_price(settings)
            await _print_estimate(source, replayer, wanted, candidate, asked)
            replayer.live = await stack.enter_async_context(live_ports(settings, source))
        budget = Budget(most=budget_usd)
        rows = stack.enter_context(_shown_rows())
        with progress_bar() as bar:
            task = bar.add_task("replaying", total=len(wanted))
            async for stored in _stored(source, wanted):
                await _settle(replayer, stored, candidate, asked)
                made = await replayer.replay(stored)
                result = _result(made, exact=not candidate and not asked)
                counts[result] += 1
                released += is_released(made)
                row = _row(made, result)
                if sends:
                    row["delivery"] = await _deliver(delivery, made, candidate)
                rows.append(row)
                if not stdout_is_terminal():
                    emit_json(rows.pop())
                bar.advance(task)
                if live and made.asked and made.decision:
                    budget.add(*cost_of(settings, made.decision))
                if budget.is_spent:
                    print_message(f"--budget-usd: {budget.why}; the others were not made again")
                    break
            else:
                counts["not_found"] += len(wanted) - counts.total()
        if live:
            print_message(f"at most {budget.spent:.4f} USD spent at the declared prices", style="dim")
    return released


def _require_price(settings: Settings) -> None:
    model = settings.servers.model.model
    if price_table(settings).price(model, datetime.now(UTC).date()) is None:
        expected = "expected declared prices in HUSHGATE_PRICES"
        raise fail(f"--budget-usd: {expected}, got none of {model}, so nothing was asked")


async def _deliver(delivery: ReplayDelivery, made: ReplayedDecision, candidate: str | None) -> SendResult:
    stored = made.stored
    entry = LogEntry(
        action=LoggedAction.ANSWER,
        person=who(),
        user_id=stored.user_id,
        decision_id=stored.decision_id,
        detail={"replay": candidate or "settings"},
    )
    return await delivery.send(made, datetime.now(UTC), sent_by=who(), logged=entry)


@contextmanager
def _shown_rows() -> Iterator[list[dict[str, Any]]]:
    """Rows that are shown as a table at the end, also of a cancelled run."""
    rows: list[dict[str, Any]] = []
    try:
        yield rows
    finally:
        if rows:
            screen.print(table(rows, (*COLUMNS, "delivery") if "delivery" in rows[0] else COLUMNS))


async def _print_estimate(
    source: Pool,
    replayer: Replayer,
    wanted: Sequence[UUID],
    candidate: str | None,
    asked: dict[str, Any],
) -> None:
    """Say first what asking would cost: as much as the recorded calls of the decisions that need answers."""
    needs, usd = 0, 0.0
    async for stored in _stored(source, wanted):
        await _settle(replayer, stored, candidate, asked)
        if (await replayer.replay(stored)).state is ReplayState.NEEDS_ANSWERS:
            needs, usd = needs + 1, usd + stored.usd
    print_message(f"{needs} decisions need new answers: about {usd:.4f} USD, as they cost then", style="dim")


async def _stored(source: Pool, wanted: Sequence[UUID]) -> AsyncIterator[StoredDecision]:
    """The decisions with their recordings; the access log says who read them."""
    for start in range(0, len(wanted), CHUNK):
        found = await load_decisions(source, wanted[start : start + CHUNK])
        for user_id in sorted({each.user_id for each in found}):
            number = sum(each.user_id == user_id for each in found)
            await log_shell(source, LoggedAction.REVEAL, user_id, {"replayed": number})
        for each in found:
            yield each


async def _settle(
    replayer: Replayer, stored: StoredDecision, candidate: str | None, asked: dict[str, Any]
) -> None:
    """Give the replayer the settings that decide this account's events."""
    if stored.user_id in replayer.candidates or not (candidate or asked):
        return
    _tried, account = await tried_settings(replayer.source, stored.user_id, candidate, asked)
    replayer.candidates = {**replayer.candidates, stored.user_id: account}


def _result(made: ReplayedDecision, *, exact: bool) -> str:
    if made.difference is None or not exact:
        return made.group
    return "differs" if made.difference.unequal else "same"


def _row(made: ReplayedDecision, result: str) -> dict[str, Any]:
    found, why = made.difference, made.why
    if found is not None:
        why = ", ".join(found.unequal) if result == "differs" else found.why
    return {
        "id": made.stored.decision_id,
        "result": result,
        "before": made.stored.outcome.reason_code,
        "after": found.after.reason_code if found else None,
        "why": why,
        "asked": list(made.asked),
        "other_release": made.other_release,
    }


replay: Final = WithFilters(run)
