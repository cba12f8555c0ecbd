"""``hushgate decisions export``: page after page to a file, with progress on standard error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.ext.asyncio import AsyncConnection

from cli.options import database_url
from cli.output import errors
from db.audit import decision_list, export_rows
from db.audit.decision_list import Filters
from review.lists.export_layout import Layout

ROWS: Final = 1000
"""Decisions read and written at a time."""


async def written(wanted: Filters, file: TextIO, layout: Layout) -> int:
    """Write every matching decision, newest first; how many there were."""
    async with decision_list.read_connection(database_url()) as connection:
        count = await decision_list.count_decisions(connection, wanted)
        with _progress() as progress:
            task = progress.add_task("decisions", total=count.number)
            file.write(layout.head())
            async for page in _pages(connection, wanted):
                file.write(layout.lines(await export_rows.with_reviews_and_replies(connection, page.rows)))
                await connection.rollback()  # a long export must not hold back the vacuum
                progress.update(task, advance=len(page.rows))
            progress.update(task, total=progress.tasks[task].completed)  # the total was estimated
    return int(progress.tasks[task].completed)


async def _pages(connection: AsyncConnection, wanted: Filters) -> AsyncIterator[decision_list.DecisionPage]:
    cursor: str | None = None
    while True:
        page = await decision_list.load_page(connection, wanted, limit=ROWS, cursor=cursor)
        yield page
        if page.older is None:
            return
        cursor = page.older


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=errors, disable=not errors.is_terminal)
