"""``hushgate shards``: the streams that share the events, and doubling them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from redis import Redis

from cli.exit_codes import ExitCode
from cli.options import stream_settings
from cli.output import emit, fail
from tasks.shards.agreement import current_layout, double, unfinished
from tasks.shards.backlog import load_layout, shard_backlog
from tasks.shards.clients import connect, connect_sync
from worker.settings import StreamSettings

LOOK_S: Final = 0.1
app = typer.Typer(
    invoke_without_command=True, help="The streams that share the events: their figures, and `double`."
)


@app.callback()
def list_(context: typer.Context) -> None:
    """Print every shard with its figures; shards of before a doubling are sealed, and drain.

    For example:

        hushgate shards
    """
    if context.invoked_subcommand is None:
        emit(asyncio.run(_rows(stream_settings())), ["stream", "sealed", "accepted", "unfinished", "workers"])


@app.command("double")
def double_(
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds to wait until the old shards are empty.")
    ] = 600.0,
) -> None:
    """Use twice as many shards; workers and publishers may go on, and the order of conversations holds.

    Seals the shards, lets everyone use the new ones, and waits until the old ones are empty. Publishers that
    do not know the new number have an error from Redis until they use it. Run it again after a failure; when
    the old shards still drain, that only waits. Exit 0 when they are empty, 1 when not within the time.

        hushgate shards double
    """
    settings = stream_settings()
    with connect_sync(settings.redis_url.get_secret_value()) as redis:
        layout = current_layout(redis, settings.stream)
        if not unfinished(redis, layout):
            layout = double(redis, settings.stream)
        left = _drained(redis, settings.stream, timeout)
    emit([{"shards": layout.shards, "unfinished": left}], ["shards", "unfinished"])
    if left:
        raise fail(f"shards: {left} events of the old shards are not decided yet", code=ExitCode.NEGATIVE)


def _drained(redis: Redis, stream: str, timeout_s: float) -> int:
    """Wait for the sealed shards; how many of their entries are left."""
    deadline, layout = time.monotonic() + timeout_s, current_layout(redis, stream)
    while (left := sum(unfinished(redis, layout).values())) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return left


async def _rows(settings: StreamSettings) -> list[dict[str, Any]]:
    async with connect(settings.redis_url.get_secret_value()) as redis:
        layout = await load_layout(redis, settings.stream)
        sealed = layout.sealed()
        return [
            {"stream": place.key, "sealed": place.shard in sealed} | asdict(await shard_backlog(redis, place))
            for place in layout.streams()
        ]
