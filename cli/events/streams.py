"""``hushgate streams``: the outgoing streams, and deleting what every consumer has read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

import typer
from redis.asyncio import Redis

from cli.options import settings_of, with_redis
from cli.output import emit
from tasks.stream_upkeep.figures import GroupFigures, StreamFigures, load_figures, stream_names
from tasks.stream_upkeep.trimming import Keep, Trimmed, plan, trim
from worker.settings import OutgoingStreamSettings

Value = TypeVar("Value")
COLUMNS = ["stream", "entries", "oldest_s", "trimmed_to", "group", "pending", "lag", "unread_s"]
app = typer.Typer(
    invoke_without_command=True,
    help="The streams that Hushgate writes: how many entries, who reads them, and `trim`.",
)


@app.callback()
def list_(context: typer.Context) -> None:
    """Print the outgoing streams with their consumer groups, one row a group.

    `unread_s` is the age of the oldest entry that the group has not acknowledged, `lag` the count of entries
    not delivered to it, as Redis knows it. For example:

        hushgate streams
    """
    if context.invoked_subcommand is not None:
        return
    emit(list(_rows(each_stream(settings_of(OutgoingStreamSettings), load_figures))), COLUMNS)


@app.command("trim")
def trim_(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted; delete nothing.")
    ] = False,
) -> None:
    """Delete entries that are older than streams_days of HUSHGATE_KEEP and acknowledged by every group.

    Beat does the same every ten minutes. An entry that one group has not acknowledged is kept, however old;
    those of a stream without groups are kept for ungrouped_streams_days. For example:

        hushgate streams trim --dry-run
    """
    settings = settings_of(OutgoingStreamSettings)
    keep = Keep.of(settings)

    async def run(redis: Redis, _: str, stream: str) -> tuple[str, Trimmed]:
        return stream, await (plan if dry_run else trim)(redis, stream, keep)

    done = "would_delete" if dry_run else "deleted"
    found = each_stream(settings, run)
    rows = [{"stream": stream, done: each.entries, "below": each.limit} for stream, each in found]
    emit(rows, ["stream", done, "below"])


def each_stream(
    settings: OutgoingStreamSettings, work: Callable[[Redis, str, str], Awaitable[Value]]
) -> list[Value]:
    """What ``work`` gives for the name and the key of each outgoing stream."""

    async def run(redis: Redis) -> list[Value]:
        return [await work(redis, *named) for named in stream_names(settings).items()]

    return with_redis(settings, run)


def _rows(found: list[StreamFigures]) -> Iterator[dict[str, Any]]:
    for each in found:
        known = {name: value for name, value in asdict(each).items() if name not in {"name", "groups"}}
        groups: tuple[GroupFigures | None, ...] = each.groups or (None,)
        for group in groups:
            empty = dict.fromkeys(("group", "consumers", "pending", "lag", "unread_s"))
            figures = asdict(group) if group else {}
            yield known | empty | {"group" if name == "name" else name: figures[name] for name in figures}
