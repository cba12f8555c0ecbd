"""Escalations and retractions that Redis lost are sent once more, and nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from db.people.sample_data import SAMPLE_ACCOUNT
from db.repair.model import Breach, FoundBreach
from tests.support.repairs import (
    ESCALATIONS,
    RETRACTIONS,
    World,
    close,
    deliver,
    delivered,
    escalated,
    fixed,
    looked,
    lose,
    lose_entry,
    marks,
    new_world,  # noqa: F401  # the fixture ``world``
    retract,
    subscribe,
)

KIND = Breach.OUTGOING_NOT_ON_STREAM


def webhooks(world: World) -> list[dict[str, Any]]:
    """The deliveries of webhooks with their events."""
    return world.sql(
        "SELECT d.id, e.type, e.key, e.fanned_out_at FROM webhook_deliveries d"
        " JOIN outgoing_events e ON e.id = d.event_row ORDER BY d.id"
    )


def test_what_redis_lost_is_sent_once(world: World) -> None:
    """Each entry is on its stream once, an opening before its closing, and no webhook is repeated."""
    subscribe(world)
    handed, replies = [escalated(world) for _ in range(2)], [delivered(world) for _ in range(2)]
    for each in handed:
        close(world, each)
    reviews = [retract(world, each) for each in replies]
    deliver(world)
    sent, made, healthy = (
        [marks(world, ESCALATIONS), marks(world, RETRACTIONS)],
        webhooks(world),
        world.repair(),
    )
    lost = [f"{handed[1].decision_id}:escalation.{end}" for end in ("opened", "closed")]
    for mark in lost:
        lose_entry(world, ESCALATIONS, mark)
    lose_entry(world, RETRACTIONS, reviews[1])
    repaired = world.repair("--fix", KIND, "--yes")
    for _ in range(2):
        deliver(world)

    assert healthy.rows == []
    assert {row["subject"] for row in repaired.rows} == {
        f"escalation.opened {handed[1].decision_id}",
        f"escalation.closed {handed[1].decision_id}",
        f"reply.retracted {reviews[1]}",
    }
    assert marks(world, ESCALATIONS) == [mark for mark in sent[0] if mark not in lost] + lost
    assert marks(world, RETRACTIONS) == sent[1] == reviews
    assert webhooks(world) == made
    assert sum(row["key"] == reviews[1] for row in made) == 1
    assert world.repair().rows == []


# --- what is no breach: the subject that looks like one


def still_sent(world: World) -> str:
    """A reader has read its entry and deleted it."""
    made = escalated(world)
    deliver(world)
    world.redis.delete(ESCALATIONS)
    return f"escalation.opened {made.decision_id}"


def withdrawn(world: World) -> str:
    """The author deleted the message before its opening was sent."""
    made = escalated(world)
    world.sql("UPDATE outgoing_events SET withdrawn = 'message_deleted', streamed_at = now()")
    return f"escalation.opened {made.decision_id}"


def of_webhooks_only(world: World) -> str:
    """The retraction waits for its stream again; its webhook has the same type and key."""
    subscribe(world)
    review = retract(world, delivered(world))
    deliver(world)
    lose(world, RETRACTIONS)
    world.sql("UPDATE retractions SET delivered_at = NULL")
    return f"reply.retracted {review}"


def closed_on_the_stream(world: World) -> str:
    """Redis lost the opening, and the closing was sent afterwards."""
    made = escalated(world)
    deliver(world)
    lose(world, ESCALATIONS)
    close(world, made)
    deliver(world)
    return f"escalation.opened {made.decision_id}"


def erased(world: World) -> str:
    """An erasure left the retraction without its conversation."""
    review = retract(world, delivered(world))
    deliver(world)
    lose(world, RETRACTIONS)
    world.sql("UPDATE retractions SET conversation_id = '', message_id = ''")
    return f"reply.retracted {review}"


def of_a_sample(world: World) -> str:
    """It counts as sent, and never is."""
    key = "019a0000-0000-7000-8000-000000000000"
    world.sql(
        "INSERT INTO outgoing_events (user_id, conversation_id, type, key, body, created_at)"
        " VALUES (%s, 'c', 'escalation.opened', %s, '{}', now())",
        SAMPLE_ACCOUNT,
        key,
    )
    return f"escalation.opened {key}"


SENT_OR_OVER: Mapping[str, Callable[[World], str]] = {
    made.__name__: made
    for made in (still_sent, withdrawn, of_webhooks_only, closed_on_the_stream, erased, of_a_sample)
}


@pytest.mark.parametrize("name", SENT_OR_OVER)
def test_what_must_not_be_sent_again_is_no_breach(world: World, name: str) -> None:
    """It is not found, and a repair that names it changes nothing."""
    subject = SENT_OR_OVER[name](world)
    before = world.sql("SELECT * FROM outgoing_events ORDER BY id")
    report = world.repair()
    account = SAMPLE_ACCOUNT if name == "of_a_sample" else "acme"
    named = FoundBreach(breach=KIND, subject=subject, found="named by hand", account=account)

    assert report.rows == []
    assert asyncio.run(fixed(world, KIND, [named])) == set()
    assert world.sql("SELECT * FROM outgoing_events ORDER BY id") == before


def test_what_was_sent_a_moment_ago_is_not_looked_at(world: World) -> None:
    """A relay may be about to finish it."""
    escalated(world)
    deliver(world)
    lose(world, ESCALATIONS)

    assert world.shell.run("repair").rows == []


def test_an_opening_is_not_sent_after_its_closing(world: World) -> None:
    """Its escalation was closed between the report and the repair."""
    made = escalated(world)
    deliver(world)
    lose(world, ESCALATIONS)
    found = asyncio.run(looked(world, KIND))
    close(world, made)
    deliver(world)
    done = asyncio.run(fixed(world, KIND, found))
    deliver(world)

    assert [each.subject for each in found] == [f"escalation.opened {made.decision_id}"]
    assert done == set()
    assert marks(world, ESCALATIONS) == [f"{made.decision_id}:escalation.closed"]
