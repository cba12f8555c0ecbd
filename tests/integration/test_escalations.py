"""Escalations from the decision's commit to their stream, and what closes them, on real servers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from jsonschema import Draft202012Validator
from redis.asyncio import Redis

from db.commits.record import record_decision
from db.commits.stored_event import Recorded
from db.escalations.closing import (
    Closing,
    ClosingCause,
    close_due_escalations,
    close_escalation,
)
from db.history.conversation_owners import (
    ConversationIds,
    release_conversation,
    take_conversation,
)
from db.outgoing.events import OutgoingEvent
from db.pool import Pool
from db.review_store import Store
from tasks.sending.entry_types import ESCALATION_CLOSED, ESCALATION_OPENED
from tasks.sending.escalations import escalation_rows
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tests.support.decided import CLOCK, HOUR, new_event, reply_to, silence_on, takeover
from tests.support.relays import stream_entries
from tests.support.samples import assessment, passage
from worker.model import Decision, DecisionKind, Escalation, EventType
from worker.reasons import Reason

STREAM, REPLIES = "test:escalations", "test:replies"
PAGES = "https://review.example.org"
NOTICE = "A colleague will answer here."


def relay(source: Pool, redis: Redis, pages: str | None = PAGES) -> Relay[OutgoingEvent]:
    """A relay onto the test's stream."""
    return Relay(escalation_rows(pages), source, redis, stream=STREAM, now=CLOCK.now)


async def entries(redis: Redis, name: str = STREAM) -> list[dict[str, Any]]:
    """The entries of a stream."""
    return await stream_entries(redis, name)


def escalated(conversation: str = "", *, notice: str | None = None, **changes: Any) -> Decision:
    """A decision that hands a message with an untrusted draft to people for an hour."""
    now, asked = CLOCK.now(), new_event("escalated", user_id="fish & chips")
    made = reply_to(
        replace(asked, conversation_id=conversation or asked.conversation_id),
        now,
        kind=DecisionKind.ESCALATE,
        reason_code="LOW_CONFIDENCE_ESCALATED",
        reason="the passages do not support it",
        confidence=0.3,
        reply=None,
        assessment=assessment(confidence=0.3),
        passages=(passage(7),),
        escalation=Escalation(queue="returns", draft="From nine to six.", handoff_text=notice),
        people_until=now + HOUR,
    )
    return replace(made, **changes)


def agent_message(of: Decision, at: datetime) -> Decision:
    """A person's message in the conversation, decided at its turn."""
    written = replace(
        new_event("agent", of.event.created_at, user_id=of.event.user_id, type=EventType.AGENT_MESSAGE),
        conversation_id=of.event.conversation_id,
        author_id="ann",
        text="I will help you.",
    )
    return silence_on(written, Reason.AGENT_MESSAGE, at, people_until=at + HOUR, remember=True)


def ids(of: Decision) -> ConversationIds:
    """The conversation of a decision."""
    return ConversationIds(user_id=of.event.user_id, conversation_id=of.event.conversation_id)


def closing(of: Decision, cause: ClosingCause = ClosingCause.ANSWERED) -> Closing:
    """What a person's answer on the page closes."""
    return Closing(
        user_id=of.event.user_id,
        conversation_id=of.event.conversation_id,
        cause=cause,
        closed_by="kim@example.org",
        now=CLOCK.now(),
    )


async def drained(source: Pool, redis: Redis, of: Decision) -> list[dict[str, Any]]:
    """All entries of a decision's conversation after a relay's look."""
    await relay(source, redis).send_all()
    of_conversation = of.event.conversation_id
    return [each for each in await entries(redis) if each["data"]["conversation_id"] == of_conversation]


