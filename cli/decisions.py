"""``hushgate decisions``: the audit in a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final
from uuid import UUID

import typer
from rich.table import Table
from rich.text import Text

from cli.options import connected, moment
from cli.output import cell, emit, emit_json, errors, fail, for_eyes, json_text, screen, table
from db import audit
from db.audit import CursorRejected, Filters

app = typer.Typer(no_args_is_help=True, help="Look at the audit: every event has exactly one row in it.")

COLUMNS: Final = (
    "created_at",
    "id",
    "user_id",
    "scope",
    "decision",
    "confidence",
    "reason_code",
    "matched_rule",
    "message_text",
)
FIELDS: Final = frozenset(column.name for column in audit.LIST_COLUMNS)
POLL_S: Final = 1.0

Since = Annotated[
    str | None,
    typer.Option(help="From this time or age on: 2026-11-21T10:00Z, 24h, 7d. Default: everything."),
]
Until = Annotated[str | None, typer.Option(help="Before this time or age.")]
AccountOption = Annotated[str | None, typer.Option("--account", help="Of this account (user_id).")]
Verdict = Annotated[str | None, typer.Option("--decision", help="ignore, respond or escalate.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="This reason code, such as LLM_ERROR.")]
Rule = Annotated[str | None, typer.Option(help="This matched rule; a * at the end matches a prefix.")]
ScopeOption = Annotated[str | None, typer.Option("--scope", help="chat or comment.")]
Conversation = Annotated[str | None, typer.Option(help="Of this conversation.")]
Author = Annotated[str | None, typer.Option(help="Of this author.")]
EventId = Annotated[str | None, typer.Option("--event", help="Of this event id.")]
Degraded = Annotated[bool | None, typer.Option("--degraded/--whole", help="Something was not consulted.")]
JsonFields = Annotated[
    str | None, typer.Option("--json", help="Print NDJSON with these fields: a,b,c; or 'all'.")
]


def filters(
    since: Since = None,
    until: Until = None,
    account: AccountOption = None,
    decision: Verdict = None,
    reason: ReasonOption = None,
    rule: Rule = None,
    scope: ScopeOption = None,
    conversation: Conversation = None,
    author: Author = None,
    event: EventId = None,
    degraded: Degraded = None,
) -> Filters:
    """The filters a command line asks for."""
    return Filters(
        since=moment(since),
        until=moment(until),
        user_id=account,
        decision=decision,
        reason_code=reason,
        matched_rule=rule,
        scope=scope,
        conversation_id=conversation,
        author_id=author,
        event_id=event,
        degraded=degraded,
    )


@app.command("list")
def list_(
    since: Since = None,
    until: Until = None,
    account: AccountOption = None,
    decision: Verdict = None,
    reason: ReasonOption = None,
    rule: Rule = None,
    scope: ScopeOption = None,
    conversation: Conversation = None,
    author: Author = None,
    event: EventId = None,
    degraded: Degraded = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Rows on this page.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    json_fields: JsonFields = None,
) -> None:
    """Decisions, newest first: a table on a terminal, NDJSON in a pipe.

    The next page's cursor is printed on stderr. Example:

        hushgate decisions list --since 24h --decision ignore --rule 'flagged_keyword:*' --json id,reason
    """
    wanted = filters(
        since, until, account, decision, reason, rule, scope, conversation, author, event, degraded
    )
    fields = _fields(json_fields)
    try:
        page = asyncio.run(_page(wanted, limit, cursor))
    except CursorRejected as error:
        raise fail(str(error)) from error
    emit(page.rows, COLUMNS, fields=fields)
    if page.cursor:
        errors.print(f"next page: --cursor {page.cursor}", style="dim", highlight=False)


@app.command()
def show(decision_id: Annotated[str, typer.Argument(help="Id of a decision, as `list` prints it.")]) -> None:
    """One decision whole: why it ended so, its stage trace, findings, attempts, passages and the reply."""
    try:
        wanted = UUID(decision_id)
    except ValueError as error:
        raise fail(f"id: expected the id of a decision, got {decision_id!r}") from error
    row = asyncio.run(_one(wanted))
    if row is None:
        raise fail(f"id: no decision {decision_id}", code=1)
    if not for_eyes():
        emit_json(row)
        return
    for part in described(row):
        screen.print(part)


@app.command()
def tail(
    account: AccountOption = None,
    decision: Verdict = None,
    reason: ReasonOption = None,
    json_fields: JsonFields = None,
    last: Annotated[int, typer.Option(min=0, max=1000, help="Start with this many older ones.")] = 10,
) -> None:
    """Follow the audit live, oldest first, until Ctrl-C."""
    wanted = Filters(user_id=account, decision=decision, reason_code=reason)
    try:
        asyncio.run(_follow(wanted, last, _fields(json_fields)))
    except KeyboardInterrupt:
        return


def described(row: Mapping[str, Any]) -> list[Table | Text]:
    """A decision as parts to print: a headline, its facts, its stages, its findings and attempts."""
    snapshot = row["snapshot_json"]
    head = Text.assemble(
        (str(row["decision"]), "bold"), " because ", (str(row["reason_code"]), "bold"), f": {row['reason']}"
    )
    names = ("id", "created_at", "user_id", "scope", "conversation_id", "author_id", "message_text")
    facts = [(name, row[name]) for name in names]
    facts += [("confidence", row["confidence"]), ("rule", row["matched_rule"]), ("reply", row["reply_text"])]
    facts += [("tokens", json_text(snapshot["tokens"])), ("models", json_text(snapshot["models"]))]
    grid = Table.grid(padding=(0, 2))
    for name, value in facts:
        grid.add_row(Text(name.replace("_", " "), style="dim"), cell(value))
    parts: list[Table | Text] = [head, grid, _waterfall(snapshot["stages"])]
    noted = [(name, snapshot[name]) for name in ("findings", "attempts", "passages") if snapshot[name]]
    return [*parts, *(table(rows, list(rows[0]), title=name) for name, rows in noted)]


def _waterfall(stages: list[dict[str, Any]]) -> Table:
    total = sum(stage["duration_ms"] for stage in stages) or 1.0
    shown = Table(title="stages", title_justify="left", show_edge=False, pad_edge=False, header_style="bold")
    for name in ("stage", "outcome", "ms", ""):
        shown.add_column(name, justify="right" if name == "ms" else "left")
    before = 0.0
    for stage in stages:
        start, width = int(40 * before / total), max(1, round(40 * stage["duration_ms"] / total))
        bar = Text(" " * start + "█" * width, style="cyan")
        shown.add_row(stage["stage"], cell(stage["outcome"]), f"{stage['duration_ms']:.1f}", bar)
        before += stage["duration_ms"]
    return shown


def _fields(text: str | None) -> list[str] | None:
    if text is None:
        return None
    if text == "all":
        return sorted(FIELDS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in FIELDS]:
        raise fail(f"--json: expected fields of {', '.join(sorted(FIELDS))}; got {', '.join(unknown)}")
    return names


async def _page(wanted: Filters, limit: int, cursor: str | None) -> audit.Page:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await audit.page(connection, wanted, limit=limit, cursor=cursor)


async def _one(decision_id: UUID) -> audit.Row | None:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await audit.one(connection, decision_id)


async def _follow(wanted: Filters, last: int, fields: list[str] | None) -> None:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        recent = replace(wanted, since=datetime.now(UTC) - timedelta(days=1))
        rows = tuple(reversed((await audit.page(connection, recent, limit=last or 1)).rows))[:last]
        seen = (datetime.now(UTC), UUID(int=0))
        while True:
            for row in rows:
                seen = (row["created_at"], row["id"])
                _print_line(row, fields)
            await connection.rollback()
            await asyncio.sleep(POLL_S)
            rows = await audit.after(connection, wanted, seen=seen)


def _print_line(row: Mapping[str, Any], fields: list[str] | None) -> None:
    if not for_eyes() or fields is not None:
        emit_json({name: row[name] for name in fields} if fields else row)
        return
    parts = [cell(row[name]) for name in ("created_at", "user_id", "decision", "reason_code", "matched_rule")]
    screen.print(Text("  ").join([*parts, cell(str(row["message_text"])[:80])]))
