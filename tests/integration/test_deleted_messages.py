"""Clocks: replies, retractions, webhooks and deletions go by the clock of Postgres, never by a worker's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from db.answers.held import load_held
from db.answers.sending import MessageGone
from db.answers.waiting import list_waiting
from db.history.conversation_owners import take_conversation
from db.pool import checkout
from tests.support.decided import takeover
from tests.support.shop import RETRACTIONS, Shop, opened, parts_of
from tests.support.webhooks import add_endpoint
from worker.adapters.system_clock import SystemClock
from worker.webhooks.types import WebhookType

CLOCK = SystemClock()
HOUR = timedelta(hours=1)


@pytest.fixture
async def shop(database_url: str, redis_url: str) -> AsyncIterator[Shop]:
    """A shop whose streams are empty."""
    async with opened(database_url, redis_url) as made:
        yield made


@pytest.mark.parametrize("recorded", [True, False])
async def test_every_sent_reply_to_a_deleted_message_is_retracted(shop: Shop, recorded: bool) -> None:
    """The text at the handoff and the person's answer, also when a killed relay did not record the answer."""
    made = await shop.escalated()
    await shop.relay()
    answer_id = await shop.answer(made)
    await (shop.relay() if recorded else shop.send_and_die())
    await shop.delete(made)
    other = await shop.escalated()
    for _ in range(2):
        await shop.relay()
    (later,) = shop.rows("SELECT delivered_at FROM outbox WHERE decision_id = %s", other.decision_id)

    assert sorted(shop.retracted(made)) == sorted([made.decision_id, answer_id])
    assert await shop.redis.xlen(RETRACTIONS) == 2
    assert later["delivered_at"] is not None


async def test_webhooks_hear_of_a_reply_that_was_cancelled_after_a_killed_relay_had_sent_it(
    shop: Shop,
) -> None:
    """The text at a handoff was on the stream when the AI got the conversation back."""
    await add_endpoint(shop.people, "corner-shop", "http://127.0.0.1:9/", WebhookType.REPLY_CREATED)
    made = await shop.escalated()
    await shop.send_and_die()
    shop.rows(
        "UPDATE conversations SET changes = changes + 1 WHERE conversation_id = %s", made.event.event_id
    )
    await shop.relay()

    query = "SELECT body ->> 'text' AS text FROM outgoing_events WHERE type = 'reply.created' AND key = %s"
    assert shop.rows(query, made.event.event_id) == [{"text": "A colleague will answer here."}]


async def test_a_deletion_without_retractions_keeps_that_of_a_reviewer(shop: Shop) -> None:
    """A reviewer removed the reply after a killed relay had sent it; then its author deleted the message."""
    made, review_id, later = await shop.escalated(), uuid4(), CLOCK.now() + HOUR
    await shop.send_and_die()
    query = """
        UPDATE outbox SET cancelled_at = now(), retraction_id = %s, retract_from = %s WHERE decision_id = %s
    """
    shop.rows(query, review_id, later, made.decision_id)
    await shop.delete(made, retract=False)
    await shop.relay()

    query = "SELECT review_id, not_before FROM retractions WHERE decision_id = %s"
    assert shop.rows(query, made.decision_id) == [{"review_id": review_id, "not_before": later}]


async def test_a_reply_that_a_takeover_found_unrecorded_is_retracted(shop: Shop) -> None:
    """A takeover asked to cancel it first; it had been sent, so the deletion's wish counts."""
    made = await shop.escalated()
    await shop.send_and_die()
    now = CLOCK.now()
    await take_conversation(shop.workers, takeover(made.event), now)
    (before,) = shop.rows("SELECT cancel_reason FROM outbox WHERE decision_id = %s", made.decision_id)
    await shop.delete(made)
    await shop.relay()

    assert before["cancel_reason"] == "taken_over"
    assert shop.retracted(made) == [made.decision_id]


