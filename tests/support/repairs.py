"""Both servers as workers and relays leave them, for the tests of ``hushgate repair``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from redis import Redis

from cli.events import repair
from cli.stack import Stack
from db.commits.record import record_decision
from db.history.conversation_owners import ConversationIds, release_conversation
from db.pool import create_pool
from db.repair.model import Breach, FoundBreach
from db.webhooks.queue import fan_out
from tasks.repair.context import RepairContext
from tasks.repair.kinds import BY_NAME, find_all
from tasks.repair.kinds import repair as put_right
from tasks.sending.escalations import escalation_rows
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS, reply_mark
from tasks.sending.retractions import RETRACTION_ROWS
from tasks.shards.agreement import agree, current_layout
from tasks.shards.clients import connect
from tasks.shards.layout import ShardStream
from tests.conftest import create_database
from tests.support.decided import reply_to
from tests.support.pools import in_pool
from tests.support.samples import event as sample
from tests.support.terminal import Ended, Shell
from tests.support.webhooks import add_endpoint
from worker.adapters.system_clock import SystemClock
from worker.model import Decision, DecisionKind, Escalation
from worker.reasons import Reason
from worker.settings import StreamSettings

STREAM, REPLIES = "hushgate:events", "hushgate:replies"
ESCALATIONS, RETRACTIONS = "hushgate:escalations", "hushgate:retractions"
CLOCK = SystemClock()
NUMBERS = count(1)
RETRACT = """
    INSERT INTO retractions (decision_id, review_id, user_id, event_id, conversation_id, message_id, scope,
                             created_at, not_before)
    SELECT decision_id, gen_random_uuid(), user_id, event_id, conversation_id, message_id, scope, created_at,
        created_at
    FROM outbox WHERE decision_id = %s RETURNING review_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Both servers of one test, and a shell of the owner."""

    url: str
    redis: Redis
    shell: Shell

    def sql(self, statement: str, *values: object) -> list[dict[str, Any]]:
        """Execute as the owner; the rows of a query."""
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def repair(self, *words: str) -> Ended:
        """Run the command over rows and entries of any age."""
        return self.shell.run("repair", "--older-than", "0", *words)


def new_database(stack: Stack, template: str) -> str:
    """A database of the test's own."""
    return create_database(stack.database_url, f"hushgate_{uuid4().hex}", template)


@contextmanager
def opened_world(url: str, redis_url: str, folder: Path, *, shards: int = 1) -> Iterator[World]:
    """A database and an empty Redis whose stream has this number of shards."""
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder), "DATABASE_URL": url, "REDIS_URL": redis_url
    }  # fmt: skip
    with Redis.from_url(redis_url, decode_responses=True) as redis:
        agree(redis, STREAM, shards)
        yield World(url=url, redis=redis, shell=Shell(environment=environment, folder=folder))


