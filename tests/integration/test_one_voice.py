"""A takeover at every point between an event's arrival and its reply's delivery, on real servers."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, cast

import psycopg
import pytest
from redis.asyncio import Redis

from db.access_log import LogEntry, LoggedAction
from db.answers.sending import store_answer
from db.audit.decision_list import read_connection
from db.audit.event_outcomes import load_outcomes
from db.commits.checks import look_up_check
from db.commits.record import record_decision
from db.commits.stored_event import Recorded, look_up_event
from db.history.conversation_owners import (
    ConversationIds,
    OwnerCause,
    list_with_people,
    load_owner,
    release_conversation,
    take_conversation,
)
from db.pool import Pool, create_pool
from db.review_store import REVIEWER_ROLE
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tests.support.decided import CLOCK, answer_to, new_event, reply_to, takeover
from worker import conversation_endings
from worker.cancellation import cancel_all
from worker.model import Decision, Event

REPLIES = "test:replies"
INTERLEAVINGS: Final = 4_000
AT_ONCE: Final = 24
POINTS: Final = (
    *("before_turn", "at_turn", "before_commit", "with_commit", "after_commit"),
    *("with_delivery",) * 5,
)
"""When people take the conversation: half of the times while a relay delivers the reply.

A relay that does not look again under its locks sends 2 to 15 of 4,000 replies too late, nearly all of them
at that point.
"""


def replied(to: Event, changes: int) -> Decision:
    """A decision to reply that rests on this number of changes of the owner."""
    return reply_to(to, changes=changes, held_until=CLOCK.now() + timedelta(days=1))


def ids(of: Event) -> ConversationIds:
    """The event's conversation."""
    return ConversationIds(user_id=of.user_id, conversation_id=of.conversation_id)


async def decide(source: Pool, asked: Event, at: Callable[[str], Awaitable[None]]) -> str:
    """What ``tasks.entries.handler`` does with an event; the reason code of its decision."""
    await at("before_turn")
    stored = await look_up_event(source, asked, CLOCK.now())
    await at("at_turn")
    decision = replied(asked, stored.conversation.changes)
    if owned := conversation_endings.owned_ending(asked, stored.conversation):
        return owned.reason_code.value
    await at("before_commit")
    await at("with_commit")
    recorded = await record_decision(source, decision)
    if recorded is Recorded.OVERTAKEN:
        decision = conversation_endings.without_reply(decision)
        assert await record_decision(source, decision) is Recorded.NEW
    await at("after_commit")
    await at("with_delivery")
    return str(decision.reason_code)


@pytest.mark.timeout(600)
async def test_no_reply_is_delivered_after_a_takeover(source: Pool, redis: Redis, database_url: str) -> None:
    """Whenever people take a conversation, nothing of the AI enters it from then on."""
    relay = Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now)
    newest_at_takeover: dict[str, tuple[int, ...]] = {}
    endings: Counter[tuple[str, str]] = Counter()
    free, pauses = asyncio.Semaphore(AT_ONCE), random.Random(1)

    async def take(asked: Event) -> None:
        await take_conversation(source, takeover(asked), CLOCK.now())
        newest = cast("list[tuple[bytes, object]]", await redis.xrevrange(REPLIES, count=1))
        newest_at_takeover[asked.event_id] = position(newest[0][0]) if newest else (0, 0)

    async def interleaving(number: int) -> None:
        asked, chosen, races = new_event(), POINTS[number % len(POINTS)], []

        async def at(point: str) -> None:
            if point != chosen:
                return
            if point == "with_delivery":
                relay.nudge()
                await asyncio.sleep(pauses.uniform(0, 0.02))
            taking = asyncio.create_task(take(asked))
            if point.startswith("with"):
                races.append(taking)
            else:
                await taking

        async with free:
            ending = await decide(source, asked, at)
            relay.nudge()
            await asyncio.gather(*races)
        endings[chosen, ending] += 1

    delivering = asyncio.create_task(relay.run())
    await asyncio.gather(*(interleaving(number) for number in range(INTERLEAVINGS)))
    await cancel_all((delivering,))
    await relay.send_all()
    delivered = await positions(redis)
    late = {name for name, place in delivered.items() if place > newest_at_takeover[name]}

    assert late == set()
    assert {ending for point, ending in endings if point == "before_turn"} == {"OWNED_BY_PEOPLE"}
    assert {point for point, ending in endings if ending == "TAKEN_OVER"} >= {"at_turn", "before_commit"}
    assert {point for point, ending in endings if ending == "REPLIED"} >= {"after_commit", "with_delivery"}
    assert delivered
    with psycopg.connect(database_url) as connection:
        left = connection.execute(
            "SELECT count(*) FILTER (WHERE cancelled_at IS NULL AND delivered_at IS NULL),"
            " count(*) FILTER (WHERE cancel_reason = 'taken_over') FROM outbox"
        ).fetchone()
        answers = connection.execute("SELECT count(*) FROM messages WHERE role = 'assistant'").fetchone()
    replies = sum(number for (_, ending), number in endings.items() if ending == "REPLIED")
    assert left == (0, replies - len(delivered))
    assert answers == (len(delivered),)


