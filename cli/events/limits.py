"""``hushgate limits``: what is used and left of the limits of upstreams and of accounts."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from redis.asyncio import Redis

from cli.options import database_url, own_connections, stream_settings
from cli.output import emit
from tasks.limits.account_figures import load_account_figures
from tasks.limits.board import load_reports
from tasks.limits.quotas import summed
from tasks.shards.clients import connect
from worker.settings import StreamSettings

REACH_S: Final = 10.0
UPSTREAM_COLUMNS: Final = (
    "upstreams", "resource", "per_minute", "used", "left", "lasts_s", "waiting", "paused_s",
)  # fmt: skip
ACCOUNT_COLUMNS: Final = ("account", "limit", "most", "used", "left", "lasts_s")


def limits(
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="The limits and budgets of this account instead.")
    ] = None,
) -> None:
    """Print the limits of model servers as the running workers know them, or those of an account.

    `used` is of the last minute, over all workers. `left` is the lower of the configured limit less that, and
    of what the server said. `lasts_s` is when nothing is left at that rate. Workers report every two seconds.

    Examples:
        hushgate limits

        hushgate limits --account corner-shop
    """
    settings = stream_settings()
    if account is None:
        emit(asyncio.run(_upstreams(settings)), UPSTREAM_COLUMNS)
    else:
        emit(asyncio.run(_account(settings, account)), ACCOUNT_COLUMNS)


async def _upstreams(settings: StreamSettings) -> list[dict[str, Any]]:
    async with _redis(settings) as redis:
        reports = await load_reports(redis, settings.stream)
    found = summed(each for report in reports for each in report.quotas)
    return [asdict(each) | {"lasts_s": each.lasts_s} for each in found]


async def _account(settings: StreamSettings, user_id: str) -> list[dict[str, Any]]:
    async with own_connections(database_url()) as source, _redis(settings) as redis:
        found = await load_account_figures(source, redis, settings.stream, user_id)
    return [{"account": user_id, **asdict(each)} for each in found.limits]


def _redis(settings: StreamSettings) -> Redis:
    return connect(settings.redis_url.get_secret_value(), timeout_s=REACH_S)
