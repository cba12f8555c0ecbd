"""``hushgate dead-letters``: payloads that could not become an event, and their way back."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import sqlalchemy as sa
import typer
from redis import Redis

from cli.options import connected, moment
from cli.output import emit, fail
from db import audit
from db.tables import dead_letters
from tasks.publish import publish

app = typer.Typer(no_args_is_help=True, help="Payloads that could not become an event.")
COLUMNS = ["created_at", "entry_id", "reason_code", "field", "expected", "got", "size_bytes"]


@app.command("list")
def list_(
    since: Annotated[str | None, typer.Option(help="From this time or age on.")] = None,
    reason: Annotated[str | None, typer.Option(help="This reason code, such as not_json or poison.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000)] = 50,
) -> None:
    """Dead letters, newest first, with the reason why they are no events.

    For example:

        hushgate dead-letters list --since 24h --reason poison
    """
    query = sa.select(*(column for column in dead_letters.c if column.name != "raw")).limit(limit)
    query = query.order_by(dead_letters.c.created_at.desc(), dead_letters.c.entry_id.desc())
    if (at := moment("--since", since)) is not None:
        query = query.where(dead_letters.c.created_at >= at)
    if reason is not None:
        query = query.where(dead_letters.c.reason_code == reason)
    emit(asyncio.run(_rows(query)), COLUMNS)


@app.command()
def replay(entry_id: Annotated[str, typer.Argument(help="Stream entry id, as `list` prints it.")]) -> None:
    """Publish a dead letter's payload again, as a new entry; the letter itself stays.

    For payloads that would pass now: a limit was raised, a bug that made them poison was mended. Example:

        hushgate dead-letters replay 1763761234567-0
    """
    rows = asyncio.run(_rows(sa.select(dead_letters).where(dead_letters.c.entry_id == entry_id)))
    if not rows:
        raise fail(f"entry: no dead letter {entry_id}", code=1)
    raw, size = bytes(rows[0]["raw"]), int(rows[0]["size_bytes"])
    if not raw:
        raise fail("entry: it had no field data, there is nothing to publish", code=1)
    if len(raw) < size:
        raise fail(f"entry: only {len(raw)} of {size} bytes were kept, publish it from its source", code=1)
    settings = connected()
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=10) as redis:
        emit([{"published": publish(redis, raw, stream=settings.stream)}], ["published"])


async def _rows(query: sa.Select[Any]) -> list[dict[str, Any]]:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return [dict(row) for row in (await connection.execute(query)).mappings()]
