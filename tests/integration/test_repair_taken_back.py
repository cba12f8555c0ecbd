"""A reply that was taken back since Redis lost it, or is no longer due, is not sent again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from db.backup.restored import repeat_sends
from db.repair.model import Breach, FoundBreach
from tests.support.repairs import (
    REPLIES,
    World,
    deliver,
    delivered,
    fixed,
    lose,
    marks,
    new_world,  # noqa: F401  # the fixture ``world``
    record,
    retract,
)
from worker.model import Decision, DecisionKind, EventType
from worker.reasons import Reason

KIND = Breach.REPLY_NOT_ON_STREAM


def retracted(world: World, made: Decision) -> None:
    """A reviewer took the reply back."""
    retract(world, made)
    deliver(world)


def deleted(world: World, made: Decision) -> None:
    """The author deleted the message, and replies to deleted messages are not retracted."""
    later = replace(made.event, event_id="gone", entry_id="90-0", type=EventType.MESSAGE_DELETED)
    record(
        world,
        event=later,
        decided_at=made.decided_at - timedelta(minutes=1),  # by a worker whose clock is slow
        kind=DecisionKind.IGNORE,
        reason_code=Reason.MESSAGE_DELETED,
        reply=None,
        remember=False,
    )


def flagged_edit(world: World, made: Decision) -> None:
    """A rule flagged an edit of the message, so the exchange left the history."""
    later = replace(made.event, event_id="edit", entry_id="91-0", type=EventType.MESSAGE_EDITED)
    record(
        world,
        event=later,
        kind=DecisionKind.IGNORE,
        reason_code=Reason.FLAGGED_RULE,
        reply=None,
        remember=False,
        quarantine=True,
    )


def too_late(world: World, made: Decision) -> None:
    """Its latest time has passed."""
    world.sql("UPDATE outbox SET send_before = now() - interval '1 minute'")


def overtaken(world: World, made: Decision) -> None:
    """People took the conversation."""
    world.sql(
        "INSERT INTO conversations (user_id, conversation_id, people_until, changed_at, changed_by, cause,"
        " changes) VALUES ('acme', %s, now() + interval '1 hour', now(), 'ann', 'command', 1)",
        made.event.conversation_id,
    )


CHANGES: Mapping[str, Callable[[World, Decision], None]] = {
    each.__name__: each for each in (retracted, deleted, flagged_edit, too_late, overtaken)
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_reply_taken_back_since_is_neither_found_nor_sent(world: World, name: str) -> None:
    """Also when it is named: it was taken back between the report and the repair."""
    made = delivered(world)
    lose(world, REPLIES)
    before = world.repair()
    CHANGES[name](world, made)
    named = FoundBreach(breach=KIND, subject=str(made.decision_id), found="as before", account="acme")

    assert [row["breach"] for row in before.rows] == [KIND]
    assert [row for row in world.repair().rows if row["breach"] == KIND] == []
    assert asyncio.run(fixed(world, KIND, [named])) == set()
    deliver(world)
    assert marks(world, REPLIES) == []
    if name in {"too_late", "overtaken"}:
        assert [row["text"] for row in world.sql("SELECT text FROM messages WHERE role = 'assistant'")]


@pytest.mark.parametrize("name", CHANGES)
def test_a_restored_database_does_not_send_a_reply_again_that_was_taken_back(world: World, name: str) -> None:
    """Another one whose mark is not in the backup is sent again."""
    made = delivered(world)
    CHANGES[name](world, made)
    lose(world, REPLIES)
    repeat_sends(world.url, datetime.now(UTC) - timedelta(hours=1))
    deliver(world)
    taken_back = marks(world, REPLIES)
    other = delivered(world)
    lose(world, REPLIES)
    repeat_sends(world.url, datetime.now(UTC) - timedelta(hours=1))
    deliver(world)

    assert taken_back == []
    assert marks(world, REPLIES) == [str(other.decision_id)]