def rows(database_url: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows, with the owner's rights."""
    with psycopg.connect(database_url) as connection:
        return connection.execute(query, values).fetchall()


async def test_an_escalation_is_opened_in_the_commit_and_sent_once(source: Pool, redis: Redis) -> None:
    """The entry is valid, names draft, passages and page, and a repeated commit or look adds none."""
    made = escalated(notice=NOTICE)
    assert await record_decision(source, made) is Recorded.NEW
    assert await record_decision(source, made) is Recorded.ALREADY
    await relay(source, redis).send_all()
    (entry,) = await drained(source, redis, made)
    data = entry["data"]
    Draft202012Validator(ESCALATION_OPENED.schema()).validate(data)
    shown = ("draft", "queue", "confidence", "text", "author_id", "reason_code", "handoff_text")

    assert entry["key"] == f"fish & chips/{made.event.event_id}/escalation.opened"
    assert entry["ce_type"] == "hushgate.escalation.opened.v1"
    assert [data[name] for name in shown] == [
        *("From nine to six.", "returns", 0.3, "When are you open?", "a1"),
        *("LOW_CONFIDENCE_ESCALATED", NOTICE),
    ]
    assert data["link"] == f"{PAGES}/decisions/{made.decision_id}"
    assert data["passages"] == [
        {"number": 1, "document_id": "7", "passage_id": "7#1", "title": "Opening hours"}
    ]


async def test_without_an_address_of_the_pages_an_entry_has_no_link(source: Pool, redis: Redis) -> None:
    """The relay adds the link, so stored events do not depend on the deployment."""
    made = escalated()
    await record_decision(source, made)
    await relay(source, redis, pages=None).send_all()
    (entry,) = await drained(source, redis, made)

    assert entry["data"]["link"] is None


@pytest.mark.parametrize("cause", ["released", "answered_in_channel", "answered_on_page", "idle", "replaced"])
async def test_an_escalation_is_closed_once_with_its_cause(
    cause: str, source: Pool, redis: Redis, database_url: str
) -> None:
    """A release, a person's message, an answer, the end of the idle time or a later escalation."""
    made = escalated()
    await record_decision(source, made)
    later = made.decided_at + 2 * HOUR
    match cause:
        case "released":
            soon = made.decided_at + timedelta(minutes=1)
            assert await release_conversation(source, ids(made), released_by="kim@example.org", now=soon)
            assert not await release_conversation(source, ids(made), released_by="else", now=soon)
            expected = ("released", "kim@example.org")
        case "answered_in_channel":
            await record_decision(source, agent_message(made, later))
            await record_decision(source, agent_message(made, later + HOUR))
            expected = ("answered", "ann")
        case "answered_on_page":
            async with Store(database_url, size=1) as store, store.writing() as connection:
                assert await close_escalation(connection, closing(made)) == 1
                assert await close_escalation(connection, closing(made)) == 0
            expected = ("answered", "kim@example.org")
        case "idle":
            await close_due_escalations(source, made.decided_at + HOUR - timedelta(seconds=1))
            assert len(await drained(source, redis, made)) == 1
            await asyncio.gather(*(close_due_escalations(source, later) for _ in range(4)))
            expected = ("idle", "")
        case _:
            await record_decision(source, escalated(made.event.conversation_id))
            expected = ("replaced", "")
    found = [each for each in await drained(source, redis, made) if "cause" in each["data"]]

    assert [(each["data"]["cause"], each["data"]["closed_by"]) for each in found] == [expected]
    Draft202012Validator(ESCALATION_CLOSED.schema()).validate(found[0]["data"])
    assert found[0]["data"]["decision_id"] == str(made.decision_id)


async def test_an_idle_end_is_dated_to_the_end_of_the_idle_time(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """The sweep comes later than the moment that it reports."""
    made = escalated()
    await record_decision(source, made)
    await close_due_escalations(source, made.decided_at + 3 * HOUR)
    stored = "SELECT closed_at FROM escalations WHERE decision_id = %s"

    assert rows(database_url, stored, made.decision_id) == [(made.people_until,)]


async def test_a_takeover_leaves_an_escalation_open(source: Pool, database_url: str) -> None:
    """A person who takes the conversation has not answered yet."""
    made = escalated()
    await record_decision(source, made)
    await take_conversation(source, takeover(made.event), CLOCK.now())
    stored = "SELECT cause FROM escalations WHERE decision_id = %s"

    assert rows(database_url, stored, made.decision_id) == [(None,)]


async def sent_texts(source: Pool, redis: Redis, of: Decision) -> list[dict[str, Any]]:
    """The replies of a conversation after a relay's look."""
    await Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now).send_all()
    found = [each["data"] for each in await entries(redis, REPLIES)]
    return [each for each in found if each["conversation_id"] == of.event.conversation_id]


async def test_the_text_at_a_handoff_leaves_once_and_enters_the_history(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """It announces the takeover of its own commit, which does not cancel it; no model wrote it."""
    made = escalated(notice=NOTICE)
    await record_decision(source, made)
    await record_decision(source, made)
    await sent_texts(source, redis, made)
    (sent,) = await sent_texts(source, redis, made)
    history = "SELECT role, text FROM messages WHERE conversation_id = %s ORDER BY created_at, id"

    assert (sent["text"], sent["handoff"], sent["ai_generated"]) == (NOTICE, True, False)
    assert rows(database_url, history, made.event.conversation_id) == [
        ("user", "When are you open?"),
        ("assistant", NOTICE),
    ]


@pytest.mark.parametrize("change", ["taken", "released", "late", "owned_before"])
async def test_a_text_at_a_handoff_that_is_not_true_any_more_is_not_sent(
    change: str, source: Pool, redis: Redis, database_url: str
) -> None:
    """A person has it already, the AI has it again, or it is too late; the history follows."""
    made = escalated(notice=NOTICE)
    if change == "owned_before":
        await take_conversation(source, takeover(made.event), CLOCK.now() - timedelta(minutes=1))
    if change == "late":
        made = replace(made, send_before=made.decided_at - timedelta(seconds=1))
    await record_decision(source, made)
    match change:
        case "taken":
            await take_conversation(source, takeover(made.event), CLOCK.now())
        case "released":
            await release_conversation(source, ids(made), released_by="ann", now=CLOCK.now())
    history = "SELECT role FROM messages WHERE conversation_id = %s"

    assert await sent_texts(source, redis, made) == []
    assert rows(database_url, history, made.event.conversation_id) == [("user",)]
    assert len(await drained(source, redis, made)) == 1 + (change == "released")


async def test_a_relay_that_died_after_sending_sends_nothing_twice(
    source: Pool, redis: Redis, database_url: str
) -> None:
    """The mark in Redis tells the next relay, which records what the first could not."""
    made = escalated()
    await record_decision(source, made)
    await relay(source, redis).send_all()
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(
            "UPDATE outgoing_events SET streamed_at = NULL WHERE key = %s", (str(made.decision_id),)
        )
    waiting = "SELECT count(*) FROM outgoing_events WHERE streamed_at IS NULL"

    assert len(await drained(source, redis, made)) == 1
    assert rows(database_url, waiting) == [(0,)]
