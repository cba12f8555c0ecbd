"""A takeover that happens when a person's message is read, on a real database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import structlog

from db.history.conversation_owners import ConversationIds, OwnerCause, load_owner
from db.pool import Pool, checkout
from tasks.entries.rulebooks import Rulebooks
from tasks.lanes.takeovers import EarlyTakeovers
from tests.support.samples import NOW, account, event
from worker.conversation_endings import FOR_EVER
from worker.errors import StorageUnavailable
from worker.model import Account, Event, EventType, Owner
from worker.supervisor import Supervisor

NUMBERS = count(1)
DOWN = StorageUnavailable("no answer", kind="ConnectionFailed")


def message(**changes: Any) -> Event:
    """A person's message in a conversation of its own."""
    number = next(NUMBERS)
    said = event(
        event_id=f"e{number}",
        entry_id=f"{number}-0",
        user_id="acme",
        conversation_id=f"early-{number}",
        message_id=f"m{number}",
        author_id="ann",
        type=EventType.AGENT_MESSAGE,
    )
    return replace(said, **changes)


def ids(said: Event) -> ConversationIds:
    """The conversation of a message."""
    return ConversationIds(user_id=said.user_id, conversation_id=said.conversation_id)


def early(source: Pool, known: Account | None, *errors: Exception) -> EarlyTakeovers:
    """Takeovers over one account; loading it fails with ``errors`` first."""
    failing = list(errors)

    async def load(user_id: str) -> Account:
        if failing:
            raise failing.pop()
        return known or Account(user_id=user_id, version=0)

    async def versions(_: Any) -> dict[str, int]:
        return {}

    return EarlyTakeovers(
        pool=source, rulebooks=Rulebooks(load, versions), now=lambda: NOW, work=Supervisor()
    )


@pytest.mark.parametrize(
    ("known", "lasts"),
    [
        (account(people_idle_s=60.0), timedelta(seconds=60)),
        (account(people_idle_s=0.0), FOR_EVER),
        (None, timedelta(hours=1)),
    ],
)
async def test_the_settings_of_the_account_say_how_long_people_keep_it(
    source: Pool, known: Account | None, lasts: timedelta
) -> None:
    """An account without settings has the defaults: its conversations can be taken as well."""
    entry = message()
    await early(source, known).take(entry)
    found = await load_owner(source, ids(entry))

    assert found is not None
    assert (found.people_until, found.changed_at) == (NOW + lasts, NOW)
    assert (found.changed_by, found.cause, found.changes) == ("ann", OwnerCause.AGENT_MESSAGE, 1)
    assert found.owner(NOW) is Owner.PEOPLE


async def test_one_message_takes_a_conversation_once(source: Pool) -> None:
    """However often its entry is read; an older message that comes late changes nothing."""
    entry = message()
    older = replace(message(conversation_id=ids(entry).conversation_id, author_id="old"), entry_id="0-1")
    takes = early(source, account())
    await asyncio.gather(*(takes.take(entry) for _ in range(4)))
    await takes.take(older)
    found = await load_owner(source, ids(entry))

    assert found is not None
    assert (found.changes, found.changed_by) == (1, "ann")


async def test_settings_that_cannot_be_read_postpone_the_takeover(source: Pool) -> None:
    """It is logged, nothing rises into the loop that reads entries, and the message's turn takes it."""
    entry, takes = message(), early(source, account(), DOWN)
    with structlog.testing.capture_logs() as logs:
        await takes.take(entry)
        before = await load_owner(source, ids(entry))
        await takes.take(entry)

    assert [(each["event"], each["error"]) for each in logs] == [("takeover_postponed", "ConnectionFailed")]
    assert before is None
    assert await load_owner(source, ids(entry)) is not None


async def test_a_bug_is_logged_and_leaves_the_takeover_to_the_lane(source: Pool) -> None:
    """A task of the background has no caller that could see its error."""
    entry, takes = message(), early(source, account(), ValueError("a bug"))
    with structlog.testing.capture_logs() as logs:
        await takes.take(entry)

    assert [each["event"] for each in logs] == ["takeover_failed"]


@pytest.mark.parametrize(
    ("written_h", "arrived_h", "takes"),
    [(72, 0, False), (3, 3, False), (3, 0, True), (0, 3, True)],
)
async def test_a_message_of_long_ago_takes_nothing(
    source: Pool, written_h: float, arrived_h: float, takes: bool
) -> None:
    """As in a backfill or after an outage; the clock of the publisher, or of Redis, may be slow."""
    entry = message(created_at=NOW - timedelta(hours=written_h), received_at=NOW - timedelta(hours=arrived_h))
    await early(source, account()).take(entry)

    assert (await load_owner(source, ids(entry)) is not None) is takes


async def test_a_decided_message_that_is_published_again_takes_nothing(source: Pool) -> None:
    """A release in between stays."""
    entry = message()
    decided = event(event_id=entry.event_id, entry_id="7-7")
    async with checkout(source) as connection:
        await connection.execute(
            "INSERT INTO event_keys (user_id, event_id, entry_id, decision_id, created_at)"
            " VALUES (%s, %s, '7-7', gen_random_uuid(), %s)",
            (decided.user_id, decided.event_id, NOW),
        )
    await early(source, account()).take(entry)

    assert await load_owner(source, ids(entry)) is None
