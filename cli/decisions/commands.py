"""``hushgate decisions``: list, show, follow and export decisions."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, Final, TextIO
from uuid import UUID

import typer
from rich.progress import TimeElapsedColumn

from cli.decisions.filter_options import FilteredCommand
from cli.decisions.tail import follow
from cli.decisions.view import decision_details, decision_table
from cli.exit_codes import ExitCode
from cli.options import note_misspelt, read_audit, read_lists
from cli.output import emit, emit_json, fail, print_message, progress_bar, screen, stdout_is_terminal
from cli.output_file import Force, output_file
from cli.review import rulings as review
from cli.review.store import site_url
from db.audit import decision_list, export_rows
from db.audit.cursor import CursorRejected
from db.audit.decision_list import DecisionPage
from db.audit.filters import Filters
from db.audit.search import LIST_COLUMNS
from db.connection import Connection
from db.identifiers import parsed_id
from db.reviews import rulings
from review.lists.export_layout import Form, Layout

HELP: Final = (
    "The audit, with exactly one decision for every event: `list` and `show` decisions, follow them with"
    " `tail`, `export` them to a file, `review` them."
)
app = typer.Typer(no_args_is_help=True, help=HELP)
app.command()(review.review)

FIELDS: Final = frozenset(column.name for column in LIST_COLUMNS) | frozenset(export_rows.NAMES)

JsonFields = Annotated[
    str | None,
    typer.Option("--json", help="Print NDJSON with these fields, such as id,reason; all: every field."),
]


@app.command("list", cls=FilteredCommand)
def list_(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Decisions on the page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option(help="Start of the page, as the page before printed it.")
    ] = None,
    json_fields: JsonFields = None,
) -> None:
    """List decisions of the last 24 hours, newest first: a table on a terminal, NDJSON in a pipe.

    --since sets another start, --since all lists every decision. The cursor of the next page is printed on
    stderr.

    For example:

        hushgate decisions list --since 24h --decision ignore --rule 'flagged_keyword:*' --json id,reason

        hushgate decisions list --since all --account corner-shop --reason blocked --review open
    """
    filters: Filters = context.obj
    fields = _fields(json_fields)
    try:
        page = read_lists(lambda connection: _page(connection, filters, limit, cursor))
    except CursorRejected as error:
        raise fail(f"--{error}") from error
    if stdout_is_terminal() and fields is None:
        for part in decision_table(page.rows):
            screen.print(part)
        if not page.rows and filters.since:
            print_message(
                f"searched back to {filters.since:%Y-%m-%d %H:%M}Z; --since all searches every decision",
                style="dim",
            )
    else:
        emit(page.rows, (), fields=fields)
    note_misspelt(page.rows, filters.user_id)
    if page.searched_to:
        print_message(
            f"searched back to {page.searched_to:%Y-%m-%d %H:%M:%S}Z; the next page continues from there",
            style="dim",
        )
    if page.older:
        print_message(f"next page: --cursor {page.older}", style="dim")


@app.command()
def show(
    decision_id: Annotated[str, typer.Argument(help="The id of a decision, as `list` prints it.")],
) -> None:
    """Show one decision with its reason, stages, findings, attempts, passages and reviews.

    For example:

        hushgate decisions show 01a20047-0dfa-71d7-8e88-c1d4329d1fb5
    """
    if (known_id := parsed_id(decision_id)) is None:
        raise fail(f"id: expected the id of a decision, got {decision_id!r}; of an event: hushgate explain")
    row = read_lists(lambda connection: _decision_with_reviews(connection, known_id))
    if row is None:
        raise fail(f"id: no decision {decision_id}", code=ExitCode.NEGATIVE)
    if not stdout_is_terminal():
        emit_json(row)
        return
    for part in decision_details(row):
        screen.print(part)


@app.command(cls=FilteredCommand)
def tail(
    context: typer.Context,
    json_fields: JsonFields = None,
    last: Annotated[int, typer.Option(min=0, max=1000, help="Older decisions to start with.")] = 10,
) -> None:
    """Print decisions as they are made until Ctrl-C; starts with the last ones of 24 hours, or of --since.

    For example:

        hushgate decisions tail --decision ignore --json created_at,reason_code,matched_rule
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell has it ignored
    fields = _fields(json_fields)
    try:
        read_audit(lambda connection: follow(connection, context.obj, last, fields))
    except KeyboardInterrupt:
        return


@app.command(cls=FilteredCommand)
def export(
    context: typer.Context,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - is standard output.")],
    form: Annotated[
        Form | None,
        typer.Option(
            "--format", case_sensitive=False, help="csv or ndjson; by default as the file name ends."
        ),
    ] = None,
    bom: Annotated[
        bool, typer.Option("--bom", help="Start a CSV file with a byte order mark, for Excel.")
    ] = False,
    force: Force = False,
) -> None:
    """Write matching decisions of the last 24 hours to a file, newest first.

    --since sets another start, --since all exports every decision. In CSV, a cell that a spreadsheet would
    read as a formula starts with an apostrophe. With HUSHGATE_REVIEW_URL set, each line has a link to its
    page. Examples:

        hushgate decisions export --since 7d --reason blocked -o blocked.csv

        hushgate decisions export --text refund --format ndjson -o - | jq .message_text
    """
    chosen = form or next((each for each in Form if output.suffix == f".{each}"), None)
    if chosen is None:
        raise fail(f"--format: expected csv or ndjson, as the name {output.name!r} ends with neither")
    layout = Layout(form=chosen, bom=bom, site=site_url())
    with output_file(output, force) as file:
        count = read_lists(lambda connection: write_decisions(connection, context.obj, file, layout))
    print_message(f"{count} decisions written to {output}", style="dim")


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


async def _page(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> DecisionPage:
    found = await decision_list.load_page(connection, filters, limit=limit, cursor=cursor)
    return replace(found, rows=await export_rows.with_people(connection, found.rows))


async def _decision_with_reviews(connection: Connection, decision_id: UUID) -> dict[str, Any] | None:
    row = await decision_list.get_decision(connection, decision_id)
    if row is None:
        return None
    return row | {"reviews": [asdict(each) for each in await rulings.list_reviews(connection, decision_id)]}


ROWS: Final = 1000
"""Decisions read and written at a time."""


async def write_decisions(connection: Connection, filters: Filters, file: TextIO, layout: Layout) -> int:
    """Write every matching decision, newest first; how many there were."""
    count = await decision_list.count_decisions(connection, filters)
    with progress_bar(TimeElapsedColumn()) as progress:
        task = progress.add_task("decisions", total=count.number)
        file.write(layout.head())
        async for page in _pages(connection, filters):
            file.write(layout.lines(await export_rows.with_people(connection, page.rows)))
            await connection.rollback()  # a long export must not hold back the vacuum
            progress.update(task, advance=len(page.rows))
        progress.update(task, total=progress.tasks[task].completed)  # the total was estimated
    return int(progress.tasks[task].completed)


async def _pages(connection: Connection, filters: Filters) -> AsyncIterator[decision_list.DecisionPage]:
    page = await decision_list.load_page(connection, filters, limit=ROWS)
    yield page
    while page.older is not None:
        page = await decision_list.load_page(connection, filters, limit=ROWS, cursor=page.older)
        yield page