async def test_a_deletion_closes_the_escalation_of_its_message_only(shop: Shop) -> None:
    """Its held drafts expire; other messages of the account keep both."""
    made, other = await shop.escalated(), await shop.escalated()
    await shop.delete(made)
    query = "SELECT cause, closed_by FROM escalations WHERE decision_id = %s"
    closed, still_open = (shop.rows(query, each.decision_id) for each in (made, other))
    now = CLOCK.now()
    async with checkout(shop.people) as people:
        held = [(await load_held(people, each.decision_id, now)).count for each in (made, other)]
        listed = {each.decision_id for each in await list_waiting(people, None, now=now, limit=500)}

    assert closed == [{"cause": "message_deleted", "closed_by": ""}]
    assert still_open == [{"cause": None, "closed_by": None}]
    assert held == [0, 1]
    assert listed & {made.decision_id, other.decision_id} == {other.decision_id}


async def test_the_opening_of_a_deleted_messages_escalation_does_not_reach_its_stream(shop: Shop) -> None:
    """Redis was away before; the closing follows."""
    made = await shop.escalated()
    await shop.delete(made)
    query = """
        SELECT type, withdrawn, streamed_at IS NULL AS waits FROM outgoing_events
        WHERE key = %s AND type LIKE 'escalation%%' ORDER BY id
    """

    assert shop.rows(query, str(made.decision_id)) == [
        {"type": "escalation.opened", "withdrawn": "message_deleted", "waits": False},
        {"type": "escalation.closed", "withdrawn": None, "waits": True},
    ]


async def test_a_deleted_message_can_be_dismissed_and_not_answered(shop: Shop) -> None:
    """A dismissal sends nothing."""
    made = await shop.escalated()
    await shop.delete(made)
    with pytest.raises(MessageGone):
        await shop.answer(made)
    answer_id = await shop.answer(made, text=None)

    assert shop.rows("SELECT outcome FROM answers WHERE id = %s", answer_id) == [{"outcome": "dismissed"}]


WRONG = timedelta(minutes=10)


@pytest.mark.parametrize(("by", "left_s", "cancelled"), [(WRONG, 60, None), (-WRONG, -1, "too_late")])
async def test_a_worker_with_a_wrong_clock_sends_each_reply_until_its_latest_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, by: timedelta, left_s: int, cancelled: str | None
) -> None:
    """A fast one holds back no reply of another worker, a slow one sends none too late."""
    await shop.relay()  # what other tests left
    made = await shop.escalated()
    change = "UPDATE outbox SET send_before = now() + %s * interval '1 s' WHERE decision_id = %s"
    shop.rows(change, left_s, made.decision_id)
    monkeypatch.setattr("tasks.wiring.machine_now", lambda: datetime.now(UTC) + by)
    await parts_of(shop.workers, shop.redis).relay.send_all()
    query = "SELECT delivered_at IS NULL AS kept, cancel_reason FROM outbox WHERE decision_id = %s"

    assert shop.rows(query, made.decision_id) == [{"kept": bool(cancelled), "cancel_reason": cancelled}]


async def test_workers_whose_clocks_are_fast_send_what_they_decide_after_people_were_idle(shop: Shop) -> None:
    """By their clocks people have left the conversation; by that of Postgres they have it for a while."""
    await shop.relay()  # what other tests left
    made = await shop.escalated()
    people = "UPDATE conversations SET people_until = now() + interval '5 min' WHERE conversation_id = %s"
    shop.rows(people, made.event.conversation_id)
    reply = "UPDATE outbox SET origin = 'ai', created_at = now() + interval '10 min' WHERE decision_id = %s"
    shop.rows(reply, made.decision_id)

    assert await parts_of(shop.workers, shop.redis).relay.deliver_batch() == 1


FAST = timedelta(minutes=10)


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
    monkeypatch.setattr("tasks.wiring.machine_now", lambda: datetime.now(UTC) + FAST)
    retractor = parts_of(shop.workers, shop.redis).retractor
    early = await retractor.deliver_batch()
    past = "UPDATE retractions SET not_before = now() - interval '1 s' WHERE decision_id = %s"
    shop.rows(past, made.decision_id)  # the clock of Postgres is estimated

    assert early == 0
    assert await retractor.deliver_batch() == 1
    assert shop.retracted(made) == [made.decision_id]
