"""A shop: an account with escalated, answered and deleted messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row
from redis.asyncio import Redis

from db.access_log import LogEntry, LoggedAction
from db.answers.sending import store_answer
from db.commits.record import record_decision
from db.pool import WORKER_ROLE, Pool, create_pool
from db.review_store import REVIEWER_ROLE
from tasks.sending.relay import Relay
from tasks.sending.replies import REPLY_ROWS
from tasks.sending.retractions import RETRACTION_ROWS
from tasks.shards.clients import connect
from tasks.wiring import WorkerParts
from tests.support.decided import CLOCK, HOUR, NUMBERS, answer_to, new_event, reply_to, silence_on
from tests.support.relays import send_and_die
from worker.model import Decision, DecisionKind, Escalation, EventType, HeldDraft, HeldKind
from worker.reasons import Reason
from worker.settings import Settings
from worker.supervisor import Supervisor

REPLIES, RETRACTIONS = "test:replies", "test:retractions"


def parts_of(pool: Pool, redis: Redis | None = None) -> WorkerParts:
    """The parts of a worker over open connections, with the streams of the tests."""
    settings = Settings(
        DATABASE_URL="postgresql://unused",
        REDIS_URL="redis://unused",
        OPENAI_API_KEY="unused",
        OPENROUTER_API_KEY="unused",
        HUSHGATE_REPLY_STREAM=REPLIES,
        HUSHGATE_RETRACTION_STREAM=RETRACTIONS,
        HUSHGATE_WEBHOOK_LOOPBACK=True,
    )
    parts = WorkerParts(settings=settings, worker="test", work=Supervisor())
    vars(parts).update(pool=pool, redis=redis)
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """An account's conversations, with the rights of workers and of reviewers."""

    workers: Pool
    people: Pool
    redis: Redis
    url: str

    async def escalated(self, notice: str | None = "A colleague will answer here.") -> Decision:
        """A message that people must answer; its author gets the text at a handoff."""
        now = CLOCK.now()
        made = reply_to(
            new_event("deleted", user_id="corner-shop"),
            now,
            kind=DecisionKind.ESCALATE,
            reason_code=Reason.MODEL_ESCALATED,
            reply=None,
            escalation=Escalation(handoff_text=notice),
            held=(HeldDraft(kind=HeldKind.DRAFT, text="From nine to six."),),
            held_until=now + HOUR,
            people_until=now + HOUR,
        )
        await record_decision(self.workers, made)
        return made

    async def delete(
        self, made: Decision, *, retract: bool = True, fast: timedelta = timedelta()
    ) -> Decision:
        """The author deletes the message; a worker whose clock is fast by so much decides."""
        number, now = next(NUMBERS), CLOCK.now() + fast
        gone = replace(
            made.event, event_id=f"gone-{number}", entry_id=f"{number}-1", type=EventType.MESSAGE_DELETED
        )
        deletion = silence_on(gone, Reason.MESSAGE_DELETED, now, retract_reply=retract)
        await record_decision(self.workers, deletion)
        return deletion

    async def answer(self, made: Decision, text: str | None = "Your order left on Monday.") -> UUID:
        """A person answers, or dismisses without a text."""
        now = CLOCK.now()
        new = answer_to(made, text, now)
        await store_answer(self.people, new, now, logged=LogEntry(action=LoggedAction.ANSWER, person="kim"))
        return new.answer_id

    async def send_and_die(self) -> None:
        """A relay puts the waiting replies on the stream and is killed before it records them."""
        await send_and_die(self.workers, self.redis, REPLIES, CLOCK.now())

    async def relay(self) -> None:
        """Another worker's relays deliver everything."""
        await Relay(REPLY_ROWS, self.workers, self.redis, stream=REPLIES, now=CLOCK.now).send_all()
        await Relay(
            RETRACTION_ROWS, self.workers, self.redis, stream=RETRACTIONS, now=CLOCK.now
        ).deliver_batch()

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """The rows of a query, with every right."""
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as owner:
            cursor = owner.execute(query.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def retracted(self, made: Decision) -> list[UUID]:
        """The replies to a message whose retractions are on their stream."""
        query = """
            SELECT decision_id FROM retractions WHERE message_id = %s AND delivered_at IS NOT NULL ORDER BY id
        """
        return [row["decision_id"] for row in self.rows(query, made.event.message_id)]


@asynccontextmanager
async def opened(url: str, redis_url: str) -> AsyncIterator[Shop]:
    """A shop on these servers."""
    async with (
        create_pool(url, size=4, application="test", role=WORKER_ROLE) as workers,
        create_pool(url, size=1, application="test", role=REVIEWER_ROLE) as people,
        connect(redis_url) as redis,
    ):
        yield Shop(workers=workers, people=people, redis=redis, url=url)