@pytest.fixture(name="world")
def new_world(
    stack: Stack, template: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """A new database and an empty Redis with one stream; repairs look again at once."""
    monkeypatch.setattr(repair, "SECOND_LOOK_S", 0.0)
    with opened_world(new_database(stack, template), redis_url, tmp_path) as made:
        yield made


def place(world: World) -> ShardStream:
    """The shard of the conversation ``c`` of ``acme``."""
    layout = current_layout(world.redis, STREAM)
    shard = layout.shard_of(json.dumps({"user_id": "acme", "conversation_id": "c"}).encode())
    return ShardStream(shard=shard, key=shard.name)


# --- what workers leave behind


def accept(world: World) -> None:
    """An entry that has left the stream."""
    key = place(world).key
    entry_id: Any = world.redis.xadd(key, {"data": "{}"})
    world.redis.xdel(key, entry_id)


def record(world: World, **changes: Any) -> Decision:
    """A decision with an approved reply, stored as a worker stores it."""
    number = next(NUMBERS)
    accept(world)
    event = sample(event_id=f"e{number}", entry_id=f"{number}-0", conversation_id=f"c{number}")
    made = reply_to(event, **changes)
    in_pool(world.url, lambda source: record_decision(source, made))
    return made


def escalated(world: World) -> Decision:
    """A decision that hands its message to people for an hour; its opening waits."""
    return record(
        world, kind=DecisionKind.ESCALATE, reason_code=Reason.LOW_CONFIDENCE_ESCALATED, reply=None,
        escalation=Escalation(queue="returns"), people_until=CLOCK.now() + timedelta(hours=1),
    )  # fmt: skip


def close(world: World, made: Decision) -> None:
    """Release the conversation of an escalation to the AI; its closing waits."""

    async def run() -> None:
        async with create_pool(world.url, size=1, application="test") as source:
            ids = ConversationIds(user_id=made.event.user_id, conversation_id=made.event.conversation_id)
            await release_conversation(source, ids, released_by="ann", now=CLOCK.now())

    asyncio.run(run())


def retract(world: World, made: Decision) -> str:
    """Take a delivered reply back; the id of its retraction, which waits."""
    return str(world.sql(RETRACT, made.decision_id)[0]["review_id"])


def deliver(world: World) -> None:
    """Run one batch of each relay, and make the deliveries of webhooks."""

    async def run() -> None:
        redis = connect(world.shell.environment["REDIS_URL"])
        async with create_pool(world.url, size=1, application="test") as source, redis:
            await Relay(REPLY_ROWS, source, redis, stream=REPLIES, now=CLOCK.now).deliver_batch()
            await Relay(RETRACTION_ROWS, source, redis, stream=RETRACTIONS, now=CLOCK.now).deliver_batch()
            escalations = Relay(escalation_rows(None), source, redis, stream=ESCALATIONS, now=CLOCK.now)
            await escalations.deliver_batch()
            await fan_out(source, 100, CLOCK.now())

    asyncio.run(run())


def subscribe(world: World) -> None:
    """An endpoint that receives every type of event of the account."""
    in_pool(world.url, lambda source: add_endpoint(source, "acme", "https://example.org/hooks"), role=None)


def delivered(world: World) -> Decision:
    """A decision whose reply is on the stream."""
    made = record(world)
    deliver(world)
    return made


def marks(world: World, stream: str) -> list[str]:
    """The ids of the entries of an outgoing stream."""
    entries: Any = world.redis.xrange(stream)
    return [fields["ce_id"] for _, fields in entries]


def mark_of(made: Decision) -> str:
    """The id of the entry of a decision's reply."""
    return reply_mark(made.event.user_id, made.event.event_id)


def lose(world: World, *streams: str) -> None:
    """Let Redis lose these streams with their marks."""
    for stream in streams:
        world.redis.delete(stream, *world.redis.scan_iter(f"{{{stream}}}:*"))


def lose_entry(world: World, stream: str, mark: str) -> None:
    """Let Redis lose one entry with its mark."""
    entries: Any = world.redis.xrange(stream)
    world.redis.xdel(stream, *(entry_id for entry_id, fields in entries if fields["ce_id"] == mark))
    world.redis.delete(f"{{{stream}}}:sent:{mark}")


# --- the command's parts


@asynccontextmanager
async def context_of(world: World) -> AsyncIterator[RepairContext]:
    """As the command has it."""
    environment = world.shell.environment
    settings = StreamSettings.model_validate(environment)
    redis = connect(environment["REDIS_URL"])
    async with create_pool(world.url, size=2, application="test", role=None) as source, redis:
        now = datetime.now(UTC)
        yield RepairContext(
            pool=source, redis=redis, settings=settings, now=now, since=now - timedelta(days=6),
            older_than=timedelta(0), limit=100, person="ann",
        )  # fmt: skip


async def looked(world: World, breach: Breach) -> list[FoundBreach]:
    """The breaches of a kind."""
    async with context_of(world) as context:
        return [each for each in await find_all(context) if each.breach is breach]


async def fixed(world: World, breach: Breach, found: list[FoundBreach]) -> set[str]:
    """What the repair of these findings says that it changed."""
    async with context_of(world) as context:
        return set(await put_right(context, BY_NAME[breach], found))
