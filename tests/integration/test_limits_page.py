"""The limits of an account on its page and in the JSON API, as the fleet counts them in Redis."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import psycopg
import pytest
from redis.asyncio import Redis
from starlette.testclient import TestClient

from db.people.records import Role
from review.app import build_app
from tasks.limits.account_figures import figures_of
from tasks.limits.account_limits import account_rate
from tasks.limits.fleet_limits import limit_prefix
from tasks.limits.rates import FleetRates
from tests.support.reviewing import ADDRESS, Visitor, add_person, settings_at
from worker.settings import StreamSettings
from worker.settings.calls import Resource

PAGE, API = "/accounts/limited/limits", "/api/v1/accounts/limited/limits"


def seen(database_url: str, redis_url: str) -> tuple[str, dict[str, Any]]:
    """The page, and the answer of the API, on a server with this Redis."""
    settings = StreamSettings.model_validate({"REDIS_URL": redis_url})
    app = build_app(settings_at(database_url), limit_figures=figures_of(settings))
    with TestClient(app, base_url=ADDRESS) as client:
        visitor = Visitor(client)
        visitor.sign_in(add_person(database_url, Role.VIEWER, account="limited"))
        return visitor.get(PAGE).text, visitor.get(API).json()


async def _use(redis_url: str, requests: int) -> None:
    async with Redis.from_url(redis_url) as redis:
        rates = FleetRates(redis, prefix=limit_prefix("hushgate:events"))
        rate = account_rate("limited", Resource.REQUESTS)
        await rates.take(rate, 600, wanted=requests, least=requests)


def test_the_use_of_limits_is_shown_and_unknown_without_redis(database_url: str, redis_url: str) -> None:
    """Used, left and how long that lasts are those of the fleet; without Redis no number is shown."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO ai_rules (user_id, version, requests_per_min, concurrent_events, budget_month_usd)"
            " VALUES ('limited', 1, 600, 4, 9)"
        )
        connection.execute(
            "INSERT INTO account_costs (user_id, grain, start, model, purpose, slot, prompt_tokens,"
            " completion_tokens, nano_usd, unpriced_tokens) VALUES ('limited', 'month',"
            " date_trunc('month', now() AT TIME ZONE 'UTC')::date, 'm', 'judge', 0, 1200, 34, 0, 1234)"
        )
    asyncio.run(_use(redis_url, 50))
    page, api = seen(database_url, redis_url)
    page_without, api_without = seen(database_url, "redis://127.0.0.1:1/0")

    requests, slots, budget = api["limits"]
    assert (requests["limit"], requests["most"]) == ("requests_per_min", 600)
    assert 0 < requests["used"] <= 50  # fewer when another minute has begun
    assert requests["left"] == 600 - requests["used"]
    assert requests["lasts_s"] == pytest.approx(requests["left"] / requests["used"] * 60, abs=0.1)
    assert (slots["limit"], slots["used"], slots["left"]) == ("concurrent_events", 0, 4)
    assert (budget["used"], budget["unpriced_tokens"]) == (0, 1234)
    assert re.search(r"without 1.234 tokens that have no price", page)  # else 0 of 9 USD looks safe
    assert "in the last minute" in page
    assert api_without == {"account": "limited", "known": False, "limits": []}
    assert "is not known" in page_without
