"""The latest time of a reply is compared with the clock of Postgres, not with that of its sender."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.shop import Shop, opened, parts_of
from worker.adapters.system_clock import SystemClock

WRONG = timedelta(minutes=10)


@pytest.fixture
async def shop(database_url: str, redis_url: str) -> AsyncIterator[Shop]:
    """A shop whose streams are empty."""
    async with opened(database_url, redis_url) as made:
        yield made


@pytest.mark.parametrize(("by", "left_s", "cancelled"), [(WRONG, 60, None), (-WRONG, -1, "too_late")])
async def test_a_worker_with_a_wrong_clock_sends_each_reply_until_its_latest_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, by: timedelta, left_s: int, cancelled: str | None
) -> None:
    """A fast one holds back no reply of another worker, a slow one sends none too late."""
    made = await shop.escalated()
    change = "UPDATE outbox SET send_before = now() + %s * interval '1 s' WHERE decision_id = %s"
    shop.rows(change, left_s, made.decision_id)
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + by)
    sent = await parts_of(shop.workers, shop.redis).relay.send_all()
    query = "SELECT delivered_at IS NULL AS kept, cancel_reason FROM outbox WHERE decision_id = %s"

    assert sent == (0 if cancelled else 1)
    assert shop.rows(query, made.decision_id) == [{"kept": bool(cancelled), "cancel_reason": cancelled}]


async def test_workers_whose_clocks_are_fast_send_what_they_decide_after_people_were_idle(shop: Shop) -> None:
    """By their clocks people have left the conversation; by that of Postgres they have it for a while."""
    made = await shop.escalated()
    people = "UPDATE conversations SET people_until = now() + interval '5 min' WHERE conversation_id = %s"
    shop.rows(people, made.event.conversation_id)
    reply = "UPDATE outbox SET origin = 'ai', created_at = now() + interval '10 min' WHERE decision_id = %s"
    shop.rows(reply, made.decision_id)

    assert await parts_of(shop.workers, shop.redis).relay.send_all() == 1
