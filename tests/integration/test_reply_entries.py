"""Entries of the reply and retraction streams: schema, CloudEvents attributes, origin, disclosure."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from jsonschema import Draft202012Validator
from redis.asyncio import Redis
from structlog.testing import capture_logs

from db.commits.record import record_decision
from db.outbox import WaitingReply
from db.pool import Pool
from tasks.asyncapi import asyncapi_document
from tasks.sending.entry_types import REPLY, RETRACTION
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS, reply_mark
from tasks.sending.retractions import RETRACTION_ROWS
from tests.support.decided import CLOCK, new_event, reply_to
from tests.support.relays import stream_entries
from tests.support.samples import assessment
from worker.model import Decision, Source, TraceContext

SIGNING_KEY = bytes(32)
TRACE = TraceContext(trace_id="4b" * 16, span_id="7c" * 8, flags=1, state="v=1")
NOTICE = "An AI answers here."
STREAMS = {"reply": "test:replies", "retraction": "test:retractions"}
RETRACT = """
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT decision_id, %s, user_id, event_id, conversation_id, message_id, scope, created_at, created_at
    FROM outbox WHERE decision_id = %s
"""
SET_TIER = """
    UPDATE outbox SET metadata = metadata || jsonb_build_object('tier', %s::text)
    WHERE decision_id = ANY(%s)
"""


def relay(source: Pool, redis: Redis) -> Relay[WaitingReply]:
    """A relay onto the test's stream."""
    return Relay(REPLY_ROWS, source, redis, stream=STREAMS["reply"], now=CLOCK.now, signing_key=SIGNING_KEY)


async def entries(redis: Redis, name: str = "reply") -> list[dict[str, Any]]:
    """The entries of a stream."""
    return await stream_entries(redis, STREAMS[name])


def reply(conversation: str = "", **changes: Any) -> Decision:
    """An approved reply that a model wrote, with a disclosure."""
    asked = new_event(user_id="fish & chips")
    made = reply_to(
        replace(asked, conversation_id=conversation or asked.conversation_id),
        draft="From nine to six [1].",
        sources=(Source(number=1, passage_id="7#1", title="Opening hours"),),
        disclosure=NOTICE,
        models={"completion": "gpt-test", "judge": "other"},
        assessment=assessment(),
    )
    return replace(made, **changes)


async def store(source: Pool, *made: Decision) -> None:
    """Commit decisions in order."""
    for each in made:
        await record_decision(source, each)


