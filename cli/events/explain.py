"""``hushgate explain``: what happened to one event or check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final

import psycopg
import typer
from redis.exceptions import RedisError
from rich.table import Table
from rich.text import Text

from cli.events.event_report import SENTENCES, EventReport, EventState, combine
from cli.events.report_lines import report_lines
from cli.exit_codes import ExitCode, code_of
from cli.options import read_audit, require_settings, stream_settings, who, with_pool, with_redis
from cli.output import emit_json, printable, progress_bar, screen, stdout_is_terminal
from cli.review.store import site_url
from db.access_log import LogEntry, LoggedAction
from db.audit import event_outcomes
from db.audit.event_records import EventOutcomes
from db.buried.letters import log_reading
from tasks.lanes.lookup import FoundEntry, find_entries
from tasks.limits.upstream_reports import NO_WORKER, WorkerReport, load_reports, problems
from tasks.shards.clients import connect_sync
from worker.settings import DatabaseSettings, StreamSettings

REACH_S: Final = 10.0
UNFINISHED: Final = frozenset({EventState.UNREAD, EventState.WAITING, EventState.RUNNING})
NOTHING: Final = EventOutcomes(outcomes=(), letters=(), unknown={})


def explain(
    event_id: Annotated[
        str,
        typer.Argument(
            help="The id of the event, of its stream entry when the event has none, or of the check."
        ),
    ],
    account: Annotated[
        str | None,
        typer.Option("--account", "-a", help="Only the event of this account; else of every account."),
    ] = None,
) -> None:
    """Explain an event or a check: where it waits, how it was decided, and what became of its reply.

    Prints one report per account that has the id, and one per check: a table on a terminal, one JSON object a
    line in a pipe. Reads the whole event stream and changes nothing. When Redis or Postgres is away, the
    report says which part is unknown. Reading a text that was not sent is a line of the access log.

    Exit 0 when the id was found, 1 when it was not, 3 or 4 when it was not and a server could not be
    read. For example:

        hushgate explain order-1042

        hushgate explain order-1042 --account corner-shop
    """
    require_settings(DatabaseSettings, StreamSettings)
    settings = stream_settings()
    unknown: dict[str, str] = {}
    code = ExitCode.NEGATIVE
    entries: tuple[FoundEntry, ...] = ()
    try:
        entries = _entries(settings, event_id)
    except (RedisError, OSError) as error:
        unknown["stream"], code = _reason("Redis", error), ExitCode.UNAVAILABLE
    known = tuple(entry for entry in entries if account is None or entry.user_id == account)
    stored = NOTHING
    try:
        stored = _stored(event_id, account, known)
    except psycopg.Error as error:
        unknown["audit"], code = _reason("Postgres", error), code_of(error)
    unknown |= stored.unknown
    reports = combine(
        event_id, entries=known, outcomes=stored.outcomes, letters=stored.letters, unknown=unknown
    )
    _log_reading(event_id, stored)
    workers = _worker_reports(settings, reports)
    for report in reports:
        _show(replace(report, problem=_problem(report, workers)))
    if all(report.state in {EventState.NOT_FOUND, EventState.UNKNOWN} for report in reports):
        raise typer.Exit(code)


def _stored(event_id: str, account: str | None, entries: Sequence[FoundEntry]) -> EventOutcomes:
    """What the audit has of the event, also under the ids of its entries."""
    ids = tuple(entry.entry_id for entry in entries)
    now = datetime.now(UTC)
    return read_audit(
        lambda connection: event_outcomes.load_outcomes(
            connection, event_id, user_id=account, entry_ids=ids, now=now
        )
    )


def _log_reading(event_id: str, stored: EventOutcomes) -> None:
    """Append who reads texts that were not sent, which are sealed."""
    for each in stored.outcomes:
        if each.texts is not None and each.texts.held is not None:
            entry = LogEntry(
                action=LoggedAction.REVEAL,
                person=who(),
                user_id=each.user_id,
                decision_id=each.decision_id,
                detail={"event_id": event_id},
            )
            with_pool(partial(log_reading, logged=entry))


def _entries(settings: StreamSettings, event_id: str) -> tuple[FoundEntry, ...]:
    url = settings.redis_url.get_secret_value()
    with (
        connect_sync(url, timeout_s=REACH_S) as redis,
        progress_bar(transient=True) as bar,
    ):
        task = bar.add_task("stream entries read", total=None, visible=False)
        return find_entries(
            redis,
            settings.stream,
            event_id,
            progress=lambda done, total: bar.update(task, completed=done, total=total, visible=done < total),
        )


def _worker_reports(
    settings: StreamSettings, reports: Sequence[EventReport]
) -> tuple[WorkerReport, ...] | None:
    """What workers report, where an event is unfinished; None without Redis, which is named elsewhere."""
    if not any(report.state in UNFINISHED for report in reports):
        return None
    try:
        return with_redis(settings, lambda redis: load_reports(redis, settings.stream))
    except (RedisError, OSError):
        return None


def _problem(report: EventReport, workers: Sequence[WorkerReport] | None) -> str:
    """Why the event may be waiting, by the report of its worker, or of all where no worker has its lane."""
    if report.state not in UNFINISHED or workers is None:
        return ""
    if not workers:
        return NO_WORKER
    owners = {entry.worker for entry in report.entries if entry.worker}
    found = problems(each for each in workers if not owners or each.worker in owners)
    return " | ".join(found)


def _reason(server: str, error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{server}: {lines[0] if lines else type(error).__name__}"


def _show(report: EventReport) -> None:
    if not stdout_is_terminal():
        emit_json(report.as_json())
        return
    screen.print(Text(f"{printable(report.event_id)}: {SENTENCES[report.state]}", style="bold"))
    grid = Table.grid(padding=(0, 2))
    for part, text in report_lines(report):
        grid.add_row(Text(part, style="dim"), Text(printable(text), overflow="fold"))
    decision = report.outcome.decision if report.outcome else None
    if decision is not None and (site := site_url()):
        grid.add_row(Text("page", style="dim"), Text(f"{site}/decisions/{decision.id}", overflow="fold"))
    screen.print(grid)
