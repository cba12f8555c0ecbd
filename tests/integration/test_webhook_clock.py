"""Webhooks go by the clock of Postgres: a worker with a wrong clock delays none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from db.health.database_clock import KEPT_S, DatabaseClock
from db.pool import Pool, create_pool, fetch_rows
from tests.support.shop import parts_of
from tests.support.webhooks import Receiver, add_endpoint, add_events, new_account, receiving, send_due

TIMES = """
    SELECT w.failed_at - now(), d.next_attempt_at - now(), d.created_at - now()
    FROM webhook_endpoints w JOIN webhook_deliveries d ON d.endpoint_id = w.id WHERE w.id = %s
"""


@pytest.fixture
async def people(database_url: str) -> AsyncIterator[Pool]:
    """A pool of the owner."""
    async with create_pool(database_url, size=1, application="test", role=None) as opened:
        yield opened


@pytest.mark.parametrize("offset_s", [-600, 600])
async def test_a_wrong_clock_delays_no_webhook(
    source: Pool, people: Pool, monkeypatch: pytest.MonkeyPatch, offset_s: int
) -> None:
    """An attempt fails at a worker whose clock is ten minutes off; another one makes the next in time."""
    wrong = timedelta(seconds=offset_s)
    monkeypatch.setattr("tasks.wiring.machine_now", lambda: datetime.now(UTC) + wrong)
    account = new_account()
    async with receiving(Receiver(status=500)) as receiver:
        endpoint = await add_endpoint(
            people, account, receiver.url, at=datetime.now(UTC) - timedelta(hours=1)
        )
        await add_events(source, account, "c1", at=datetime.now(UTC))
        poller = parts_of(source).webhooks
        async with poller._sender:
            await send_due(poller)
    ((failed, due, made),) = await fetch_rows(source, TIMES, (endpoint,))

    assert timedelta(minutes=-1) < failed <= timedelta()
    assert timedelta() < due < timedelta(seconds=10)
    assert timedelta(minutes=-1) < made <= timedelta()


async def test_the_clock_is_read_again_after_a_while(source: Pool) -> None:
    """Between two readings the machine's own seconds carry it on."""
    seconds = 100.0
    clock = DatabaseClock(source, seconds=lambda: seconds)
    with pytest.raises(RuntimeError, match="was not read yet"):
        clock.now()
    await clock.refresh()
    first = clock.now()
    seconds += KEPT_S - 1
    await clock.refresh()
    carried_on = clock.now()
    seconds += 1
    await clock.refresh()

    assert abs(first - datetime.now(UTC)) < timedelta(minutes=1)
    assert carried_on - first == timedelta(seconds=KEPT_S - 1)
    assert first < clock.now() < carried_on


async def test_an_answer_that_was_held_back_does_not_set_the_clock(source: Pool) -> None:
    """Without an earlier reading it is taken until the next look; a good one replaces it."""
    seconds = iter(
        (
            *(100.0, 120.0, 100.0),  # asked, answered, now
            *(100.0, 100.0, 100.1, 100.0),  # is it fresh, asked, answered, now
            *(161.0, 161.0, 181.0, 161.0),
        )
    )
    clock = DatabaseClock(source, seconds=lambda: next(seconds))
    await clock.refresh()
    first = clock.now()
    await clock.refresh()
    good = clock.now()
    await clock.refresh()
    carried_on = clock.now()

    assert first - good < timedelta(seconds=-9)
    assert timedelta(seconds=KEPT_S) < carried_on - good < timedelta(seconds=KEPT_S + 2)


async def test_a_wait_for_a_connection_does_not_set_the_clock(source: Pool) -> None:
    """Under load a worker's lanes wait for the pool; Postgres tells its time after that."""
    clock = DatabaseClock(source, seconds=time.monotonic)
    async with source.connection(), source.connection():
        reading = asyncio.create_task(clock.refresh())
        await asyncio.sleep(1.5)
    await reading

    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=0.5)
