"""What is used and left of an account's limits and budgets, for its page, the API and ``hushgate limits``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from db.account_settings.accounts import current_account
from db.costs.budgets import load_spent
from db.costs.limit_figures import AccountFigures, FiguresUnknown, LimitFigure, LoadAccountFigures
from db.pool import Pool
from tasks.limits.account_limits import account_rate
from tasks.limits.fleet_limits import limit_prefix
from tasks.limits.rates import FleetRates
from tasks.limits.slots import slots_key
from tasks.shards.clients import connect
from worker.model import Account
from worker.settings import StreamSettings
from worker.settings.calls import Resource

ANSWER_S: Final = 2.0
"""Patience of a page with Redis."""


def figures_of(settings: StreamSettings) -> LoadAccountFigures:
    """Reads the figures of an account, on a connection of its own."""

    async def load(source: Pool, user_id: str) -> AccountFigures:
        try:
            async with connect(settings.redis_url.get_secret_value(), timeout_s=ANSWER_S) as redis:
                await redis.ping()  # rates count for themselves without Redis
                return await load_account_figures(source, redis, settings.stream, user_id)
        except (RedisError, OSError) as error:
            raise FiguresUnknown(type(error).__name__) from error

    return load


async def load_account_figures(source: Pool, redis: Redis, stream: str, user_id: str) -> AccountFigures:
    """The figures now.

    Raises:
        RedisError: Redis did not answer.
        StorageUnavailable: Postgres did not answer.
    """
    account = await current_account(source, user_id)
    rates = await _rates(account, redis, stream)
    budgets = await _budgets(account, source)
    slots: tuple[LimitFigure, ...] = ()
    if account.concurrent_events is not None:
        now = int(await redis.zcard(slots_key(limit_prefix(stream), user_id)))
        slots = (_figure("concurrent_events", account.concurrent_events, now),)
    return AccountFigures(account=account, limits=(*rates, *slots, *budgets))


async def _rates(account: Account, redis: Redis, stream: str) -> tuple[LimitFigure, ...]:
    shared, found = FleetRates(redis, prefix=limit_prefix(stream)), []
    rates = (
        ("requests_per_min", Resource.REQUESTS, account.requests_per_min),
        ("tokens_per_min", Resource.TOKENS, account.tokens_per_min),
    )
    for name, resource, most in rates:
        if most is not None:
            name_of_rate = account_rate(account.user_id, resource)
            used = (await shared.take(name_of_rate, most, wanted=0, least=0)).used
            left = max(0, most - used)
            lasts_s = round(left / used * 60, 1) if used else None
            found.append(LimitFigure(limit=name, most=most, used=used, left=left, lasts_s=lasts_s))
    return tuple(found)


async def _budgets(account: Account, source: Pool) -> tuple[LimitFigure, ...]:
    if account.budget_day_usd is None and account.budget_month_usd is None:
        return ()
    spent = await load_spent(source, account.user_id, datetime.now(UTC).date())
    budgets = (
        ("budget_day_usd", account.budget_day_usd, spent.day_usd, spent.day_unpriced),
        ("budget_month_usd", account.budget_month_usd, spent.month_usd, spent.month_unpriced),
    )
    return tuple(_figure(name, most, used, more) for name, most, used, more in budgets if most is not None)


def _figure(name: str, most: float, used: float, unpriced: int = 0) -> LimitFigure:
    left = max(0.0, most - used)
    return LimitFigure(limit=name, most=most, used=used, left=left, unpriced_tokens=unpriced)
