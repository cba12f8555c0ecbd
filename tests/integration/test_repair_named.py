"""A repair changes what it names, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from cli.exit_codes import ExitCode
from db.repair.model import Breach
from tests.support.breaches import endings_missing, reply_sent_unmarked
from tests.support.repairs import (
    REPLIES,
    STREAM,
    World,
    delivered,
    fixed,
    looked,
    lose,
    new_world,  # noqa: F401  # the fixture ``world``
    record,
    subscribe,
)

# --- replies


def test_only_the_named_reply_is_recorded_as_delivered(world: World) -> None:
    """Another reply that was sent stays as it is, and one that is too late is left to the relays."""
    subscribe(world)
    named, other, late = delivered(world), delivered(world), record(world)
    world.sql("UPDATE outbox SET delivered_at = NULL")
    world.sql("DELETE FROM outgoing_events")
    world.sql(
        "UPDATE outbox SET send_before = now() - interval '1 minute' WHERE decision_id = %s", late.decision_id
    )
    done = world.repair("--fix", Breach.REPLY_SENT_UNMARKED, "--yes", "--subject", str(named.decision_id))
    rows = world.sql(
        "SELECT decision_id, delivered_at IS NOT NULL AS sent, cancelled_at, cancel_settled FROM outbox"
        " ORDER BY id"
    )
    webhooks = world.sql("SELECT key FROM outgoing_events WHERE type = 'reply.created'")

    assert [(row["subject"], row["state"]) for row in done.rows] == [(str(named.decision_id), "repaired")]
    assert rows == [
        {
            "decision_id": each.decision_id,
            "sent": each is named,
            "cancelled_at": None,
            "cancel_settled": False,
        }
        for each in (named, other, late)
    ]
    assert [row["key"] for row in webhooks] == [str(named.decision_id)]
    assert len(world.sql("SELECT 1 FROM messages WHERE role = 'assistant'")) == 3


def test_a_cancelled_reply_that_was_sent_is_retracted(world: World) -> None:
    """A reviewer took it back while the outbox counted it as waiting."""
    delivered(world)
    world.sql(
        "UPDATE outbox SET delivered_at = NULL, cancelled_at = now(),"
        " retraction_id = gen_random_uuid(), retract_from = now()"
    )
    done = world.repair("--fix", Breach.REPLY_SENT_UNMARKED, "--yes")

    assert [row["state"] for row in done.rows] == ["repaired"]
    assert len(world.sql("SELECT 1 FROM outbox WHERE delivered_at IS NOT NULL AND cancelled_at IS NULL")) == 1
    assert len(world.sql("SELECT 1 FROM retractions")) == 1


def test_a_reply_that_is_not_on_the_stream_is_not_recorded_as_delivered(world: World) -> None:
    """Redis lost it between the report and the repair."""
    delivered(world)
    world.sql("UPDATE outbox SET delivered_at = NULL")
    found = asyncio.run(looked(world, Breach.REPLY_SENT_UNMARKED))
    lose(world, REPLIES)

    assert len(found) == 1
    assert asyncio.run(fixed(world, Breach.REPLY_SENT_UNMARKED, found)) == set()
    assert len(world.sql("SELECT 1 FROM outbox WHERE delivered_at IS NULL")) == 1


# --- sums


@pytest.mark.parametrize("words", [(), ("--yes",), ("--subject", STREAM)], ids=" ".join)
def test_a_sum_that_another_breach_changes_is_not_repaired(world: World, words: tuple[str, ...]) -> None:
    """The message says what to do first, not that the other breach would be repaired."""
    endings_missing(world)
    reply_sent_unmarked(world)
    ended = world.repair("--fix", Breach.ENDINGS_MISSING, *words)

    assert ended.code == ExitCode.NEGATIVE
    assert "repair the other breaches first" in ended.err
    assert "would be repaired" not in ended.err
    assert world.sql("SELECT 1 FROM purged WHERE table_name = 'lost'") == []


def test_another_sum_is_not_reported_as_the_named_one(world: World) -> None:
    """Nothing is left to repair first."""
    endings_missing(world)
    ended = world.repair("--fix", Breach.ENTRIES_UNCOUNTED)

    assert (ended.code, ended.rows) == (ExitCode.OK, [])
