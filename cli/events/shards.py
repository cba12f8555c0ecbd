"""``hushgate shards``: the streams that share the events, and doubling them."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from redis.asyncio import Redis

from cli.exit_codes import ExitCode
from cli.options import stream_settings, with_redis
from cli.output import emit, fail
from tasks.shards.agreement import double
from tasks.shards.backlog import load_layout, shard_backlog
from tasks.shards.clients import connect_sync

LOOK_S: Final = 0.1
app = typer.Typer(
    invoke_without_command=True, help="The streams that share the events: their figures, and `double`."
)


@app.callback()
def list_(context: typer.Context) -> None:
    """Print every shard with its figures; shards of before a doubling are sealed and empty.

    For example:

        hushgate shards
    """
    if context.invoked_subcommand is None:
        settings = stream_settings()
        rows = with_redis(settings, lambda redis: _rows(redis, settings.stream))
        emit(rows, ["stream", "sealed", "accepted", "unfinished", "workers"])


@app.command("double")
def double_(
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds to wait until the shards are empty.")
    ] = 600.0,
    yes: Annotated[bool, typer.Option("--yes", help="Double without a question.")] = False,
) -> None:
    """Use twice as many shards, once all are empty; the order of conversations holds. It cannot be undone.

    Stop publishers first and let workers run. The command waits until every event is decided, seals the
    shards and stores the new number, which workers follow. Then set HUSHGATE_SHARDS to it where it is set,
    and start publishers. Publishers that use the old number have an error from Redis, and lose no event. Run
    it again after a failure. Exit 0 when the number is doubled, 1 when events are left after the time.

        hushgate shards double --yes
    """
    settings = stream_settings()
    if not yes:
        _require_sure()
    deadline = time.monotonic() + timeout
    with connect_sync(settings.redis_url.get_secret_value()) as redis:
        layout, left = double(redis, settings.stream)
        while left and time.monotonic() < deadline:
            time.sleep(LOOK_S)
            layout, left = double(redis, settings.stream)
    emit([{"shards": layout.shards, "unfinished": left}], ["shards", "unfinished"])
    if left:
        raise fail(
            f"shards: {left} events are not decided yet; stop publishers, then run it again",
            code=ExitCode.NEGATIVE,
        )


def _require_sure() -> None:
    if not sys.stdin.isatty():
        raise fail("shards: nothing was changed; a doubling cannot be undone, add --yes")
    if not typer.confirm("Are all publishers stopped? A doubling cannot be undone.", err=True):
        raise typer.Exit(ExitCode.NEGATIVE)


async def _rows(redis: Redis, stream: str) -> list[dict[str, Any]]:
    layout = await load_layout(redis, stream)
    sealed = layout.sealed()
    return [
        {"stream": place.key, "sealed": place.shard in sealed} | asdict(await shard_backlog(redis, place))
        for place in layout.streams()
    ]
