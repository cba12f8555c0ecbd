"""``hushgate decisions export``: page after page to a file, with progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.ext.asyncio import AsyncConnection

from cli.options import connected
from cli.output import complain, errors, fail
from db import audit, export_rows
from db.audit import Filters
from review.lists.export_layout import Layout

ROWS: Final = 1000
"""Decisions read and written at a time."""


async def written(wanted: Filters, output: Path, layout: Layout) -> None:
    """Write every decision that matches, newest first."""
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        count = await audit.counted(connection, wanted)
        with _opened(output) as file, _progress() as progress:
            task = progress.add_task("decisions", total=count.number)
            file.write(layout.head())
            async for page in _pages(connection, wanted):
                file.write(layout.lines(await export_rows.completed(connection, page.rows)))
                await connection.rollback()  # a long export must not hold back the vacuum
                progress.update(task, advance=len(page.rows))
            progress.update(task, total=progress.tasks[task].completed)  # what was estimated is known now
    complain(f"{progress.tasks[task].completed:.0f} decisions written to {output}", style="dim")


async def _pages(connection: AsyncConnection, wanted: Filters) -> AsyncIterator[audit.Page]:
    cursor: str | None = None
    while True:
        page = await audit.page(connection, wanted, limit=ROWS, cursor=cursor)
        yield page
        if page.older is None:
            return
        cursor = page.older


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=errors, disable=not errors.is_terminal)


@contextmanager
def _opened(output: Path) -> Iterator[TextIO]:
    if str(output) == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with output.open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise fail(f"{output}: {error.strerror}") from error
