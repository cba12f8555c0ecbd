"""``hushgate decisions tail``: decisions while they are made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from rich.text import Text

from cli.output import cell, emit_json, screen, stdout_is_terminal
from db.audit import decision_list, export_rows
from db.audit.filters import Filters
from db.audit.search import SearchRow
from db.connection import Connection

POLL_S: Final = 1.0
OVERLAP: Final = timedelta(seconds=5)
"""Overlap of two reads: a commit rarely takes this long after its decision."""


async def follow(connection: Connection, filters: Filters, last: int, fields: Sequence[str] | None) -> None:
    """Print the ``last`` matching decisions, then each further one, without end."""
    page = await decision_list.load_page(connection, filters, limit=max(last, 1))
    rows = list(reversed(page.rows)) if last else []
    newest = page.rows[0]["created_at"] if page.rows else datetime.now(UTC)
    seen: dict[UUID, datetime] = {row["id"]: row["created_at"] for row in page.rows}
    older = await _unseen(connection, filters, newest - OVERLAP, seen)
    rows += [row for row in older if row["created_at"] > newest]
    while True:
        for row in await export_rows.with_people(connection, rows):
            _print_line(row, fields)
        await connection.rollback()
        await asyncio.sleep(POLL_S)
        rows = await _unseen(connection, filters, newest - OVERLAP, seen)
        newest = max([newest, *(row["created_at"] for row in rows)])
        for row_id in [row_id for row_id, at in seen.items() if at < newest - OVERLAP]:
            del seen[row_id]


async def _unseen(
    connection: Connection, filters: Filters, since: datetime, seen: dict[UUID, datetime]
) -> list[SearchRow]:
    """Rows that were not shown yet; a worker may commit later than a worker that decided after it."""
    unseen: list[SearchRow] = []
    position = (since, UUID(int=0))
    while rows := await decision_list.newer_decisions(connection, filters, seen=position):
        unseen += [row for row in rows if row["id"] not in seen]
        seen |= {row["id"]: row["created_at"] for row in rows}
        position = (rows[-1]["created_at"], rows[-1]["id"])
    return unseen


def _print_line(row: Mapping[str, Any], fields: Sequence[str] | None) -> None:
    if not stdout_is_terminal() or fields is not None:
        emit_json({name: row[name] for name in fields} if fields else row)
        return
    parts = [cell(row[name]) for name in ("created_at", "user_id", "decision", "reason_code", "matched_rule")]
    screen.print(Text("  ").join([*parts, cell(str(row["message_text"])[:80])]))
