"""``hushgate dead-letters``: payloads that could not become an event, and their way back."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer
from redis import Redis

from cli.options import connected, moment
from cli.output import emit, fail
from db import audit, dead_letters
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
    emit(asyncio.run(_newest(limit, moment("--since", since), reason)), COLUMNS)


@app.command()
def replay(entry_id: Annotated[str, typer.Argument(help="Stream entry id, as `list` prints it.")]) -> None:
    """Publish a dead letter's payload again, as a new entry; the letter itself stays.

    For payloads that would pass now: a limit was raised, a bug that made them poison was mended. Example:

        hushgate dead-letters replay 1763761234567-0
    """
    kept = asyncio.run(_kept(entry_id))
    if kept is None:
        raise fail(f"entry: no dead letter {entry_id}", code=1)
    raw, size = kept
    if not raw:
        raise fail("entry: it had no field data, there is nothing to publish", code=1)
    if len(raw) < size:
        raise fail(f"entry: only {len(raw)} of {size} bytes were kept, publish it from its source", code=1)
    settings = connected()
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=10) as redis:
        emit([{"published": publish(redis, raw, stream=settings.stream)}], ["published"])


async def _newest(limit: int, since: datetime | None, reason: str | None) -> list[dict[str, Any]]:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await dead_letters.newest(connection, limit, since=since, reason=reason)


async def _kept(entry_id: str) -> tuple[bytes, int] | None:
    async with audit.reading(connected().database_url.get_secret_value()) as connection:
        return await dead_letters.kept(connection, entry_id)
