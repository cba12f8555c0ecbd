"""``hushgate limits``: what is used and left of the limits of upstreams and of accounts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from redis.asyncio import Redis

from cli.accounts.store_account import warn_without_settings
from cli.options import database_url, own_connections, stream_settings, with_redis
from cli.output import emit
from db.costs.limit_figures import AccountFigures
from tasks.limits.account_figures import load_account_figures
from tasks.limits.quotas import QuotaReport, summed
from tasks.limits.upstream_reports import load_reports

UPSTREAM_COLUMNS: Final = (
    "upstreams", "resource", "per_minute", "used", "left", "lasts_s", "waiting", "paused_s",
)  # fmt: skip
ACCOUNT_COLUMNS: Final = ("account", "limit", "most", "used", "left", "lasts_s", "unpriced_tokens")


def limits(
    account: Annotated[
        str | None, typer.Option("--account", "-a", help="The limits and budgets of this account instead.")
    ] = None,
) -> None:
    """Print the limits of model servers as the running workers know them, or those of an account.

    `used` is of the last minute, over all workers. `left` is the lower of the configured limit less that, and
    of what the server said. `lasts_s` is when nothing is left at that rate. Workers report every two seconds.

    For example:

        hushgate limits

        hushgate limits --account corner-shop
    """
    settings = stream_settings()
    if account is None:
        reports = with_redis(settings, lambda redis: load_reports(redis, settings.stream))
        found = summed(each for report in reports for each in report.quotas)
        emit(map(_upstream_row, found), UPSTREAM_COLUMNS)
        return

    async def figures(redis: Redis) -> AccountFigures:
        async with own_connections(database_url()) as source:
            await warn_without_settings(source, account)
            return await load_account_figures(source, redis, settings.stream, account)

    limits_ = with_redis(settings, figures).limits
    emit([{"account": account, **asdict(each)} for each in limits_], ACCOUNT_COLUMNS)


def _upstream_row(report: QuotaReport) -> dict[str, Any]:
    row = asdict(report)  # its account is one of a vendor; --account prints those of Hushgate
    return {"server": row.pop("account")} | row | {"lasts_s": report.lasts_s}
