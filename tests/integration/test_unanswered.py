"""What no person answered stays on the list of what waits, on a real database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest

from db.access_log import LogEntry, LoggedAction
from db.answers.sending import store_answer
from db.answers.waiting import LISTED_FOR, list_waiting
from db.commits.record import record_decision
from db.escalations.closing import close_due_escalations
from db.history.conversation_owners import release_conversation
from db.pool import Pool, checkout, create_pool
from db.review_store import REVIEWER_ROLE, Store
from db.reviews.rulings import Reviewer, Ruling, RulingReason
from db.reviews.submission import Submission, submit_review
from tests.integration.test_escalations import agent_message, escalated, ids
from tests.support.decided import CLOCK, HOUR, answer_to, silence_on
from tests.support.waiting import waiting_for_locks
from worker.model import Decision, DecisionKind, Escalation, EventType
from worker.reasons import Reason

SECOND = timedelta(seconds=1)
LOGGED = LogEntry(action=LoggedAction.ANSWER, person="kim")


@pytest.fixture
async def people(database_url: str) -> AsyncIterator[Pool]:
    """Connections with the rights of the review pages."""
    async with create_pool(database_url, size=2, application="test", role=REVIEWER_ROLE) as opened:
        yield opened


def follow_up(of: Decision, at: datetime, **changes: Any) -> Decision:
    """The author's next message while people own the conversation."""
    asked = escalated(of.event.conversation_id).event
    queue = Escalation(queue="general")
    made = silence_on(asked, Reason.OWNED_BY_PEOPLE, at, escalation=queue, remember=True)
    return replace(made, **changes)


def deletion(of: Decision, at: datetime) -> Decision:
    """The author deletes a message."""
    event = replace(of.event, event_id=f"{of.event.event_id}-x", entry_id="9-9", text="")
    return silence_on(replace(event, type=EventType.MESSAGE_DELETED), Reason.MESSAGE_DELETED, at)


async def answer(
    people: Pool, to: Decision, at: datetime, *, text: str | None = "Hello", release: bool = False
) -> UUID:
    """A person answers or dismisses a message on the pages."""
    new = answer_to(to, text, at, release=release)
    assert await store_answer(people, new, at, logged=LOGGED)
    return new.answer_id


async def waiting(people: Pool, of: Decision, now: datetime | None = None) -> list[UUID]:
    """What waits in a conversation."""
    async with checkout(people) as connection:
        found = await list_waiting(connection, None, now=now or CLOCK.now(), limit=500)
    return [each.decision_id for each in found if each.conversation_id == of.event.conversation_id]


