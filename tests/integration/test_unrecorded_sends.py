"""Replies that a relay sent before it was killed, cancelled before another relay could record the send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from redis.asyncio import Redis

from db.commits.record import record_decision
from db.history.conversation_owners import take_conversation
from db.pool import Pool, create_pool
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tests.support.decided import CLOCK, new_event, reply_to, silence_on, takeover
from tests.support.relays import send_and_die, stream_entries
from tests.support.webhooks import add_endpoint
from worker import conversation_endings
from worker.model import Decision, EventType
from worker.reasons import Reason

REPLIES = "test:replies"


async def approved(source: Pool, **changes: Any) -> Decision:
    """A stored reply that waits for delivery."""
    made = reply_to(new_event(), **changes)
    await record_decision(source, made)
    return made


async def delete_message(source: Pool, answered: Decision) -> Decision:
    """Commit the deletion of a message whose account wants its reply retracted."""
    name = f"{answered.event.event_id}-deleted"
    gone = replace(answered.event, event_id=name, entry_id=name, type=EventType.MESSAGE_DELETED)
    deletion = silence_on(gone, Reason.MESSAGE_DELETED, retract_reply=True)
    await record_decision(source, deletion)
    return deletion


async def take(source: Pool, of: Decision) -> None:
    """A colleague takes the conversation of a decision."""
    taken = takeover(of.event, people_until=CLOCK.now() + conversation_endings.FOR_EVER)
    await take_conversation(source, taken, CLOCK.now())


def stored(database_url: str, made: Decision) -> dict[str, object]:
    """The reply of a decision, its lines in the history and its retractions."""
    with psycopg.connect(database_url, row_factory=dict_row) as owner:
        row = owner.execute(
            """
            SELECT o.delivered_at IS NOT NULL AS delivered, o.cancel_reason,
                ARRAY(SELECT role FROM messages m WHERE m.decision_id = o.decision_id ORDER BY id) AS history,
                (SELECT count(*) FROM retractions r WHERE r.decision_id = o.decision_id) AS retractions
            FROM outbox o WHERE decision_id = %s
            """,
            (made.decision_id,),
        ).fetchone()
    assert row is not None
    return row


async def drain(source: Pool, redis: Redis) -> int:
    """Deliver with a relay of another worker; how many entries the stream has then."""
    await Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now).send_all()
    return int(await redis.xlen(REPLIES))


@pytest.mark.parametrize("sent", [True, False])
async def test_a_takeover_cancels_only_what_was_not_sent(
    source: Pool, redis: Redis, database_url: str, sent: bool
) -> None:
    """A reply that is on the stream is recorded as delivered and stays in the history."""
    made = await approved(source)
    if sent:
        await send_and_die(source, redis, REPLIES, CLOCK.now())
    await take(source, made)
    entries = await drain(source, redis)

    expected: dict[str, object] = {"delivered": True, "cancel_reason": None, "history": ["user", "assistant"]}
    if not sent:
        expected = {"delivered": False, "cancel_reason": "taken_over", "history": ["user"]}
    assert stored(database_url, made) == expected | {"retractions": 0}
    assert entries == int(sent)


@pytest.mark.parametrize("sent", [True, False])
async def test_a_reply_that_was_sent_in_time_is_not_too_late(
    source: Pool, redis: Redis, database_url: str, sent: bool
) -> None:
    """The limit passes between the send and the relay that records it."""
    made = await approved(source, send_before=CLOCK.now())
    if sent:
        await send_and_die(source, redis, REPLIES, CLOCK.now() - timedelta(seconds=1))
    await drain(source, redis)

    row = stored(database_url, made)
    assert (row["delivered"], row["cancel_reason"]) == ((True, None) if sent else (False, "too_late"))


@pytest.mark.parametrize("sent", [True, False])
async def test_a_reply_that_was_sent_is_retracted_when_its_message_is_deleted(
    source: Pool, redis: Redis, database_url: str, sent: bool
) -> None:
    """The deletion finds the reply unrecorded; the relay that settles it asks for the retraction."""
    made = await approved(source)
    if sent:
        await send_and_die(source, redis, REPLIES, CLOCK.now())
    await delete_message(source, made)
    await drain(source, redis)

    row = stored(database_url, made)
    assert (row["delivered"], row["cancel_reason"]) == ((True, None) if sent else (False, "message_deleted"))
    assert row["retractions"] == int(sent)
    assert row["history"] == []


def lose_decision(database_url: str, made: Decision) -> None:
    """Postgres comes back as it was before this decision."""
    with psycopg.connect(database_url) as owner:
        owner.execute("SET LOCAL hushgate.erasing = on")
        owner.execute("DELETE FROM ai_decisions WHERE id = %s", (made.decision_id,))
        for table in ("event_keys", "outbox", "messages"):
            owner.execute(f"DELETE FROM {table} WHERE decision_id = %s".encode(), (made.decision_id,))


@pytest.mark.parametrize("taken", [True, False])
async def test_a_reply_of_a_decision_that_postgres_lost_is_not_sent_again(
    source: Pool, redis: Redis, database_url: str, taken: bool
) -> None:
    """The row names the decision whose reply was sent, also where people took the conversation since."""
    lost = await approved(source)
    await drain(source, redis)
    lose_decision(database_url, lost)
    again = reply_to(lost.event, reply="From ten to five.")
    await record_decision(source, again)
    if taken:
        await take(source, again)
    entries = await drain(source, redis)
    with psycopg.connect(database_url) as owner:
        query = "SELECT delivered_at IS NOT NULL, cancel_reason, sent_as FROM outbox WHERE decision_id = %s"
        row = owner.execute(query, (again.decision_id,)).fetchone()

    assert (entries, row) == (1, (True, None, lost.decision_id))


async def test_after_a_loss_of_postgres_the_reply_to_an_edit_is_sent(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """The edit is an event of its own."""
    lost = await approved(source)
    await drain(source, redis)
    lose_decision(database_url, lost)
    edit = replace(lost.event, event_id=f"{lost.event.event_id}-edit", type=EventType.MESSAGE_EDITED)
    for event in (lost.event, edit):
        await record_decision(source, reply_to(event))
    entries = [entry["data"]["event_id"] for entry in await stream_entries(redis, REPLIES)]
    await drain(source, redis)
    later = [entry["data"]["event_id"] for entry in await stream_entries(redis, REPLIES)]

    assert (entries, later) == ([lost.event.event_id], [lost.event.event_id, edit.event_id])


async def test_a_disclosure_that_a_relay_sent_before_it_died_is_not_sent_again(
    source: Pool, redis: Redis
) -> None:
    """Its reply is recorded as delivered by the relay that then sends the next one of the conversation."""
    notice = "An AI answers."
    first = await approved(source, disclosure=notice)
    await send_and_die(source, redis, REPLIES, CLOCK.now())
    await delete_message(source, first)
    asked = new_event(conversation_id=first.event.conversation_id)
    await record_decision(source, reply_to(asked, disclosure=notice))
    await drain(source, redis)
    *_, entry = await stream_entries(redis, REPLIES)

    assert (entry["data"]["event_id"], entry["data"]["disclosure"]) == (asked.event_id, None)


@pytest.mark.parametrize(
    ("cancel", "withdrawn"), [(take, None), (delete_message, "message_deleted")], ids=["taken", "deleted"]
)
async def test_webhooks_know_a_reply_that_was_recorded_after_its_cancelling(
    source: Pool,
    redis: Redis,
    database_url: str,
    cancel: Callable[[Pool, Decision], Awaitable[object]],
    withdrawn: str | None,
) -> None:
    """The stream has it, so webhooks decide on it as on any other; one to a deleted message is not sent."""
    async with create_pool(database_url, size=1, application="test", role="hushgate_reviewer") as people:
        await add_endpoint(people, "acme", "https://receiver.test/", "reply.created")
    made = await approved(source, disclosure="An AI writes.")
    await send_and_die(source, redis, REPLIES, CLOCK.now())
    await cancel(source, made)
    await drain(source, redis)
    with psycopg.connect(database_url, row_factory=dict_row) as owner:
        query = "SELECT body ->> 'text' AS text, withdrawn FROM outgoing_events WHERE key = %s AND type = %s"
        rows = owner.execute(query, (made.event.event_id, "reply.created")).fetchall()

    assert rows == [{"text": "An AI writes.\n\nFrom nine to six.", "withdrawn": withdrawn}]
