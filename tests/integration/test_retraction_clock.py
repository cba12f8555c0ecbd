"""Retractions go by the clock of Postgres: a worker with a wrong clock sends none early or late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.support.shop import Shop, opened, parts_of
from worker.adapters.system_clock import SystemClock

FAST = timedelta(minutes=10)


@pytest.fixture
async def shop(database_url: str, redis_url: str) -> AsyncIterator[Shop]:
    """A shop whose streams are empty."""
    async with opened(database_url, redis_url) as made:
        yield made


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_worker_whose_clock_is_fast_delays_no_retraction(shop: Shop, recorded: bool) -> None:
    """The author deletes the message; also when a killed relay had sent the reply without recording it."""
    made = await shop.escalated()
    await (shop.relay() if recorded else shop.send_and_die())
    await shop.delete(made, fast=FAST)
    await shop.relay()

    assert shop.retracted(made) == [made.decision_id]


async def test_a_worker_whose_clock_is_fast_ends_no_undo_window_early(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reviewer removed the reply and may still undo that; afterwards it is retracted."""
    made = await shop.escalated()
    await shop.relay()
    query = """
        INSERT INTO retractions (
            decision_id, review_id, user_id, event_id, conversation_id, message_id, scope, created_at,
            not_before)
        SELECT decision_id, %s, user_id, event_id, conversation_id, message_id, scope, now(),
            now() + interval '60 s'
        FROM outbox WHERE decision_id = %s
    """
    shop.rows(query, uuid4(), made.decision_id)
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + FAST)
    retractor = parts_of(shop.workers, shop.redis).retractor
    early = await retractor.deliver_batch()
    shop.rows("UPDATE retractions SET not_before = now() WHERE decision_id = %s", made.decision_id)

    assert early == 0
    assert await retractor.deliver_batch() == 1
    assert shop.retracted(made) == [made.decision_id]
