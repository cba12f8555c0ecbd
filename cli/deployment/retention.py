"""``hushgate retention``: how long every table and stream is kept, and a sweep by hand."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer
from redis.asyncio import Redis

from cli.options import own_connections, settings_of
from cli.output import emit, fail
from db.pool import Pool
from db.retention.declared import RETENTION, STREAM_RETENTION, StreamRetention
from db.retention.kept import KeptBy, TableRetention
from db.retention.steps import MOST_COUNTED, rows_due
from tasks.retention.sweep import sweep
from tasks.shards.backlog import load_layout
from tasks.shards.clients import connect
from tasks.stream_upkeep.figures import load_figures
from tasks.stream_upkeep.trimming import Keep, plan
from worker.settings import OutgoingStreamSettings, RedisPresence, RetentionSettings

app = typer.Typer(
    no_args_is_help=True,
    help="How long every table and stream is kept: `show`, and `run` to delete what is due now.",
)
COLUMNS: Final = ["table", "kept", "setting", "oldest", "due", "held"]


@app.command()
def show() -> None:
    """Print every table and stream: how long it is kept, its oldest row, rows due and rows under a hold.

    A `+` behind a number means that there are more. Rows of streams need REDIS_URL. For example:

        hushgate retention show
    """
    settings = settings_of(RetentionSettings)
    emit([*asyncio.run(_tables(settings)), *asyncio.run(_streams())], COLUMNS)


@app.command()
def run(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be deleted; delete nothing.")
    ] = False,
    table: Annotated[list[str] | None, typer.Option("--table", help="Only this table; repeatable.")] = None,
) -> None:
    """Delete rows that are older than the settings keep them, in small steps, as beat does every hour.

    Use the login of the workers or the owner's. Rows under a legal hold stay. It can be stopped at any time
    and run again. For example:

        hushgate retention run --dry-run
    """
    settings = settings_of(RetentionSettings)
    known = [each.table for each in RETENTION if each.swept]
    if unknown := sorted(set(table or ()) - set(known)):
        raise fail(f"--table: expected one of {', '.join(known)}, got {unknown[0]}")
    if dry_run:
        rows = asyncio.run(_tables(settings, only=table or known))
        emit([{"table": row["table"], "would_delete": row["due"], "held": row["held"]} for row in rows],
             ["table", "would_delete", "held"])  # fmt: skip
        return
    deleted = asyncio.run(_run(settings, table or ()))
    emit([{"table": name, "deleted": rows} for name, rows in deleted.items()], ["table", "deleted"])


async def _run(settings: RetentionSettings, only: list[str] | tuple[str, ...]) -> dict[str, int]:
    async with own_connections(settings.database_url.get_secret_value()) as source:
        return await sweep(source, settings, datetime.now(UTC), only=only)


async def _tables(settings: RetentionSettings, only: list[str] | None = None) -> list[dict[str, Any]]:
    now = datetime.now(UTC)
    async with own_connections(settings.database_url.get_secret_value()) as source:
        chosen = [each for each in RETENTION if only is None or each.table in only]
        return [await _row(source, each, settings, now) for each in chosen]


async def _row(
    source: Pool, each: TableRetention, settings: RetentionSettings, now: datetime
) -> dict[str, Any]:
    row: dict[str, Any] = {"table": each.table, "kept": _kept(each, settings), "setting": _variable(each)}
    if not each.swept:
        return row | dict.fromkeys(("oldest", "due", "held"))
    before = each.limit(settings, now)
    found = await rows_due(source, each.table, before or datetime(1970, 1, 1, tzinfo=UTC))
    return row | {"oldest": found.oldest, "due": _number(found.due), "held": _number(found.held)}


def _number(rows: int) -> int | str:
    return rows if rows < MOST_COUNTED else f"{MOST_COUNTED - 1}+"


def _kept(each: TableRetention, settings: RetentionSettings) -> str:
    if each.kept_by is KeptBy.FOR_EVER:
        return f"for ever: {each.why}"
    if not each.setting:
        return each.why
    number = int(getattr(settings.keep, each.setting))
    length = f"{number} {each.kept_by.value}" if number else "for ever"
    return f"{length}, {each.why}" if each.why else length


def _variable(each: TableRetention) -> str | None:
    return f"HUSHGATE_KEEP {each.setting}" if each.setting else None


async def _streams() -> list[dict[str, Any]]:
    if settings_of(RedisPresence).redis_url is None:
        return []
    settings = settings_of(OutgoingStreamSettings)
    async with connect(settings.redis_url.get_secret_value(), timeout_s=10) as redis:
        shards = [shard.name for shard in (await load_layout(redis, settings.stream)).current()]
        return [
            await _stream_row(redis, each, name, Keep.of(settings))
            for each in STREAM_RETENTION
            for name in (shards if each.name == "stream" else [getattr(settings, each.name)])
        ]


async def _stream_row(redis: Redis, each: StreamRetention, stream: str, keep: Keep) -> dict[str, Any]:
    oldest_s = (await load_figures(redis, each.name, stream)).oldest_s
    due = (await plan(redis, stream, keep)).entries if each.settings else None
    oldest = None if oldest_s is None else datetime.now(UTC) - timedelta(seconds=oldest_s)
    kept = {"table": stream, "kept": each.why, "setting": ", ".join(each.settings) or None}
    return kept | {"oldest": oldest, "due": due, "held": None}
