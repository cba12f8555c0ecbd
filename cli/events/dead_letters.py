"""``hushgate dead-letters``: payloads that could not become an event, and how to publish them again."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

import typer
from redis import Redis

from cli.exit_codes import ExitCode
from cli.options import database_url, moment, streams
from cli.output import emit, fail
from db import dead_letters
from db.audit import decision_list
from tasks.publish import append

app = typer.Typer(
    no_args_is_help=True, help="Payloads that could not become an event: `list` them, `replay` one."
)
COLUMNS = ["created_at", "entry_id", "reason_code", "field", "expected", "got", "size_bytes"]


@app.command("list")
def list_(
    since: Annotated[
        str | None, typer.Option(help="Dead letters since this time or age, such as 24h.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Dead letters with this reason code, such as not_json or poison.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Dead letters to print at most.")] = 50,
) -> None:
    """Print dead letters, newest first, with the reason why they are not events.

    For example:

        hushgate dead-letters list --since 24h --reason poison
    """
    emit(asyncio.run(_newest(limit, moment("--since", since), reason)), COLUMNS)


@app.command()
def replay(entry_id: Annotated[str, typer.Argument(help="Stream entry id, as `list` prints it.")]) -> None:
    """Publish a dead letter's payload again, as a new entry; the dead letter is kept.

    Use it for payloads that can be decided now: a limit was raised, or a defect was fixed. Example:

        hushgate dead-letters replay 1763761234567-0
    """
    kept = asyncio.run(_kept(entry_id))
    if kept is None:
        raise fail(f"entry: no dead letter {entry_id}", code=ExitCode.NEGATIVE)
    raw, size = kept
    if not raw:
        raise fail(
            "entry: the entry had no field data, so there is nothing to publish", code=ExitCode.REJECTED
        )
    if len(raw) < size:
        raise fail(
            f"entry: only {len(raw)} of {size} bytes were kept; publish the payload from its source",
            code=ExitCode.REJECTED,
        )
    settings = streams()
    with Redis.from_url(settings.redis_url.get_secret_value(), socket_timeout=10) as redis:
        emit([{"published": append(redis, [raw], stream=settings.stream)[0]}], ["published"])


async def _newest(limit: int, since: datetime | None, reason: str | None) -> list[dict[str, Any]]:
    async with decision_list.read_connection(database_url()) as connection:
        return await dead_letters.list_letters(connection, limit, since=since, reason=reason)


async def _kept(entry_id: str) -> tuple[bytes, int] | None:
    async with decision_list.read_connection(database_url()) as connection:
        return await dead_letters.get_payload(connection, entry_id)