def rows(database_url: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Rows, with the owner's rights; changes are committed."""
    with psycopg.connect(database_url) as connection:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description else []


CAUSES = "SELECT cause FROM escalations WHERE conversation_id = %s ORDER BY opened_at"


async def test_a_dismissal_closes_the_escalation_of_its_own_message_only(
    source: Pool, people: Pool, database_url: str
) -> None:
    """Another message of the conversation still waits."""
    wanted = escalated()
    silent = replace(wanted, kind=DecisionKind.IGNORE, escalation=None, people_until=None)
    await record_decision(source, silent)
    wanted = escalated(wanted.event.conversation_id)
    await record_decision(source, wanted)
    await answer(people, silent, CLOCK.now(), text=None)
    before = await waiting(people, wanted)
    await answer(people, wanted, CLOCK.now(), text=None)

    assert before == [wanted.decision_id]
    assert await waiting(people, wanted) == []
    assert rows(database_url, CAUSES, wanted.event.conversation_id) == [("reviewed",)]


@pytest.mark.parametrize(("release", "expected"), [(False, [(None,)]), (True, [("released",)])])
async def test_an_answer_leaves_a_later_escalation_open(
    release: bool, expected: list[tuple[str | None]], source: Pool, people: Pool, database_url: str
) -> None:
    """Unless the conversation is given back to the AI with it."""
    earlier = escalated()
    silent = replace(earlier, kind=DecisionKind.IGNORE, escalation=None, people_until=None)
    await record_decision(source, silent)
    later = escalated(earlier.event.conversation_id)
    await record_decision(source, later)
    await answer(people, silent, CLOCK.now(), release=release)

    assert rows(database_url, CAUSES, later.event.conversation_id) == expected


@pytest.mark.parametrize("cancelled", ["too_late", "taken_back"])
async def test_an_answer_that_does_not_stand_is_listed_again(
    cancelled: str, source: Pool, people: Pool, database_url: str
) -> None:
    """It was not delivered in time, or a reviewer took it back; the next answer ends that."""
    made = escalated()
    await record_decision(source, made)
    answer_id = await answer(people, made, CLOCK.now())
    answered = await waiting(people, made)
    if cancelled == "too_late":
        change = "UPDATE outbox SET cancelled_at = now(), cancel_reason = 'too_late' WHERE decision_id = %s"
    else:
        change = """
            INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id,
                                     scope, created_at, not_before)
            SELECT decision_id, gen_random_uuid(), user_id, event_id, conversation_id, message_id, scope,
                now(), now() FROM outbox WHERE decision_id = %s"""
    rows(database_url, change, answer_id)
    again = await waiting(people, made)
    await record_decision(source, agent_message(made, CLOCK.now()))

    assert (answered, again) == ([], [made.decision_id])
    assert await waiting(people, made) == []


@pytest.mark.parametrize("ended", ["waits", "answered", "dismissed", "written", "deleted", "old"])
async def test_an_escalation_without_an_answer_waits_after_the_idle_time(
    ended: str, source: Pool, people: Pool
) -> None:
    """Until a person answers or dismisses it, writes in the conversation, or the author deletes it."""
    made = escalated()
    await record_decision(source, made)
    later = made.decided_at + 14 * HOUR
    await close_due_escalations(source, later)
    match ended:
        case "answered" | "dismissed":
            await answer(people, made, later, text="Hello" if ended == "answered" else None)
        case "written":
            await record_decision(source, agent_message(made, later))
        case "deleted":
            await record_decision(source, deletion(made, later))
        case "old":
            later += LISTED_FOR
    expected = [made.decision_id] if ended == "waits" else []

    assert await waiting(people, made, later) == expected


async def test_a_released_escalation_does_not_wait(source: Pool, people: Pool) -> None:
    """A person decided that the AI answers."""
    made = escalated()
    await record_decision(source, made)
    await release_conversation(source, ids(made), released_by="kim", now=made.decided_at + SECOND)

    assert await waiting(people, made) == []


async def test_a_release_does_not_wait_for_a_dismissal_that_waits_for_it(
    source: Pool, people: Pool, database_url: str
) -> None:
    """Both change the conversation's owner and close its escalation."""
    made = escalated()
    await record_decision(source, made)
    now = made.decided_at + SECOND
    dismissal = answer_to(made, None, now, release=True)
    with psycopg.connect(database_url) as owner:
        owner.execute("SELECT FROM conversations FOR UPDATE")
        released = asyncio.ensure_future(release_conversation(source, ids(made), released_by="bo", now=now))
        await waiting_for_locks(database_url, 1)
        dismissed = asyncio.ensure_future(store_answer(people, dismissal, now, logged=LOGGED))
        await waiting_for_locks(database_url, 2)

    assert await released
    assert await dismissed


async def test_a_follow_up_after_an_answer_opens_an_escalation_again(
    source: Pool, people: Pool, database_url: str
) -> None:
    """Once, in the queue of the one before, with an event for stream and webhooks; an answer closes it."""
    made = escalated()
    now = made.decided_at
    await record_decision(source, made)
    while_open = follow_up(made, now + SECOND)
    await record_decision(source, while_open)
    await answer(people, made, now + 2 * SECOND)
    first, second = (follow_up(made, now + each * SECOND) for each in (3, 4))
    await record_decision(source, first)
    await record_decision(source, second)
    listed = await waiting(people, made)
    opened = "SELECT body ->> 'queue' FROM outgoing_events WHERE key = %s AND type = 'escalation.opened'"
    events = [rows(database_url, opened, str(each.decision_id)) for each in (while_open, first, second)]
    await answer(people, second, now + 5 * SECOND)

    assert listed == [first.decision_id]
    assert events == [[], [("returns",)], []]
    assert await waiting(people, made) == []
    assert rows(database_url, CAUSES, made.event.conversation_id) == [("answered",), ("answered",)]


@pytest.mark.parametrize("people_work", ["in_the_channel", "on_the_pages_again", "no_more"])
async def test_a_follow_up_waits_where_people_work_on_the_pages(
    people_work: str, source: Pool, people: Pool
) -> None:
    """The inbox of a channel shows it to those who write there; a conversation of the AI needs none."""
    made = escalated()
    now = made.decided_at
    await record_decision(source, made)
    await record_decision(source, agent_message(made, now + SECOND))
    at = now + 4 * SECOND
    if people_work == "on_the_pages_again":
        await answer(people, made, now + 2 * SECOND)
    if people_work == "no_more":
        await answer(people, made, now + 2 * SECOND, release=True)
    asked = follow_up(made, at)
    await record_decision(source, asked)
    expected = [asked.decision_id] if people_work == "on_the_pages_again" else []

    assert await waiting(people, made) == expected


@pytest.mark.parametrize(("corrected", "waits"), [("respond", True), ("ignore", False)])
async def test_an_overturned_handoff_waits_where_the_message_needed_an_answer(
    corrected: str, waits: bool, source: Pool, people: Pool, database_url: str
) -> None:
    """The reviewer said that the AI should have answered: the customer still has none."""
    made = escalated()
    await record_decision(source, made)
    at = made.decided_at + SECOND
    async with Store(database_url, size=1) as store, store.writing() as connection:
        review = Submission(
            decision_id=made.decision_id,
            reviewer=Reviewer(person_id=None, login="rolf"),
            ruling=Ruling.OVERTURN,
            reason=RulingReason.OTHER,
            corrected=DecisionKind(corrected),
        )
        await submit_review(connection, review, at)
    await close_due_escalations(source, at + HOUR)

    assert rows(database_url, CAUSES, made.event.conversation_id) == [("reviewed",)]
    assert await waiting(people, made, at + HOUR) == ([made.decision_id] if waits else [])
