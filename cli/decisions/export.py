"""``hushgate decisions export``: page after page to a file, with progress on standard error."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, TextIO

from rich.progress import TimeElapsedColumn

from cli.output import progress_bar
from db.audit import decision_list, export_rows
from db.audit.filters import Filters
from db.connection import Connection
from review.lists.export_layout import Layout

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
