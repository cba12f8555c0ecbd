"""``hushgate decisions``: the audit in a terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import UUID

import typer
from rich.text import Text
from sqlalchemy.ext.asyncio import AsyncConnection

from cli import review
from cli.decision_export import written
from cli.decision_filters import filtered
from cli.decision_view import described, listed
from cli.options import connected
from cli.output import cell, complain, emit, emit_json, fail, for_eyes, screen
from db import audit, reviews
from db.audit import CursorRejected, Filters
from review.lists.export_layout import Form, Layout

app = typer.Typer(no_args_is_help=True, help="Look at the audit: every event has exactly one row in it.")
app.command()(review.review)

FIELDS: Final = frozenset(column.name for column in audit.LIST_COLUMNS)
POLL_S: Final = 1.0
OVERLAP: Final = timedelta(seconds=5)
"""How far behind the newest row a tail looks again: a commit rarely takes this long after its decision."""

JsonFields = Annotated[
    str | None, typer.Option("--json", help="Print NDJSON with these fields: a,b,c; or 'all'.")
]


@app.command("list")
@filtered
def list_(
    wanted: Filters,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Rows on this page.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    json_fields: JsonFields = None,
) -> None:
    """Decisions of the last 24 hours, newest first: a table on a terminal, NDJSON in a pipe.

    --since asks for another time, --since all for everything. The next page's cursor is printed on stderr.

    Examples:
        hushgate decisions list --since 24h --decision ignore --rule 'flagged_keyword:*' --json id,reason

        hushgate decisions list --since all --account corner-shop --reason blocked --review open
    """
    fields = _fields(json_fields)
    try:
        page = asyncio.run(_page(wanted, limit, cursor))
    except CursorRejected as error:
        raise fail(f"--{error}") from error
    if for_eyes() and fields is None:
        for part in listed(page.rows):
            screen.print(part)
        if not page.rows and wanted.since:
            complain(
                f"looked back to {wanted.since:%Y-%m-%d %H:%M}Z; --since all looks at everything", style="dim"
            )
    else:
        emit(page.rows, (), fields=fields)
    if page.searched_to:
        complain(
            f"searched back to {page.searched_to:%Y-%m-%d %H:%M:%S}Z; the next page goes on", style="dim"
        )
    if page.older:
        complain(f"next page: --cursor {page.older}", style="dim")


@app.command()
def show(decision_id: Annotated[str, typer.Argument(help="Id of a decision, as `list` prints it.")]) -> None:
    """One decision whole, however old: why it ended so, stage trace, findings, attempts, passages, reviews.

    For example:

        hushgate decisions show 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
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
@filtered
def tail(
    wanted: Filters,
    json_fields: JsonFields = None,
    last: Annotated[int, typer.Option(min=0, max=1000, help="Start with this many older ones.")] = 10,
) -> None:
    """Follow the audit live, oldest first, until Ctrl-C; begins with the last few of 24 hours, or --since.

    For example:

        hushgate decisions tail --decision ignore --json created_at,reason_code,matched_rule
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
    try:
        asyncio.run(_follow(wanted, last, _fields(json_fields)))
    except KeyboardInterrupt:
        return


@app.command()
@filtered
def export(
    wanted: Filters,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; - is standard output.")],
    form: Annotated[
        Form | None,
        typer.Option("--format", case_sensitive=False, help="csv or ndjson; else as the file's name ends."),
    ] = None,
    bom: Annotated[
        bool, typer.Option("--bom", help="Begin a CSV with a byte order mark, for Excel.")
    ] = False,
) -> None:
    """Write the decisions of the last 24 hours that match, newest first, to a file.

    --since asks for another time, --since all for everything; memory stays the same whatever their number. In
    CSV a cell that a spreadsheet would take for a formula begins with an apostrophe. Examples:

        hushgate decisions export --since 7d --reason blocked -o blocked.csv

        hushgate decisions export --text refund --format ndjson -o - | jq .message_text
    """
    chosen = form or next((each for each in Form if output.suffix == f".{each}"), None)
    if chosen is None:
        raise fail(f"--format: expected csv or ndjson, as the name {output.name!r} does not say which")
    asyncio.run(written(wanted, output, Layout(form=chosen, bom=bom)))


def _fields(text: str | None) -> list[str] | None:
    if text is None:
        return None
    if text == "all":
        return sorted(FIELDS)
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in FIELDS]
    if unknown or not names:
        got = ", ".join(unknown) or "nothing"
        raise fail(f"--json: expected 'all' or fields of {', '.join(sorted(FIELDS))}; got {got}")
    return names


async def _page(wanted: Filters, limit: int, cursor: str | None) -> audit.Page:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await audit.page(connection, wanted, limit=limit, cursor=cursor)


async def _one(decision_id: UUID) -> audit.Row | None:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        row = await audit.one(connection, decision_id)
        if row is None:
            return None
        given = await reviews.of_decision(connection, decision_id)
        return row | {"reviews": [asdict(each) for each in given]}


async def _follow(wanted: Filters, last: int, fields: list[str] | None) -> None:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        page = await audit.page(connection, wanted, limit=max(last, 1))
        rows = list(reversed(page.rows)) if last else []
        newest = page.rows[0]["created_at"] if page.rows else datetime.now(UTC)
        seen: dict[UUID, datetime] = {row["id"]: row["created_at"] for row in page.rows}
        older = await _unseen(connection, wanted, newest - OVERLAP, seen)
        rows += [row for row in older if row["created_at"] > newest]
        while True:
            for row in rows:
                _print_line(row, fields)
            await connection.rollback()
            await asyncio.sleep(POLL_S)
            rows = await _unseen(connection, wanted, newest - OVERLAP, seen)
            newest = max([newest, *(row["created_at"] for row in rows)])
            for row_id in [row_id for row_id, at in seen.items() if at < newest - OVERLAP]:
                del seen[row_id]


async def _unseen(
    connection: AsyncConnection, wanted: Filters, since: datetime, seen: dict[UUID, datetime]
) -> list[audit.Row]:
    """Rows not shown yet, and noted as seen: a worker may commit after one that decided later."""
    unseen: list[audit.Row] = []
    position = (since, UUID(int=0))
    while rows := await audit.after(connection, wanted, seen=position):
        unseen += [row for row in rows if row["id"] not in seen]
        seen |= {row["id"]: row["created_at"] for row in rows}
        position = (rows[-1]["created_at"], rows[-1]["id"])
    return unseen


def _print_line(row: Mapping[str, Any], fields: list[str] | None) -> None:
    if not for_eyes() or fields is not None:
        emit_json({name: row[name] for name in fields} if fields else row)
        return
    parts = [cell(row[name]) for name in ("created_at", "user_id", "decision", "reason_code", "matched_rule")]
    screen.print(Text("  ").join([*parts, cell(str(row["message_text"])[:80])]))
