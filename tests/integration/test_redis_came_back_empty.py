"""Redis came back empty: what doctor and repair say, and what repair sends."""

from __future__ import annotations

from cli.doctor.redis_data import redis_data
from cli.exit_codes import ExitCode
from db.repair.model import Breach
from tasks.shards.agreement import agree
from tests.support.repairs import (
    REPLIES,
    STREAM,
    World,
    deliver,
    new_world,  # noqa: F401  # the fixture ``world``
    record,
)
from worker.settings import Settings

AGO = "UPDATE outbox SET delivered_at = delivered_at - interval '1 hour'"


def emptied(world: World) -> None:
    """Replies of an hour ago; then Redis loses everything, and one more reply is sent."""
    for _ in range(3):
        record(world)
    deliver(world)
    world.sql(AGO)
    world.redis.flushall()
    agree(world.redis, STREAM, 1)
    record(world)
    deliver(world)


def settings_of(world: World) -> Settings:
    """Settings of doctor."""
    return Settings.model_validate(
        {
            "DATABASE_URL": world.url,
            "REDIS_URL": world.shell.environment["REDIS_URL"],
            "OPENAI_API_KEY": "sandbox",
            "OPENROUTER_API_KEY": "sandbox",
        }
    )


def test_doctor_says_so_and_names_the_start(world: World) -> None:
    """Before the loss it says nothing; afterwards when, how many replies, and --since."""
    record(world)
    deliver(world)
    (before,) = redis_data(settings_of(world))
    emptied(world)
    (after,) = redis_data(settings_of(world))

    assert (before.state, after.state) == ("ok", "warn")
    assert "Redis came back empty at" in after.found
    assert "hushgate repair --since" in after.found


def test_nothing_that_was_delivered_before_is_sent_again(world: World) -> None:
    """The sums are repaired without it, and repairing every kind by name sends no reply."""
    emptied(world)
    reported = world.repair()
    counted = world.repair("--fix", Breach.ENTRIES_UNCOUNTED, "--yes")
    world.repair("--fix", Breach.REPLY_NOT_ON_STREAM, "--yes")
    deliver(world)

    assert {row["breach"] for row in reported.rows} == {Breach.ENTRIES_UNCOUNTED}
    assert "Redis came back empty at" in reported.err
    assert counted.code == ExitCode.OK
    assert world.redis.xlen(REPLIES) == 1


def test_a_person_may_choose_the_start(world: World) -> None:
    """With --since the replies of before are named again."""
    emptied(world)

    assert (
        len(
            [row for row in world.repair("--since", "2h").rows if row["breach"] == Breach.REPLY_NOT_ON_STREAM]
        )
        == 3
    )