async def test_entries_match_their_schemas_and_have_cloudevents_attributes(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """A delivered reply and its retraction are valid, with the headers of the AsyncAPI document."""
    made, review = reply(trace=TRACE), UUID(int=7)
    await store(source, made)
    await relay(source, redis).deliver_batch()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(RETRACT, (review, made.decision_id))
    retractor = Relay(
        RETRACTION_ROWS, source, redis, stream=STREAMS["retraction"], now=CLOCK.now, signing_key=SIGNING_KEY
    )
    await retractor.deliver_batch()
    messages = asyncapi_document()["components"]["messages"]
    marks = {"reply": reply_mark(made.event.user_id, made.event.event_id), "retraction": review}

    for each in (REPLY, RETRACTION):
        (entry,) = await entries(redis, each.name)
        data = entry.pop("data")
        Draft202012Validator(each.schema(), format_checker=Draft202012Validator.FORMAT_CHECKER).validate(data)
        Draft202012Validator(messages[each.name]["headers"]).validate(entry)
        assert set(entry) == set(messages[each.name]["headers"]["properties"])
        assert set(data) == set(each.schema()["properties"])
        assert (entry["ce_id"], entry["ce_source"]) == (str(marks[each.name]), "/hushgate/fish%20%26%20chips")
        assert entry["ce_time"] == data.get("created_at", data.get("retracted_at"))


async def test_events_of_two_accounts_share_no_key(source: Pool, redis: Redis) -> None:
    """Consumers send a reply once by its key: one account could otherwise suppress the replies of another."""
    named = (("shop", "eu/1"), ("shop/eu", "1"), ("shop%2Feu", "1"))
    await store(source, *(reply_to(new_event(user_id=user, event_id=event)) for user, event in named))
    await relay(source, redis).deliver_batch()

    expected = ["shop/eu/1", "shop%2Feu/1", "shop%252Feu/1"]
    assert expected == [entry["key"] for entry in await entries(redis)]


async def test_a_reply_says_which_model_wrote_it_and_how_far_it_is_trusted(
    source: Pool, redis: Redis
) -> None:
    """Model, policy, confidence and tier come from the decision."""
    await store(source, reply())
    await relay(source, redis).deliver_batch()
    ((data, origin),) = [(each["data"], each["data"]["model"]) for each in await entries(redis)]

    assert (data["ai_generated"], origin, data["policy"]) == (True, "gpt-test", "calibrated@1")
    assert (data["confidence"], data["tier"], data["assessment"]) == (0.7, "high", None)


async def test_a_fallback_text_is_not_written_by_a_model(source: Pool, redis: Redis) -> None:
    """A fallback names no model; an assessment that measured nothing gives no confidence."""
    look = assessment(measured=False)
    await store(source, reply(reply="A person will answer.", draft=None, sources=(), assessment=look))
    await relay(source, redis).deliver_batch()
    (data,) = [each["data"] for each in await entries(redis)]

    assert (data["ai_generated"], data["model"], data["confidence"], data["tier"]) == (False,) + (None,) * 3
    assert data["text"] == f"{NOTICE}\n\nA person will answer."


async def test_replies_of_the_previous_release_are_delivered(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """A row without metadata is valid by the schema too."""
    made = reply(disclosure=None)
    await store(source, made)
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("UPDATE outbox SET metadata = '{}' WHERE decision_id = %s", (made.decision_id,))
    await relay(source, redis).deliver_batch()
    (data,) = [each["data"] for each in await entries(redis)]
    Draft202012Validator(REPLY.schema()).validate(data)

    assert (data["ai_generated"], data["model"], data["policy"]) == (True, None, None)


def disclosed(sent: list[dict[str, Any]]) -> list[bool]:
    """Which replies carried the disclosure, in their text and in their field."""
    assert all((each["data"]["disclosure"] == NOTICE) == (NOTICE in each["data"]["text"]) for each in sent)
    return [each["data"]["disclosure"] is not None for each in sent]


async def test_a_row_that_no_entry_can_be_made_of_stops_no_other(
    source: Pool, redis: Redis, owner: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows of a newer release than one batch has; they wait for a relay that can read them."""
    monkeypatch.setattr("tasks.sending.relay.BATCH", 2)
    unreadable, made = [reply() for _ in range(5)], reply()
    await store(source, *unreadable, made)
    ids = [each.decision_id for each in unreadable]
    marks = [reply_mark(each.event.user_id, each.event.event_id) for each in (made, *unreadable)]
    owner.execute(SET_TIER, ("superb", ids))
    with capture_logs() as logs:
        running = relay(source, redis)
        await running.send_all()
        await running.send_all()
    first = [entry["ce_id"] for entry in await entries(redis)]
    owner.execute(SET_TIER, ("high", ids))
    await relay(source, redis).send_all()

    assert first == marks[:1]
    assert sum(each["rows"] for each in logs if each["event"] == "row_not_sent") == len(unreadable)
    assert [entry["ce_id"] for entry in await entries(redis)] == marks


async def test_the_first_reply_of_a_conversation_has_the_disclosure(source: Pool, redis: Redis) -> None:
    """Once per conversation, in one batch and over several; other conversations have their own."""
    await store(source, reply("c1"), reply("c1"), reply("c2"))
    await relay(source, redis).deliver_batch()
    await store(source, reply("c1"), reply("c2"))
    await relay(source, redis).deliver_batch()

    assert disclosed(await entries(redis)) == [True, False, True, False, False]


async def test_a_cancelled_reply_does_not_use_up_the_disclosure(source: Pool, redis: Redis) -> None:
    """The next reply has the disclosure when the first one became too late before its delivery."""
    late = CLOCK.now() - timedelta(seconds=1)
    await store(source, reply("c3", send_before=late), reply("c3"))
    await relay(source, redis).deliver_batch()

    assert disclosed(await entries(redis)) == [True]


async def test_a_reply_before_the_setting_does_not_count_as_a_disclosure(source: Pool, redis: Redis) -> None:
    """A conversation that began without a disclosure gets it with the first reply after the change."""
    await store(source, reply("c4", disclosure=None))
    await relay(source, redis).deliver_batch()
    await store(source, reply("c4"))
    await relay(source, redis).deliver_batch()

    assert disclosed(await entries(redis)) == [False, True]


async def test_a_conversation_is_disclosed_once_under_races(source: Pool, redis: Redis) -> None:
    """Commits and several relays at the same time: exactly one disclosure in each conversation, the first."""
    names = [f"race-{number % 8}" for number in range(48)]
    random.Random(7).shuffle(names)
    relays = [relay(source, redis) for _ in range(3)]

    async def deliver(each: Relay[WaitingReply]) -> None:
        for _ in range(20):
            await each.deliver_batch()

    await asyncio.gather(*(store(source, reply(name)) for name in names), *(deliver(each) for each in relays))
    await relays[0].send_all()
    sent = await entries(redis)
    by_conversation: dict[str, list[bool]] = {}
    for each, has_notice in zip(sent, disclosed(sent), strict=True):
        by_conversation.setdefault(each["data"]["conversation_id"], []).append(has_notice)

    assert len(sent) == len(names)
    assert {name: found for name, found in by_conversation.items() if found != [True] + [False] * 5} == {}
