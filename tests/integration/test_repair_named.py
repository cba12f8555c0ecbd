"""A repair changes what it names, and nothing else."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from cli.exit_codes import ExitCode
from db.repair.model import Breach
from tests.support.breaches import account_miscounted, endings_missing, orphaned_hold
from tests.support.repairs import (
    CLOCK,
    REPLIES,
    STREAM,
    World,
    deliver,
    delivered,
    fixed,
    looked,
    lose,
    new_world,  # noqa: F401  # the fixture ``world``
    place,
    record,
    subscribe,
)

# --- accounts

OTHER = "0123456789abcdef"


def miscount(world: World) -> str:
    """Two miscounted accounts; the first one."""
    (first,) = account_miscounted(world)
    world.redis.hset(f"{place(world).shard.prefix}running", OTHER, 3)
    return first


def test_both_miscounted_accounts_are_counted_again(world: World) -> None:
    """Each has its line in the access log."""
    first = miscount(world)
    done = world.repair("--fix", Breach.ACCOUNT_MISCOUNTED, "--yes")
    logged = world.sql("SELECT detail ->> 'subject' AS subject FROM access_log WHERE action = 'repair'")

    assert (done.code, {(row["subject"], row["state"]) for row in done.rows}) == (
        ExitCode.OK,
        {(first, "repaired"), (OTHER, "repaired")},
    )
    assert {row["subject"] for row in logged} == {first, OTHER}
    assert world.repair().rows == []


def test_only_the_named_account_is_counted_again(world: World) -> None:
    """The other one is still reported."""
    first = miscount(world)
    world.repair("--fix", Breach.ACCOUNT_MISCOUNTED, "--yes", "--subject", first)

    assert [row["subject"] for row in world.repair().rows] == [OTHER]


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


def test_a_reply_whose_mark_may_have_expired_is_not_cancelled(world: World) -> None:
    """It was sent ten days ago, and its row was deleted: the mark no longer says that it was sent."""
    record(world, decided_at=CLOCK.now() - timedelta(days=10))
    deliver(world)
    lose(world, REPLIES)
    world.sql("DELETE FROM outbox")
    done = world.repair("--since", "30d", "--fix", Breach.DECISION_WITHOUT_REPLY, "--yes")

    assert (done.code, done.rows) == (ExitCode.OK, [])
    assert world.sql("SELECT 1 FROM outbox") == []
    assert len(world.sql("SELECT 1 FROM messages WHERE role = 'assistant'")) == 1


# --- sums


@pytest.mark.parametrize("words", [(), ("--yes",), ("--subject", STREAM)], ids=" ".join)
def test_a_sum_that_another_breach_changes_is_not_repaired(world: World, words: tuple[str, ...]) -> None:
    """The message says what to do first, not that the other breach would be repaired."""
    endings_missing(world)
    orphaned_hold(world)
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