async def test_a_reply_made_before_a_takeover_and_its_release_is_not_sent(source: Pool) -> None:
    """People answered meanwhile: the reply rests on a conversation that has moved on."""
    asked = new_event()
    stored = await look_up_event(source, asked, CLOCK.now())
    await take_conversation(source, takeover(asked), CLOCK.now())
    released = [
        await release_conversation(source, ids(asked), released_by="ann", now=CLOCK.now()) for _ in range(2)
    ]
    recorded = await record_decision(source, replied(asked, stored.conversation.changes))

    assert released == [True, False]
    assert recorded is Recorded.OVERTAKEN


async def test_a_release_counts_at_once_by_every_clock(source: Pool, redis: Redis) -> None:
    """The clock of a released conversation is ahead: the AI replies, and people can take it again."""
    asked, before = new_event(), CLOCK.now()
    ahead = before + timedelta(seconds=2)
    await take_conversation(source, takeover(asked), before)
    await release_conversation(source, ids(asked), released_by="ann", now=ahead)
    again = await release_conversation(source, ids(asked), released_by="ann", now=before)
    stored = await look_up_event(source, asked, before)
    checked = await look_up_check(source, asked)
    recorded = await record_decision(source, replied(asked, stored.conversation.changes))
    await Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now).send_all()
    with_people = await list_with_people(source, None, now=before, limit=9)  # the latest change first
    record = await load_owner(source, ids(asked))
    await take_conversation(source, takeover(asked), before)
    taken = await look_up_event(source, asked, before)

    assert (stored.conversation.owner, stored.conversation.changes, again) == ("ai", 2, False)
    assert (checked.conversation.owner, recorded) == ("ai", Recorded.NEW)
    assert asked.event_id in await positions(redis)
    assert record is not None
    assert (record.owner(before), record in with_people) == ("ai", False)
    assert (taken.conversation.owner, taken.conversation.changes) == ("people", 3)


async def test_an_answer_after_a_release_finds_no_people(source: Pool, database_url: str) -> None:
    """By whichever clock: the conversation has not moved on, and its idle time begins no more."""
    asked, before = new_event(), CLOCK.now()
    made = replied(asked, 0)
    await record_decision(source, made)
    await take_conversation(source, takeover(asked), before)
    ahead = before + timedelta(seconds=2)
    await release_conversation(source, ids(asked), released_by="ann", now=ahead)
    answer = answer_to(made, "At nine.", before, only_if_last=True)
    async with create_pool(database_url, size=1, application="test", role=REVIEWER_ROLE) as people:
        await store_answer(people, answer, before, logged=LogEntry(action=LoggedAction.ANSWER, person="kim"))
    record = await load_owner(source, ids(asked))
    async with read_connection(database_url) as connection:
        found = await load_outcomes(connection, asked.event_id, user_id=None, entry_ids=(), now=before)

    assert record is not None
    assert record.people_until == ahead
    assert [each.conversation.owner for each in found.outcomes if each.conversation] == ["ai"]


@pytest.mark.parametrize("shard", ["", "@1/3"])
async def test_an_agents_message_takes_a_conversation_once(source: Pool, shard: str) -> None:
    """Seen early and again at its turn: a release in between stays; on one stream or on one of several."""
    asked = new_event()
    early = takeover(asked, cause=OwnerCause.AGENT_MESSAGE, agent_entry=f"{asked.entry_id}{shard}")
    await take_conversation(source, early, CLOCK.now())
    await release_conversation(source, ids(asked), released_by="bo", now=CLOCK.now())
    await take_conversation(source, early, CLOCK.now())
    stored = await look_up_event(source, asked, CLOCK.now())

    assert (stored.conversation.owner, stored.conversation.changes) == ("ai", 2)


def position(entry_id: bytes) -> tuple[int, ...]:
    """An entry id as numbers, in stream order."""
    return tuple(int(part) for part in entry_id.split(b"-"))


async def positions(redis: Redis) -> dict[str, tuple[int, ...]]:
    """Where the reply to each event is on the reply stream."""
    entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrange(REPLIES))
    return {json.loads(fields[b"data"])["event_id"]: position(entry) for entry, fields in entries}
